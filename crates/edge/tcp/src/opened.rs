// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device that is open, on its way to the thread of its subsystem.

use std::net::SocketAddr;
use std::rc::Rc;

use saker::url::DeviceUrl;
use saker::{Error, build_device, refuse_damaged};
use saker_device::controller::NamespaceFacts;
use saker_host::connect::KvQueueOptions;
use saker_host::transfer::Available;
use saker_host::{ConnectOptions, Connection, KvQueue, Port};
use saker_nvme::vendor_specific::{Capabilities, Methods};

use crate::config::Served;
use crate::error::ServeError;
use crate::limits::ITERATORS_MAX;
use crate::local::{Clocked, Local, Shared};
use crate::redis::{self, Redis, RedisQueue};

/// Commands that the device has at once; more wait in the subsystem's thread.
const DEPTH: u16 = 1024;

/// A device that is open, on its way to the thread of its subsystem.
#[derive(Debug)]
pub(crate) struct Opened {
    clocked: Clocked,
    connection: Connection,
    queue: KvQueue,
    redis: Option<RedisQueue>,
    /// Log page C0h for hosts that share no memory with the device: groups.
    pub vendor: Option<Capabilities>,
    facts: Vec<NamespaceFacts>,
}

/// A limit of a namespace that is not there limits nothing; it may be made later.
fn tell_idle_limits(served: &Served, facts: &[NamespaceFacts]) {
    for limits in &served.namespaces {
        if facts.iter().all(|there| there.nsid != limits.nsid) {
            let (nsid, url) = (limits.nsid, &served.url);
            tracing::warn!(nsid, url, "a limit is for a namespace that is not there");
        }
    }
}

impl Opened {
    /// Opens the device of a served URL.
    pub fn open(served: &Served) -> Result<Self, ServeError> {
        let mut url = DeviceUrl::parse(&served.url).map_err(Error::from)?;
        let has_redis = served.redis.is_some();
        url.depth = DEPTH + if has_redis { redis::DEPTH } else { 0 };
        url.nqn.clone_from(&served.nqn);
        let (device, host, _) = build_device(&url)?;
        let device = refuse_damaged(device)?;
        let port =
            Port { space: host.space, registers: host.registers, doorbells: host.doorbells, bar: host.bar };
        let mut clocked = Clocked::new(device);
        clocked.allow_iterators(ITERATORS_MAX);
        let io_queues = if has_redis { 2 } else { 1 };
        let options = ConnectOptions { io_queues, ..ConnectOptions::default() };
        let mut connection = Connection::connect(port, &mut clocked, options).map_err(Error::from)?;
        let options = KvQueueOptions { entries: u32::from(DEPTH) + 1, slots: DEPTH };
        let queue = connection.create_kv_queue(&mut clocked, 1, options).map_err(Error::from)?;
        let available =
            connection.transfer_methods(&mut clocked, u32::from(DEPTH) + 1).map_err(Error::from)?;
        let vendor = on_the_network(&available);
        let facts = clocked.facts();
        tell_idle_limits(served, &facts);
        let redis = served.redis.as_ref();
        let redis = redis.map(|redis| RedisQueue::create(redis, &mut connection, &mut clocked, &facts));
        Ok(Self { clocked, connection, queue, redis: redis.transpose()?, vendor, facts })
    }

    /// Nobody is served by it: it is closed in order.
    pub fn leave(self) {
        // Why it is not served matters more.
        let _ = self.clocked.close();
    }

    /// Serial number, model, firmware revision, SUBNQN, and whether the write cache is volatile.
    pub fn identity(&self) -> ([String; 4], bool) {
        let c = self.connection.controller();
        let text = |b: &[u8]| {
            let end = b.iter().position(|byte| *byte == 0).unwrap_or(b.len());
            String::from_utf8_lossy(&b[..end]).trim_end().to_owned()
        };
        ([text(&c.sn), text(&c.mn), text(&c.fr), text(&c.subnqn)], c.vwc & 1 != 0)
    }

    /// Where it listens for Redis clients, if it does.
    pub fn redis_address(&self) -> Option<SocketAddr> {
        self.redis.as_ref().map(RedisQueue::address)
    }

    /// To be called on the thread of the subsystem: the device there, and its Redis clients.
    pub fn settle(self) -> (Local, Option<Redis>) {
        let Self { clocked, connection, queue, redis, facts, .. } = self;
        let shared = Shared::new(clocked, connection);
        let redis = redis.map(|redis| redis.front(Rc::clone(&shared) as _));
        (Local::new(shared, queue, facts), redis)
    }
}

/// What of a device's methods works where data is moved by commands, one way each.
fn on_the_network(available: &Available) -> Option<Capabilities> {
    let prefetches = available.methods.prefetch_groups();
    let iterators = available.methods.iterators();
    let methods = Methods::default()
        .with_groups(true)
        .with_prefetch_groups(prefetches)
        .with_iterators(iterators)
        .with_transactions(available.methods.transactions())
        .with_long_keys_in_transactions(available.methods.long_keys_in_transactions())
        .with_split_transactions(available.methods.split_transactions())
        .with_retrieve_versioned(available.methods.retrieve_versioned());
    let page = Capabilities::new(methods, 0, 0, 0).with_group_bytes(available.group_bytes_max);
    available.methods.groups().then_some(page)
}
