// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A namespace for Redis clients: its queue, its socket, and what they ask of the device beside pairs.

use std::cell::RefCell;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;

use rustix::process::{Resource, getrlimit, setrlimit};
use saker::Error;
use saker_device::controller::{NamespaceFacts, NamespaceKind};
use saker_host::client::DeleteMissing;
use saker_host::connect::KvQueueOptions;
use saker_host::{ClientOptions, Connection, Driver, HostError, KvClient, KvQueue, TransferOptions};
use saker_redis::{Device, Facts, Front, Settings, Turn};

use crate::config::RedisConfig;
use crate::error::ServeError;
use crate::local::{Clocked, Shared};

/// Commands in flight: a group is one.
pub(crate) const DEPTH: u16 = 64;

/// A socket that listens, and the queue of its clients.
#[derive(Debug)]
pub(crate) struct RedisQueue {
    listener: TcpListener,
    address: SocketAddr,
    queue: KvQueue,
    nsid: u32,
    value_bytes_max: u32,
    settings: Settings,
}

/// The same on the thread of the subsystem.
pub(crate) struct Redis {
    pub front: Rc<Front>,
    pub listener: TcpListener,
}

impl RedisQueue {
    /// Listens, and makes a queue to the namespace.
    pub fn create(
        config: &RedisConfig,
        connection: &mut Connection,
        clocked: &mut Clocked,
        facts: &[NamespaceFacts],
    ) -> Result<Self, ServeError> {
        let settings = config.settings()?;
        allow_descriptors(settings.clients_max);
        let nsid = namespace(config, facts)?;
        let listen = || {
            let listener = TcpListener::bind(config.listen)?;
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?, listener))
        };
        let (address, listener) = listen().map_err(|error| ServeError::Listen(config.listen, error))?;
        let mut queue = || {
            let options = KvQueueOptions { entries: u32::from(DEPTH) + 1, slots: DEPTH };
            let mut queue = connection.create_kv_queue(clocked, nsid, options)?;
            connection.set_transfer(clocked, &mut queue, TransferOptions::default())?;
            Ok((queue, connection.value_bytes_max(clocked, nsid)?))
        };
        let (queue, value_bytes_max) =
            queue().map_err(|error: HostError| ServeError::Device(error.into()))?;
        Ok(Self { listener, address, queue, nsid, value_bytes_max, settings })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// For the thread that owns the device.
    pub fn front(self, device: Rc<RefCell<dyn Device>>) -> Redis {
        let Self { listener, address, queue, nsid, value_bytes_max, settings } = self;
        let turn = Turn::new(device);
        // Whether a delete of nothing is an error is for the hosts of the namespace to say: feature 20h is theirs.
        let options = ClientOptions { depth: DEPTH, ..ClientOptions::default() };
        let client = KvClient::over(queue, turn.clone(), value_bytes_max, DeleteMissing::Silent, options);
        Redis { front: Front::new(client, turn, nsid, settings, address.port()), listener }
    }
}

/// Descriptors that a server needs beside those of its Redis clients.
const OTHER_DESCRIPTORS: u64 = 2048;

/// As many descriptors as that needs, or as many as the system allows: the usual limit of 1024 is meant for programs that `select`.
fn allow_descriptors(clients: usize) {
    let mut limit = getrlimit(Resource::Nofile);
    let needed = (clients as u64).saturating_add(OTHER_DESCRIPTORS);
    let allowed = limit.maximum.map_or(needed, |most| needed.min(most));
    if limit.current.is_some_and(|current| current < allowed) {
        limit.current = Some(allowed);
        // Without them, accepting waits until somebody leaves.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

/// The namespace that was asked for, or the first of pairs.
fn namespace(config: &RedisConfig, facts: &[NamespaceFacts]) -> Result<u32, ServeError> {
    let is_suited = |ns: &&NamespaceFacts| {
        matches!(ns.kind, NamespaceKind::Kv { .. }) && config.nsid.is_none_or(|asked| asked == ns.nsid)
    };
    let there = || facts.iter().map(|ns| ns.nsid.to_string()).collect::<Vec<_>>().join(", ");
    facts.iter().find(is_suited).map(|ns| ns.nsid).ok_or_else(|| match config.nsid {
        Some(nsid) => Error::Missing { nsid, there: there() }.into(),
        None => Error::NoNamespace { wanted: "key-value", there: there() }.into(),
    })
}

impl Driver for Shared {
    fn drive(&mut self) {
        self.has_served_redis = true;
        self.clocked.drive();
    }
}

impl Device for Shared {
    fn facts(&mut self, nsid: u32) -> Facts {
        let all = self.clocked.facts();
        let Some((used_bytes, size_bytes, engine)) = all.iter().find(|ns| ns.nsid == nsid).and_then(kv_facts)
        else {
            return Facts::default();
        };
        Facts { pairs: self.clocked.pairs(nsid), used_bytes, size_bytes, engine }
    }

    fn clear(&mut self, nsid: u32) -> Result<(), HostError> {
        self.format(nsid)?;
        self.formatted.push(nsid);
        Ok(())
    }
}

const fn kv_facts(ns: &NamespaceFacts) -> Option<(u64, u64, &'static str)> {
    match ns.kind {
        NamespaceKind::Kv { used_bytes, size_bytes, engine, .. } => Some((used_bytes, size_bytes, engine)),
        NamespaceKind::Block { .. } => None,
    }
}
