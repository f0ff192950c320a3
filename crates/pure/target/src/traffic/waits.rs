// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What waited for limits: counts for metrics, and what an operator is to be told.

use std::collections::BTreeMap;

use saker_sim::Instant;

use super::gate::Rate;

/// A limit that holds commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A rate of the host.
    Host(Rate),
    /// A rate of the namespace, by its NSID.
    Namespace(u32, Rate),
}

/// How often and how long commands waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// Commands that were the first in line and had to wait for a limit.
    pub commands: u64,
    /// How long these did, in nanoseconds.
    pub nanos: u64,
}

/// Since when something is held.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held(Option<Instant>);

impl Held {
    /// Whether it begins now.
    pub fn begin(&mut self, now: Instant) -> bool {
        let begins = self.0.is_none();
        self.0.get_or_insert(now);
        begins
    }

    /// It is held no more, if it was.
    pub fn end(&mut self, limit: Limit, waits: &mut Waits, now: Instant) {
        if let Some(since) = self.0.take() {
            let waited = match limit {
                Limit::Host(_) => &mut waits.hosts,
                Limit::Namespace(nsid, _) => waits.namespaces.entry(nsid).or_default(),
            };
            waited.commands += 1;
            waited.nanos += now.since(since).as_nanos();
        }
    }
}

/// How long a host and a limit are not told of again.
const TOLD_FOR_NANOS: u64 = 10_000_000_000;
/// The most that is to be told at once.
const NEWS_MAX: usize = 64;

/// All of it.
#[derive(Debug, Default)]
pub(super) struct Waits {
    pub hosts: Waited,
    pub namespaces: BTreeMap<u32, Waited>,
    /// Who has begun to wait, and for what.
    pub news: Vec<(String, Limit)>,
    told: Vec<(String, Limit, Instant)>,
}

impl Waits {
    /// A host has begun to wait.
    pub fn note(&mut self, host: &str, limit: Limit, now: Instant) {
        self.told.retain(|(.., at)| now.since(*at).as_nanos() < TOLD_FOR_NANOS);
        let is_told = self.told.iter().any(|(name, of, _)| *of == limit && name == host);
        if is_told || self.told.len() >= NEWS_MAX {
            return;
        }
        self.told.push((host.to_owned(), limit, now));
        self.news.push((host.to_owned(), limit));
    }
}
