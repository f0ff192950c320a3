// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is told of the server: `INFO`, `CONFIG GET`.

use std::fmt::Write;

use saker_resp::{Args, Replies, glob};

use crate::front::Front;
use crate::store::Store;

/// The Redis whose protocol and error texts these are. Clients choose by it what they send.
pub(crate) const REDIS_VERSION: &str = "7.0.0";

/// `INFO`: these sections, or all.
pub(crate) fn info(sections: Args<'_, '_>, front: &Front, store: &mut Store, replies: &mut Replies) {
    let is_all = |name: &[u8]| {
        [&b"all"[..], b"default", b"everything"].iter().any(|all| name.eq_ignore_ascii_case(all))
    };
    let wants = |section: &str| {
        let named = |name: &[u8]| is_all(name) || name.eq_ignore_ascii_case(section.as_bytes());
        sections.is_empty() || sections.iter().any(named)
    };
    let mut text = String::new();
    for (section, write) in SECTIONS {
        if wants(section) {
            let separator = if text.is_empty() { "" } else { "\r\n" };
            // A string takes everything.
            let _ = write!(text, "{separator}# {section}\r\n");
            for (name, value) in write(front, store) {
                let _ = write!(text, "{name}:{value}\r\n");
            }
        }
    }
    replies.text(&text);
}

type Lines = Vec<(&'static str, String)>;

/// A section and what it says.
type Section = (&'static str, fn(&Front, &mut Store) -> Lines);

const SECTIONS: [Section; 6] = [
    ("Server", server),
    ("Clients", clients),
    ("Memory", memory),
    ("Persistence", persistence),
    ("Stats", stats),
    ("Keyspace", keyspace),
];

fn server(front: &Front, _: &mut Store) -> Lines {
    vec![
        ("redis_version", REDIS_VERSION.into()),
        ("redis_mode", "standalone".into()),
        ("saker_version", env!("CARGO_PKG_VERSION").into()),
        ("process_id", std::process::id().to_string()),
        ("tcp_port", front.port.to_string()),
        ("uptime_in_seconds", front.begun.elapsed().as_secs().to_string()),
    ]
}

fn clients(front: &Front, _: &mut Store) -> Lines {
    vec![
        ("connected_clients", front.clients.len().to_string()),
        ("maxclients", front.clients.max().to_string()),
    ]
}

fn memory(front: &Front, store: &mut Store) -> Lines {
    let facts = store.facts();
    vec![
        ("mem_clients_normal", front.clients.memory().to_string()),
        ("saker_stored_bytes", facts.used_bytes.to_string()),
        ("saker_capacity_bytes", facts.size_bytes.to_string()),
    ]
}

fn persistence(_: &Front, store: &mut Store) -> Lines {
    vec![("loading", "0".into()), ("saker_engine", store.facts().engine.into())]
}

fn stats(front: &Front, _: &mut Store) -> Lines {
    let clients = &front.clients;
    vec![
        ("total_connections_received", clients.received.get().to_string()),
        ("total_commands_processed", clients.commands.get().to_string()),
        ("rejected_connections", clients.refused.get().to_string()),
        ("evicted_clients", clients.cut.get().to_string()),
    ]
}

/// As Redis has it: nothing for a database without keys.
fn keyspace(_: &Front, store: &mut Store) -> Lines {
    match store.facts().pairs {
        None | Some(0) => Vec::new(),
        Some(pairs) => vec![("db0", format!("keys={pairs},expires=0,avg_ttl=0"))],
    }
}

/// `CONFIG GET`: the settings that clients ask for, as they are here.
pub(crate) fn config(patterns: Args<'_, '_>, front: &Front, replies: &mut Replies) {
    let settings = [
        // What was acknowledged is stored: there is no snapshot to take.
        ("save", String::new()),
        ("appendonly", "yes".into()),
        ("appendfsync", "no".into()),
        ("databases", "1".into()),
        ("maxclients", front.clients.max().to_string()),
        ("maxmemory-clients", front.settings.memory_max.to_string()),
        ("port", front.port.to_string()),
    ];
    let asked = |name: &str| {
        patterns.iter().any(|pattern| glob::matches(&pattern.to_ascii_lowercase(), name.as_bytes()))
    };
    let found: Vec<_> = settings.iter().filter(|(name, _)| asked(name)).collect();
    replies.map(found.len());
    for (name, value) in found {
        replies.bulk(name.as_bytes());
        replies.bulk(value.as_bytes());
    }
}
