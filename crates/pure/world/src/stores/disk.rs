//! DiskKV: the store is in the device. A lane is a queue pair on its key-value namespace; an operation is a command, or several
//! are one group command.

use super::{Counters, Group, GroupLimits, Measured, prices, retrieve_bytes};
use crate::build::{Build, port};
use crate::joined::{Below, Clocked, Inline};
use crate::layers::ValueLog;
use crate::result::{Job, RunResult};
use saker_device::{Attachment, Device, Timed, Untimed};
use saker_host::connect::KvQueueOptions;
use saker_host::transfer::Available;
use saker_host::{
    ConnectOptions, Connection, Done, HostError, KvQueue, Port, QueueStats, SubmitError, TransferOptions,
};
use saker_link::{PAGE_BYTES, Traffic};
use saker_nvme::kv::StoreOptions;
use saker_nvme::{Key, Status};
use saker_sim::{CpuMeter, CpuPrices, Instant, Meter as _, Unit};
use saker_store::{
    Completed, Completions, Doorbells, Failure, KvStore, Lane, Op, Order, Outcome, Prices, Refusal, Share,
    Stall, StallCause, Submitted, Ticket, Work,
};

/// Largest value that is read into a slot's own page; larger ones take a buffer.
pub const STAGED_BYTES: u32 = 4096;

/// Entries for values that travel in the queue itself.
const PAYLOAD_ENTRIES: u32 = 512;

const SINGLES: &[&str] = &["put", "get", "delete", "exists", "flush"];
const WITH_GROUPS: &[&str] = &["put", "get", "delete", "exists", "group", "flush"];

/// How operations become commands.
#[derive(Clone, Copy, Debug)]
struct Sending {
    /// Bytes of a small read's answer in the completion; 0: none.
    small: u32,
    /// Bytes that a retrieve asks for.
    retrieve_bytes: u32,
    /// Groups, if operations go in groups.
    groups: Option<GroupLimits>,
}

/// What a slot's command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Command {
    Plain,
    Get,
    Group,
}

/// A slot's command, and how many operations of the lane are in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sent {
    command: Command,
    operations: u32,
}

impl Command {
    /// How it ended. Of a group DW0 is the number of operations that failed.
    #[inline]
    fn outcome<'a>(self, done: &'a Done<'_>) -> Outcome<'a> {
        if !done.status.is_success() {
            let is_absent = done.status.is(Status::KEY_DOES_NOT_EXIST);
            return if is_absent { Outcome::Absent } else { Outcome::Failed(Failure::Status(done.status)) };
        }
        match self {
            Self::Plain => Outcome::DONE,
            Self::Get => Outcome::value(done.data()),
            Self::Group => Outcome::Group { failed: done.result, data: done.data() },
        }
    }
}

/// DiskKV over a device that is here or elsewhere.
#[derive(Debug)]
pub struct DiskStore<B> {
    below: B,
    /// Queue pairs of lanes that are not open yet, the last one first.
    queues: Vec<KvQueue>,
    opened: usize,
    available: Available,
    sending: Sending,
    prices: Prices,
    cpu: CpuPrices,
    page_bytes: u32,
    before: Counters,
}

/// A queue pair of its own on the namespace of pairs.
#[derive(Debug)]
pub struct DiskLane {
    number: usize,
    queue: KvQueue,
    sending: Sending,
    /// By slot.
    sent: Box<[Sent]>,
    /// What packing groups costs the host.
    meter: CpuMeter,
    /// What the queue had counted when the work was last asked for.
    seen: QueueStats,
    unrung: bool,
    /// Commands were submitted since the work was last asked for.
    has_submitted: bool,
}

impl DiskStore<Clocked> {
    /// A new device in virtual time, with a queue pair for each thread of the jobs.
    ///
    /// # Errors
    /// [`HostError`] if it cannot be connected to.
    pub fn timed(build: &Build, jobs: &[Job], groups: Option<GroupLimits>) -> Result<Self, HostError> {
        let Some(first) = jobs.first() else { return Err(saker_host::ProtocolError::Queues.into()) };
        let host = build.attach(first.threads.max(1) as u16, first.depth.max(1));
        let by_methods = jobs.iter().any(|job| job.transfer != TransferOptions::default());
        let mut store = Self::on(build.timed(host), build, first, by_methods)?;
        store.sending =
            Sending { groups, retrieve_bytes: retrieve_bytes(jobs, STAGED_BYTES), ..store.sending };
        Ok(store)
    }

    /// On a device whose host has room for the threads and the depth of the job.
    pub(crate) fn on(
        device: Device<Timed>,
        build: &Build,
        job: &Job,
        by_methods: bool,
    ) -> Result<Self, HostError> {
        let port = port(device.attachment());
        Self::connect(Clocked(device), port, build, job, by_methods)
    }

    pub(crate) fn device(&mut self) -> &mut Device<Timed> {
        &mut self.below.0
    }
}

impl DiskStore<Inline> {
    /// A new device without time, with a queue pair for each thread of the job.
    ///
    /// # Errors
    /// [`HostError`] if it cannot be connected to.
    pub fn untimed(build: &Build, job: &Job) -> Result<Self, HostError> {
        let host = build.attach(job.threads.max(1) as u16, job.depth.max(1));
        let port = port(&host);
        Self::connect(Inline(build.untimed(host)), port, build, job, false)
    }

    pub(crate) fn device(&mut self) -> &mut Device<Untimed> {
        &mut self.below.0
    }
}

impl<B: Below> DiskStore<B> {
    /// On a device elsewhere that is attached to `host`; groups as told.
    ///
    /// # Errors
    /// [`HostError`] if it cannot be connected to.
    pub fn over(
        below: B,
        host: &Attachment,
        build: &Build,
        jobs: &[Job],
        groups: Option<GroupLimits>,
    ) -> Result<Self, HostError> {
        let Some(first) = jobs.first() else { return Err(saker_host::ProtocolError::Queues.into()) };
        let mut store = Self::connect(below, port(host), build, first, false)?;
        store.sending =
            Sending { groups, retrieve_bytes: retrieve_bytes(jobs, STAGED_BYTES), ..store.sending };
        Ok(store)
    }

    fn connect(
        mut below: B,
        port: Port,
        build: &Build,
        job: &Job,
        by_methods: bool,
    ) -> Result<Self, HostError> {
        let (threads, depth) = (job.threads.max(1), job.depth.max(1));
        let options = ConnectOptions { io_queues: threads as u16, ..ConnectOptions::default() };
        let mut connection = Connection::connect(port, &mut below, options)?;
        let options = KvQueueOptions { entries: queue_entries(by_methods, depth), slots: depth };
        let queue = |_| connection.create_kv_queue(&mut below, 1, options);
        let mut queues = (0..threads).map(queue).collect::<Result<Vec<_>, _>>()?;
        let available = match queues.first() {
            Some(queue) if by_methods => {
                let entries = queue.pair().sq_entries();
                connection.transfer_methods(&mut below, entries)?
            }
            _ => Available::default(),
        };
        queues.reverse();
        Ok(Self {
            below,
            queues,
            opened: 0,
            available,
            sending: Sending { small: 0, retrieve_bytes: STAGED_BYTES, groups: None },
            prices: prices(build),
            cpu: CpuPrices::from_picos(build.profile.host.cpu.picos()),
            page_bytes: build.shape.geometry.page_bytes,
            before: Counters::default(),
        })
    }
}

fn queue_entries(by_methods: bool, depth: u16) -> u32 {
    let least = u32::from(depth) + 1;
    if by_methods { least.max(PAYLOAD_ENTRIES) } else { least }
}

impl<B: Below> KvStore for DiskStore<B> {
    type Lane = DiskLane;

    fn open_lane(&mut self) -> Result<DiskLane, Refusal> {
        let queue = self.queues.pop().ok_or(Refusal::Lanes)?;
        self.opened += 1;
        Ok(DiskLane {
            number: self.opened - 1,
            sent: vec![Sent { command: Command::Plain, operations: 1 }; queue.slots()].into(),
            seen: queue.stats(),
            queue,
            sending: self.sending,
            meter: CpuMeter::new(self.cpu),
            unrung: false,
            has_submitted: false,
        })
    }

    fn capabilities(&self) -> &'static [&'static str] {
        if self.sending.groups.is_some() { WITH_GROUPS } else { SINGLES }
    }

    /// A lane rings before it does anything else; completions it finds on the way it takes first.
    fn order(&self) -> Order {
        Order { doorbells: Doorbells::OfLane { looks_first: true }, completions: Completions::EachEnds }
    }

    fn prices(&self) -> Prices {
        self.prices
    }

    fn stats(&self) -> Vec<(&'static str, u64)> {
        vec![("lanes", self.opened as u64)]
    }

    fn now(&self) -> Instant {
        self.below.now()
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.below.next_deadline()
    }

    fn advance(&mut self, now: Instant) -> bool {
        self.below.advance(now) > 0
    }

    #[inline]
    fn go_on(&mut self, until: Instant) -> Option<Instant> {
        self.below.go_on(until)
    }

    fn turn(&mut self) {
        self.below.turn();
    }

    /// A job pays for what the device does because of it.
    fn settle(&mut self) {
        while self.below.go_on(Instant::FAR).is_some() {}
    }
}

impl Measured for DiskStore<Clocked> {
    fn begin(&mut self, lanes: &mut [DiskLane], job: &Job) {
        for lane in lanes.iter_mut() {
            lane.queue.set_transfer(job.transfer.clone(), self.available);
            lane.sending.small = job.transfer.small_reads;
            // Nobody pays for a Flush between jobs.
            lane.work();
        }
        self.before = Counters::of(&mut self.below.0, traffic(lanes));
    }

    fn finish(&mut self, lanes: &mut [DiskLane], result: &mut RunResult) {
        let after = Counters::of(&mut self.below.0, traffic(lanes));
        after.note(&self.before, self.page_bytes, result);
        after.note_device(&self.before, result);
        let snapshot = self.below.0.snapshot();
        result.value_log = ValueLog::of(&snapshot);
        result.counters = snapshot.namespaces.into_iter().flat_map(|n| n.counters).collect();
        result.traces = self.below.0.take_traces();
    }

    fn digest(&self) -> u64 {
        self.below.0.digest()
    }
}

fn traffic(lanes: &[DiskLane]) -> Traffic {
    lanes.iter().fold(Traffic::default(), |sum, lane| sum + lane.traffic())
}

/// Why an operation was not submitted.
enum Unsent {
    Refused(Refusal),
    Not(SubmitError),
}

impl From<SubmitError> for Unsent {
    fn from(error: SubmitError) -> Self {
        Self::Not(error)
    }
}

impl DiskLane {
    /// What only the host can count of the link's traffic.
    pub fn traffic(&self) -> Traffic {
        self.queue.stats().traffic()
    }

    /// Submits the next operations that one command takes.
    #[inline]
    fn send(&mut self, share: Share<'_>) -> Result<Ticket, Unsent> {
        if let Some(limits) = &self.sending.groups
            && let Some(group) = Group::gather(share.iter(), limits)
        {
            return self.send_group(&group, group.count as u32);
        }
        let Some(operation) = share.first() else {
            return Err(Unsent::Refused(Refusal::Unsupported("nothing")));
        };
        let (ticket, command) = match operation {
            Op::Put(key, value) => {
                (self.queue.store(&name(key)?, value, StoreOptions::NONE)?, Command::Plain)
            }
            Op::Get(key) if self.sending.small > 0 => {
                (self.queue.retrieve_small(&name(key)?, self.sending.small)?, Command::Get)
            }
            Op::Get(key) => (self.queue.retrieve(&name(key)?, self.sending.retrieve_bytes)?, Command::Get),
            Op::Delete(key) => (self.queue.delete(&name(key)?)?, Command::Plain),
            Op::Exists(key) => (self.queue.exist(&name(key)?)?, Command::Plain),
            Op::Flush => (self.queue.flush()?, Command::Plain),
            Op::Group { operations, flags: 0 } => return self.send_whole(operations),
            other => return Err(Unsent::Refused(Refusal::Unsupported(other.name()))),
        };
        Ok(self.sent(ticket.slot(), Sent { command, operations: 1 }))
    }

    /// A group that the application made.
    fn send_whole(&mut self, operations: &[Op]) -> Result<Ticket, Unsent> {
        let unsupported = || Unsent::Refused(Refusal::Unsupported("group"));
        let limits = self.sending.groups.ok_or_else(unsupported)?;
        let limits = GroupLimits { operations: operations.len(), ..limits };
        let group = Group::gather(operations.iter(), &limits).filter(|group| group.count == operations.len());
        // To the driver it is one operation.
        self.send_group(&group.ok_or_else(unsupported)?, 1)
    }

    /// A group is written into its payload: key and value of each operation.
    fn send_group(&mut self, group: &Group, operations: u32) -> Result<Ticket, Unsent> {
        let slot = group.submit(&mut self.queue)?.slot();
        self.meter.work(Unit::Encode, group.count as u64);
        self.meter.work(Unit::CopyByte, group.bytes() as u64);
        Ok(self.sent(slot, Sent { command: Command::Group, operations }))
    }

    #[inline]
    fn sent(&mut self, slot: u16, sent: Sent) -> Ticket {
        self.sent[usize::from(slot)] = sent;
        (self.unrung, self.has_submitted) = (true, true);
        Ticket { slot: u32::from(slot), operations: sent.operations }
    }
}

#[inline]
fn name(key: &[u8]) -> Result<Key, Unsent> {
    Key::new(key).map_err(|_| Unsent::Refused(Refusal::KeyLength(key.len())))
}

impl Lane for DiskLane {
    type Error = HostError;

    #[inline]
    fn submit(&mut self, share: Share<'_>, _: Instant) -> Submitted<'_> {
        match self.send(share) {
            Ok(ticket) => Submitted::Pending(ticket),
            // Entries or the BAR are full: a completion makes room.
            Err(Unsent::Not(SubmitError::Full)) if self.queue.in_flight() > 0 => {
                Submitted::Stalled(Stall::until_completion(StallCause::Queue))
            }
            Err(Unsent::Not(_)) => Submitted::Refused(Refusal::Broken("the queue does not take the command")),
            Err(Unsent::Refused(refusal)) => Submitted::Refused(refusal),
        }
    }

    /// Values that go in several commands.
    #[inline]
    fn resume(&mut self) -> bool {
        if !self.queue.is_amid_value() {
            return false;
        }
        if self.queue.continue_value() > 0 {
            (self.unrung, self.has_submitted) = (true, true);
        }
        true
    }

    #[inline]
    fn look(&mut self, _: Instant) -> bool {
        self.queue.has_news()
    }

    #[inline]
    fn poll<R>(
        &mut self,
        _: Instant,
        visit: impl FnOnce(Completed<'_>) -> R,
    ) -> Result<Option<R>, HostError> {
        let Self { queue, sent, number, .. } = self;
        let polled = queue.poll(|done| {
            let slot = done.ticket.slot();
            let Sent { command, operations } = sent[usize::from(slot)];
            let ticket = Ticket { slot: u32::from(slot), operations };
            visit(Completed { lane: *number, ticket, outcome: command.outcome(&done) })
        });
        polled.transpose().map_err(HostError::from)
    }

    #[inline]
    fn ring(&mut self) {
        if self.unrung {
            self.queue.ring();
            self.unrung = false;
        }
    }

    fn work(&mut self) -> Work {
        let now = self.queue.stats();
        let before = std::mem::replace(&mut self.seen, now);
        Work {
            cpu: self.meter.take(),
            commands: now.commands - before.commands,
            pages: (now.page_bytes_to_device - before.page_bytes_to_device) / PAGE_BYTES as u64,
            mmio_stores: now.mmio_stores - before.mmio_stores,
            completions: now.completions - before.completions,
            rings: std::mem::take(&mut self.has_submitted),
        }
    }

    #[inline]
    fn in_flight(&self) -> usize {
        self.queue.in_flight()
    }
}
