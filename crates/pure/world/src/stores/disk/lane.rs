//! A queue pair of a thread.

use super::Sending;
use super::scan::{Scanning, Scans, no_iterator};
use crate::stores::batch::{TOO_LONG, write_batch};
use crate::stores::{Group, GroupLimits};
use saker_host::transfer::Available;
use saker_host::{Done, HostError, KvQueue, QueueStats, SubmitError, TransferOptions};
use saker_link::{PAGE_BYTES, Traffic};
use saker_nvme::group::results::RESULT_BYTES;
use saker_nvme::group::{COUNT_BYTES, Form};
use saker_nvme::kv::StoreOptions;
use saker_nvme::vendor_specific::IteratorRange;
use saker_nvme::{Key, Status};
use saker_sim::{CpuMeter, CpuPrices, Instant, Meter as _, Unit};
use saker_store::{
    Completed, Failure, Lane, Op, Outcome, Refusal, Share, SnapshotId, Stall, StallCause, Submitted, Ticket,
    Work,
};

/// What a slot's command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Command {
    Plain,
    Get,
    Group,
    /// A batch with so many deletes, of which those of keys that are not there fail in the device.
    Batch(u32),
    Snapshot,
    Release,
    /// Of the scan of that number, which goes on when it has completed.
    Scan(u16),
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
            return self.failure(done.status);
        }
        match self {
            Self::Plain | Self::Release | Self::Scan(_) => Outcome::DONE,
            Self::Get => Outcome::value(done.data()),
            Self::Group => Outcome::Group { failed: done.result, data: done.data() },
            Self::Batch(deletes) if done.result > deletes => {
                Outcome::Failed(Failure::Other("the device has carried out a part of the batch"))
            }
            Self::Batch(_) => Outcome::DONE,
            Self::Snapshot => Outcome::Snapshot(SnapshotId(done.result)),
        }
    }

    fn failure<'a>(self, status: Status) -> Outcome<'a> {
        match self {
            Self::Release => Outcome::Failed(no_iterator(status)),
            _ if status.is(Status::KEY_DOES_NOT_EXIST) => Outcome::Absent,
            _ => Outcome::Failed(Failure::Status(status)),
        }
    }
}

/// A queue pair of its own on the namespace of pairs.
#[derive(Debug)]
pub struct DiskLane {
    number: usize,
    queue: KvQueue,
    sending: Sending,
    /// By slot.
    sent: Box<[Sent]>,
    scans: Scans,
    /// What packing groups costs the host.
    meter: CpuMeter,
    /// What the queue had counted when the work was last asked for.
    seen: QueueStats,
    unrung: bool,
    /// Commands were submitted since the work was last asked for.
    has_submitted: bool,
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
    pub(super) fn new(number: usize, queue: KvQueue, sending: Sending, cpu: CpuPrices) -> Self {
        Self {
            number,
            sent: vec![Sent { command: Command::Plain, operations: 1 }; queue.slots()].into(),
            seen: queue.stats(),
            queue,
            sending,
            scans: Scans::default(),
            meter: CpuMeter::new(cpu),
            unrung: false,
            has_submitted: false,
        }
    }

    /// How values go from now on.
    pub(super) fn set_transfer(&mut self, transfer: &TransferOptions, available: Available) {
        self.queue.set_transfer(transfer.clone(), available);
        self.sending.small = transfer.small_reads;
    }

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
            other => return self.send_rare(other),
        };
        Ok(self.sent(ticket.slot(), Sent { command, operations: 1 }))
    }

    /// What not every device takes.
    #[cold]
    fn send_rare(&mut self, operation: &Op) -> Result<Ticket, Unsent> {
        let (takes, all) = (self.sending.takes, IteratorRange::new(&[], &[], &[]));
        let (ticket, command) = match (operation, all) {
            (Op::Batch(writes), _) if takes.batch_bytes > 0 => return self.send_batch(writes),
            (Op::Scan { from, entries, snapshot }, _) if takes.scans => {
                let scanning = Scanning::new(from, *entries, *snapshot).map_err(Unsent::Refused)?;
                return self.send_scan(scanning);
            }
            (Op::Snapshot, Some(all)) if takes.scans => {
                (self.queue.iterator_open(&all, false, None)?, Command::Snapshot)
            }
            (Op::Release(snapshot), _) if takes.scans => {
                (self.queue.iterator_close(snapshot.0)?, Command::Release)
            }
            (other, _) => return Err(Unsent::Refused(Refusal::Unsupported(other.name()))),
        };
        Ok(self.sent(ticket.slot(), Sent { command, operations: 1 }))
    }

    /// A batch is a group of writes, which the engine lands as one record.
    fn send_batch(&mut self, writes: &[Op]) -> Result<Ticket, Unsent> {
        let batch = write_batch(writes).map_err(Unsent::Refused)?;
        let deletes = batch.iter().filter(|(_, value)| value.is_none()).count() as u32;
        let (form, payload) = batch.pack().map_err(|_| Unsent::Refused(TOO_LONG))?;
        if payload.len() > self.sending.takes.batch_bytes {
            return Err(Unsent::Refused(TOO_LONG));
        }
        let sent = if form == Form::Mixed {
            // A device asks of mixed groups where their results are to go; only their number counts here.
            let results = COUNT_BYTES + batch.len() * RESULT_BYTES;
            self.queue.group_both_ways(form, &payload, results as u32)?
        } else {
            self.queue.group(form, None, &payload)?
        };
        let slot = sent.slot();
        self.meter.work(Unit::Encode, batch.len() as u64);
        self.meter.work(Unit::CopyByte, payload.len() as u64);
        Ok(self.sent(slot, Sent { command: Command::Batch(deletes), operations: 1 }))
    }

    /// A scan has a slot of its own, behind those of the queue's commands.
    fn send_scan(&mut self, mut scanning: Scanning) -> Result<Ticket, Unsent> {
        let slot = scanning.send(&mut self.queue)?;
        let n = self.scans.add(scanning);
        self.sent(slot, Sent { command: Command::Scan(n), operations: 1 });
        Ok(self.scan_ticket(n))
    }

    fn scan_ticket(&self, n: u16) -> Ticket {
        Ticket { slot: self.sent.len() as u32 + u32::from(n), operations: 1 }
    }

    /// A scan goes on; its outcome is there if it is over.
    #[cold]
    fn scan_on(&mut self, n: u16) -> bool {
        let Self { scans, queue, .. } = self;
        let Some(scanning) = scans.get_mut(n) else { return false };
        if scanning.is_over() {
            return true;
        }
        match scanning.send(queue) {
            Ok(slot) => _ = self.sent(slot, Sent { command: Command::Scan(n), operations: 1 }),
            Err(_) => scans.waits(n),
        }
        false
    }

    /// There may be room again for scans that wait.
    #[cold]
    fn retry_scans(&mut self) -> bool {
        let before = self.scans.waiting();
        if let Some(n) = self.scans.next_waiting() {
            self.scan_on(n);
        }
        self.scans.waiting() < before
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
        if matches!(share.first(), Some(Op::Batch(writes)) if writes.is_empty() && self.sending.takes.batch_bytes > 0)
        {
            return Submitted::Done(Outcome::DONE);
        }
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
        let has_sent = self.scans.waiting() > 0 && self.retry_scans();
        self.queue.has_news() || has_sent
    }

    #[inline]
    fn poll<R>(
        &mut self,
        _: Instant,
        visit: impl FnOnce(Completed<'_>) -> R,
    ) -> Result<Option<R>, HostError> {
        let mut visit = visit;
        loop {
            let Self { queue, sent, number, scans, .. } = self;
            let polled = queue.poll(|done| {
                let slot = done.ticket.slot();
                let Sent { command, operations } = sent[usize::from(slot)];
                if let Command::Scan(n) = command {
                    if let Some(scanning) = scans.get_mut(n) {
                        scanning.completed(&done);
                    }
                    return Err((n, visit));
                }
                let ticket = Ticket { slot: u32::from(slot), operations };
                Ok(visit(Completed { lane: *number, ticket, outcome: command.outcome(&done) }))
            });
            let n = match polled.transpose()? {
                None => return Ok(None),
                Some(Ok(visited)) => return Ok(Some(visited)),
                Some(Err((n, unused))) => {
                    visit = unused;
                    n
                }
            };
            if self.scan_on(n)
                && let Some(scanning) = self.scans.remove(n)
            {
                let (lane, ticket) = (self.number, self.scan_ticket(n));
                return Ok(Some(visit(Completed { lane, ticket, outcome: scanning.outcome() })));
            }
        }
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
        self.queue.in_flight() + self.scans.waiting()
    }
}
