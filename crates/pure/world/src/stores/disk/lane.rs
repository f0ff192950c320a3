// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A queue pair of a thread.

mod rare;

use super::command::{Command, Polled, Sent};
use super::sending::Sending;
use super::series::AllSeries;
use crate::stores::{Group, GroupLimits};
use saker_host::transfer::Available;
use saker_host::{HostError, KvQueue, QueueStats, SubmitError, TransferOptions};
use saker_link::{PAGE_BYTES, Traffic};
use saker_nvme::Key;
use saker_nvme::kv::StoreOptions;
use saker_sim::{CpuMeter, CpuPrices, Instant, Meter as _, Unit};
use saker_store::{Completed, Lane, Op, Outcome, Refusal, Share, Stall, StallCause, Submitted, Ticket, Work};

/// A queue pair of its own on the namespace of pairs.
#[derive(Debug)]
pub struct DiskLane {
    number: usize,
    queue: KvQueue,
    sending: Sending,
    /// By slot.
    sent: Box<[Sent]>,
    series: AllSeries,
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
            series: AllSeries::default(),
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
        let has_sent = self.series.waiting() > 0 && self.retry_series();
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
            let Self { queue, sent, number, series, .. } = self;
            let polled = queue.poll(|done| {
                let slot = done.ticket.slot();
                let Sent { command, operations } = sent[usize::from(slot)];
                if let Command::Series(n) = command {
                    if let Some(going) = series.get_mut(n) {
                        going.completed(&done);
                    }
                    return Polled::Series(n, visit);
                }
                let ticket = Ticket { slot: u32::from(slot), operations };
                Polled::Ended(visit(Completed { lane: *number, ticket, outcome: command.outcome(&done) }))
            });
            let n = match polled.transpose()? {
                None => return Ok(None),
                Some(Polled::Ended(visited)) => return Ok(Some(visited)),
                Some(Polled::Series(n, unused)) => {
                    visit = unused;
                    n
                }
            };
            if let Some(ended) = self.take_ended(n) {
                let (lane, ticket) = (self.number, self.series_ticket(n));
                return Ok(Some(visit(Completed { lane, ticket, outcome: ended.outcome() })));
            }
            self.go_on(n);
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
        self.queue.in_flight() + self.series.waiting()
    }
}
