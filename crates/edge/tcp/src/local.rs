//! The device of a subsystem and this thread's end of it.

use std::cell::{RefCell, RefMut};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant as Clock;

use saker::url::DeviceUrl;
use saker::{AnyDevice, EngineKind, Error, build_device, close_device};
use saker_device::controller::{HealthCounters, NamespaceFacts};
use saker_host::connect::KvQueueOptions;
use saker_host::kv_queue::Returned;
use saker_host::transfer::Available;
use saker_host::{
    ConnectOptions, Connection, Driver, HostError, KvQueue, Port, RawData, SubmitError, Ticket,
};
use saker_link::STAGING_BYTES;
use saker_nvme::vendor_specific::{Capabilities, Methods};
use saker_nvme::{Sqe, Status};
use saker_sim::{Duration, Instant};
use saker_target::IoCommand;

use crate::config::Served;
use crate::redis::{self, Redis, RedisQueue};
use crate::server::ServeError;

/// Commands that the device has at once; more wait in the subsystem's thread.
const DEPTH: u16 = 1024;

/// A device that is advanced on this thread, against the clock if it keeps time.
#[derive(Debug)]
pub(crate) struct Clocked {
    device: AnyDevice,
    begun: Clock,
    base: Instant,
}

impl Clocked {
    pub fn now(&self) -> Instant {
        self.base + Duration::from_nanos(self.begun.elapsed().as_nanos() as u64)
    }

    /// The namespaces as they are now.
    pub fn facts(&mut self) -> Vec<NamespaceFacts> {
        self.device.facts()
    }

    /// Pairs of a namespace, where its engine counts them.
    pub fn pairs(&mut self, nsid: u32) -> Option<u64> {
        let stats = self.device.stats();
        let of_namespace = stats.namespaces.iter().find(|ns| ns.nsid == nsid)?;
        let kind = EngineKind::ALL.iter().find(|kind| kind.name() == of_namespace.engine)?;
        kind.counts_pairs().then_some(of_namespace.store.pairs)
    }

    /// When a device that keeps time has something to do; nothing for others.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.device.next_deadline()
    }
}

impl Driver for Clocked {
    fn drive(&mut self) {
        let now = if self.device.is_timed() { self.now() } else { Instant::ZERO };
        self.device.advance(now);
    }
}

/// The device and its admin queue, which the subsystem and its Redis clients share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub clocked: Clocked,
    connection: Connection,
    /// Namespaces that Redis clients have formatted, which hosts have not been told of.
    pub formatted: Vec<u32>,
}

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

/// The device on its thread, and the queue pair that takes all I/O of hosts.
#[derive(Debug)]
pub(crate) struct Local {
    shared: Rc<RefCell<Shared>>,
    pub queue: KvQueue,
    /// The namespaces as last looked at: their sizes in use change, their shapes do not.
    pub facts: Vec<NamespaceFacts>,
}

impl Opened {
    /// Opens the device of a served URL.
    pub fn open(served: &Served) -> Result<Self, ServeError> {
        let mut url = DeviceUrl::parse(&served.url).map_err(Error::from)?;
        let has_redis = served.redis.is_some();
        url.depth = DEPTH + if has_redis { redis::DEPTH } else { 0 };
        url.nqn.clone_from(&served.nqn);
        let (device, host, _) = build_device(&url)?;
        if let Some((nsid, what)) = device.damage().into_iter().next() {
            return Err(Error::Damaged { nsid, what }.into());
        }
        let port =
            Port { space: host.space, registers: host.registers, doorbells: host.doorbells, bar: host.bar };
        let base = device.now();
        let mut clocked = Clocked { device, begun: Clock::now(), base };
        let io_queues = if has_redis { 2 } else { 1 };
        let options = ConnectOptions { io_queues, ..ConnectOptions::default() };
        let mut connection = Connection::connect(port, &mut clocked, options).map_err(Error::from)?;
        let options = KvQueueOptions { entries: u32::from(DEPTH) + 1, slots: DEPTH };
        let queue = connection.create_kv_queue(&mut clocked, 1, options).map_err(Error::from)?;
        let available =
            connection.transfer_methods(&mut clocked, u32::from(DEPTH) + 1).map_err(Error::from)?;
        let vendor = on_the_network(&available);
        let facts = clocked.device.facts();
        let redis = served.redis.as_ref();
        let redis = redis.map(|redis| RedisQueue::create(redis, &mut connection, &mut clocked, &facts));
        Ok(Self { clocked, connection, queue, redis: redis.transpose()?, vendor, facts })
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
        let shared = Rc::new(RefCell::new(Shared { clocked, connection, formatted: Vec::new() }));
        let redis = redis.map(|redis| redis.front(Rc::clone(&shared) as _));
        (Local { shared, queue, facts }, redis)
    }
}

impl Local {
    /// The device and its admin queue. Nobody else may be at it meanwhile.
    pub fn shared(&self) -> RefMut<'_, Shared> {
        self.shared.borrow_mut()
    }

    /// Looks at the namespaces again.
    pub fn refresh_facts(&mut self) {
        let facts = self.shared().clocked.device.facts();
        self.facts = facts;
    }

    /// What the device has done for all hosts.
    pub fn health(&self) -> HealthCounters {
        self.shared().clocked.device.health()
    }

    /// Executes an admin command without data.
    pub fn admin(&self, sqe: Sqe) -> (Status, u64) {
        self.shared().admin(sqe)
    }

    /// Submits a command; the doorbell is the caller's. Returns its slot.
    pub fn submit(&mut self, mut command: IoCommand) -> Result<u16, (SubmitError, IoCommand)> {
        let ticket = match (command.data.len(), command.room) {
            (0, 0) => self.queue.raw(command.sqe, RawData::Untouched),
            (memory, room @ 1..) if command.is_value && memory >= room as usize => {
                command.data.truncate(room as usize);
                let buffer = std::mem::take(&mut command.data);
                kept(self.queue.raw_value_into(command.sqe, buffer), &mut command)
            }
            (_, room @ 1..) if command.is_value => {
                self.queue.raw(command.sqe, RawData::ValueFromDevice(room))
            }
            (_, room @ 1..) => self.queue.raw(command.sqe, RawData::FromDevice(room)),
            (1..=STAGING_BYTES, _) => self.queue.raw(command.sqe, RawData::ToDevice(&command.data)),
            _ => {
                let data = std::mem::take(&mut command.data);
                kept(self.queue.raw_owned(command.sqe, data), &mut command)
            }
        };
        ticket.map(|ticket| ticket.slot()).map_err(|error| (error, command))
    }

    /// Flushes and closes the device. No command may be in flight.
    pub fn close(mut self) -> Result<(), Error> {
        let flush =
            self.queue.raw(Sqe::new(saker_nvme::kv::opcode::FLUSH, saker_nvme::NSID_ALL), RawData::Untouched);
        let flushed = flush.map_err(HostError::Submit).and_then(|_| self.wait());
        // Redis clients have gone before.
        let shared =
            Rc::into_inner(self.shared).unwrap_or_else(|| unreachable!("somebody shares the device"));
        close_device(shared.into_inner().clocked.device)?;
        Ok(flushed?)
    }

    fn wait(&mut self) -> Result<(), HostError> {
        self.queue.ring();
        loop {
            self.shared().clocked.drive();
            if let Some(done) = self.queue.poll(|done| done.status) {
                let status = done?;
                return if status.is_success() { Ok(()) } else { Err(status.into()) };
            }
        }
    }
}

impl Shared {
    /// Deletes all pairs of a namespace.
    pub fn format(&mut self, nsid: u32) -> Result<(), HostError> {
        self.connection.format(&mut self.clocked, nsid)
    }

    /// Executes an admin command without data.
    fn admin(&mut self, sqe: Sqe) -> (Status, u64) {
        match self.connection.execute_admin(&mut self.clocked, sqe) {
            Ok(cqe) => (Status::SUCCESS, cqe.result()),
            Err(HostError::Status(status)) => (status, 0),
            Err(HostError::Kv(error)) => (error.status(), 0),
            Err(_) => (Status::INTERNAL_ERROR, 0),
        }
    }
}

/// A command that cannot be submitted now keeps its buffer.
fn kept(submitted: Result<Ticket, Returned>, command: &mut IoCommand) -> Result<Ticket, SubmitError> {
    submitted.map_err(|returned| {
        command.data = returned.buffer;
        returned.error
    })
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
        .with_long_keys_in_transactions(available.methods.long_keys_in_transactions());
    let page = Capabilities::new(methods, 0, 0, 0).with_group_bytes(available.group_bytes_max);
    available.methods.groups().then_some(page)
}
