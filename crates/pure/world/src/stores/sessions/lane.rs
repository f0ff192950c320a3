// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A session of a thread.

use super::SharedMeter;
use super::scan::{Scanning, Went};
use crate::result::ReadPath;
use saker_host::session::{CallId, Command, Cover, Hub, LaneStats, Refusal as NotNow, Sync, Write};
use saker_host::{HostError, KvQueue};
use saker_link::PAGE_BYTES;
use saker_nvme::{Key, Status};
use saker_sim::Instant;
use saker_store::{
    Completed, Drain, Failure, Lane, Op, Outcome, Refusal, Share, Stall, StallCause, Submitted, Ticket, Work,
};
use std::rc::Rc;

/// What a Retrieve asks for.
const RETRIEVE_BYTES: u32 = 4096;

/// A session.
pub struct SessionLane {
    hub: Rc<Hub<KvQueue>>,
    number: usize,
    meter: SharedMeter,
    has_cache: bool,
    takes_scans: bool,
    calls: Vec<Call>,
    scans: Vec<Scanning>,
    /// Calls before this one have been looked at since completions were taken.
    looked_at: usize,
    /// Slots of tickets that nothing has.
    free: Vec<u32>,
    slots: u32,
    /// A Flush on its way: its number, and the ticket's slot.
    flush: Option<(u64, u32)>,
    /// It has written everything and waits for the end.
    sync: Option<Sync>,
    before: LaneStats,
    reads: ReadPath,
    /// A value that was read.
    data: Vec<u8>,
}

/// A command in flight that is awaited: of what key, and the version of the key's stripe before it.
struct Call {
    id: CallId,
    slot: u32,
    key: Key,
    version: u64,
    /// It reads the value.
    reads: bool,
}

/// What the host knows of a key.
enum Found {
    Value,
    Deleted,
}

impl SessionLane {
    pub(super) fn new(
        hub: Rc<Hub<KvQueue>>,
        number: usize,
        meter: SharedMeter,
        (has_cache, takes_scans): (bool, bool),
    ) -> Self {
        Self {
            hub,
            number,
            meter,
            has_cache,
            takes_scans,
            calls: Vec::new(),
            scans: Vec::new(),
            looked_at: 0,
            free: Vec::new(),
            slots: 0,
            flush: None,
            sync: None,
            before: LaneStats::default(),
            reads: ReadPath::default(),
            data: Vec::new(),
        }
    }

    /// A job begins.
    pub(super) fn begin(&mut self) {
        (self.sync, self.reads) = (None, ReadPath::default());
    }

    /// What reads came to since then.
    pub(super) const fn reads(&self) -> &ReadPath {
        &self.reads
    }

    fn write(&mut self, key: &[u8], write: Write<'_>) -> Submitted<'static> {
        let Ok(name) = Key::new(key) else { return refused_key(key) };
        match self.hub.write(self.number, &name, write, Cover::Session, &mut self.meter) {
            Ok(()) => Submitted::Done(Outcome::DONE),
            Err(why) => not_taken(&why),
        }
    }

    fn get(&mut self, key: &[u8]) -> Submitted<'_> {
        let Ok(name) = Key::new(key) else { return refused_key(key) };
        match self.seen(&name) {
            Ok(Found::Value) => Submitted::Done(Outcome::value(&self.data)),
            Ok(Found::Deleted) => Submitted::Done(Outcome::Absent),
            Err(version) => self.call(Command::Retrieve(&name, RETRIEVE_BYTES), name, version),
        }
    }

    /// Where the newest value of a key is, if the host knows it; otherwise the version of its stripe.
    fn seen(&mut self, key: &Key) -> Result<Found, u64> {
        let Self { hub, meter, data, reads, .. } = self;
        data.clear();
        if hub.cached(key, meter, |value| data.extend_from_slice(value)).is_some() {
            return Ok(Found::Value);
        }
        hub.look(key, meter, |write| {
            let Some(value) = write else { return Found::Deleted };
            data.extend_from_slice(value);
            reads.pending += 1;
            Found::Value
        })
    }

    fn exists(&mut self, key: &[u8]) -> Submitted<'static> {
        let Ok(name) = Key::new(key) else { return refused_key(key) };
        if self.hub.is_cached(&name) {
            return Submitted::Done(Outcome::DONE);
        }
        match self.hub.look(&name, &mut self.meter, |write| write.is_some()) {
            Ok(true) => Submitted::Done(Outcome::DONE),
            Ok(false) => Submitted::Done(Outcome::Absent),
            Err(version) => self.call(Command::Exist(&name), name, version),
        }
    }

    fn call(&mut self, command: Command<'_>, key: Key, version: u64) -> Submitted<'static> {
        let reads = matches!(command, Command::Retrieve(..));
        match self.hub.call(self.number, command) {
            Ok(id) => {
                let slot = self.slot();
                self.calls.push(Call { id, slot, key, version, reads });
                Submitted::Pending(Ticket { slot, operations: 1 })
            }
            Err(why) => not_taken(&why),
        }
    }

    fn scan(&mut self, from: &[u8], entries: u32) -> Submitted<'static> {
        if from.len() > Key::MAX_LEN {
            return refused_key(from);
        }
        let slot = self.slot();
        let mut scanning = Scanning::new(&self.hub, slot, from, entries);
        match scanning.go_on((&self.hub, self.number), &mut self.meter) {
            Went::Broken => {
                self.release(slot);
                Submitted::Refused(Refusal::Broken("the session cannot be used any more"))
            }
            Went::On | Went::Over => {
                self.scans.push(scanning);
                Submitted::Pending(Ticket { slot, operations: 1 })
            }
        }
    }

    /// A scan that has ended.
    fn take_scan(&mut self) -> Option<Scanning> {
        let Self { hub, meter, scans, number, .. } = self;
        let over = scans.iter_mut().position(|scan| scan.go_on((hub, *number), meter) != Went::On);
        over.map(|n| scans.remove(n))
    }

    fn flush(&mut self) -> Submitted<'static> {
        let wanted = self.hub.wanted_flush();
        match self.hub.poll_flush(self.number, wanted) {
            Some(outcome) => Submitted::Done(flushed(&outcome)),
            None => {
                let slot = self.slot();
                self.flush = Some((wanted, slot));
                Submitted::Pending(Ticket { slot, operations: 1 })
            }
        }
    }

    fn slot(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        })
    }

    /// A slot that is free again, of a ticket that has ended.
    fn release(&mut self, slot: u32) -> Ticket {
        self.free.push(slot);
        Ticket { slot, operations: 1 }
    }

    /// Whether a call was answered, and how; its value is in `data`, and goes to the cache.
    fn answer(&mut self, n: usize) -> Option<Answered> {
        let Self { hub, meter, data, reads, calls, number, .. } = self;
        let call = &calls[n];
        let answer = hub.take_call(*number, call.id, |reply| {
            data.clear();
            data.extend_from_slice(&reply.data);
            (reply.status, reply.data.len() == reply.dw0 as usize)
        })?;
        let Ok((status, is_whole)) = answer else { return Some(Answered::Lost) };
        reads.commands += u64::from(call.reads);
        if call.reads && status.is_success() && is_whole {
            let is_entered = hub.fill(&call.key, data, call.version, meter);
            reads.unfilled += u64::from(!is_entered && self.has_cache);
        }
        Some(if call.reads && status.is_success() { Answered::Value } else { Answered::Status(status) })
    }
}

/// How a call was answered.
enum Answered {
    Value,
    Status(Status),
    Lost,
}

fn refused_key(key: &[u8]) -> Submitted<'static> {
    Submitted::Refused(Refusal::KeyLength(key.len()))
}

fn not_taken(why: &NotNow) -> Submitted<'static> {
    match why {
        NotNow::Busy | NotNow::Changed => Submitted::Stalled(Stall::until_completion(StallCause::Buffers)),
        NotNow::Broken(_) => Submitted::Refused(Refusal::Broken("the session cannot be used any more")),
    }
}

fn flushed(outcome: &Result<(), HostError>) -> Outcome<'static> {
    match outcome {
        Ok(()) => Outcome::DONE,
        Err(_) => Outcome::Failed(Failure::Other("the Flush failed")),
    }
}

impl Lane for SessionLane {
    type Error = HostError;

    fn submit(&mut self, share: Share<'_>, _: Instant) -> Submitted<'_> {
        match share.first() {
            Some(Op::Put(key, value)) => self.write(key, Some(value)),
            Some(Op::Delete(key)) => self.write(key, None),
            Some(Op::Get(key)) => self.get(key),
            Some(Op::Exists(key)) => self.exists(key),
            Some(Op::Flush) if self.flush.is_none() => self.flush(),
            Some(Op::Flush) => Submitted::Stalled(Stall::until_completion(StallCause::Queue)),
            Some(Op::Scan { from, entries, snapshot: None }) if self.takes_scans => self.scan(from, *entries),
            Some(other) => Submitted::Refused(Refusal::Unsupported(other.name())),
            None => Submitted::Refused(Refusal::Unsupported("nothing")),
        }
    }

    /// Takes what has completed, and sends what there is room for now.
    fn look(&mut self, _: Instant) -> bool {
        self.looked_at = 0;
        if self.flush.is_some() {
            self.hub.advance(self.number, &mut self.meter);
            return true;
        }
        let before = self.hub.stats(self.number).completions;
        self.hub.advance_quietly(self.number, &mut self.meter);
        let after = self.hub.stats(self.number);
        let waits = self.scans.iter().any(Scanning::waits_for_room);
        after.completions != before || after.commands != self.before.commands || waits
    }

    fn poll<R>(
        &mut self,
        _: Instant,
        visit: impl FnOnce(Completed<'_>) -> R,
    ) -> Result<Option<R>, HostError> {
        let lane = self.number;
        if let Some((wanted, slot)) = self.flush
            && let Some(outcome) = self.hub.poll_flush(lane, wanted)
        {
            self.flush = None;
            let ticket = self.release(slot);
            return Ok(Some(visit(Completed { lane, ticket, outcome: flushed(&outcome) })));
        }
        while self.looked_at < self.calls.len() {
            let Some(answered) = self.answer(self.looked_at) else {
                self.looked_at += 1;
                continue;
            };
            let call = self.calls.remove(self.looked_at);
            let ticket = self.release(call.slot);
            let outcome = match answered {
                Answered::Value => Outcome::value(&self.data),
                Answered::Status(status) if status.is_success() => Outcome::DONE,
                Answered::Status(status) if status.is(Status::KEY_DOES_NOT_EXIST) => Outcome::Absent,
                Answered::Status(status) => Outcome::Failed(Failure::Status(status)),
                Answered::Lost => Outcome::Failed(Failure::Other("the answer is lost")),
            };
            return Ok(Some(visit(Completed { lane, ticket, outcome })));
        }
        let Some(scan) = self.take_scan() else { return Ok(None) };
        let ticket = self.release(scan.slot());
        Ok(Some(visit(Completed { lane, ticket, outcome: scan.outcome() })))
    }

    fn ring(&mut self) {
        self.hub.ring(self.number);
    }

    fn work(&mut self) -> Work {
        let now = self.hub.stats(self.number);
        let before = std::mem::replace(&mut self.before, now);
        let commands = now.commands - before.commands;
        Work {
            cpu: self.meter.0.borrow_mut().take(),
            commands,
            pages: (now.bytes - before.bytes).div_ceil(PAGE_BYTES as u64),
            mmio_stores: 0,
            completions: now.completions - before.completions,
            rings: commands > 0,
        }
    }

    fn in_flight(&self) -> usize {
        self.calls.len() + self.scans.len() + usize::from(self.flush.is_some())
    }

    /// Writes wait in containers, for which the queue has room or not.
    fn counts(&self, operation: &Op) -> bool {
        !matches!(operation, Op::Put(..) | Op::Delete(_))
    }

    fn drain(&mut self, _: Instant) -> Result<Drain, HostError> {
        let Some(sync) = &self.sync else {
            self.sync = Some(self.hub.begin_sync(self.number));
            return Ok(Drain::Began);
        };
        if self.calls.is_empty() && self.scans.is_empty() && sync.is_done() {
            let failed = sync.take_failures().len() as u64;
            self.sync = None;
            return Ok(Drain::Synced { failed });
        }
        if self.hub.is_idle(self.number) {
            // It waits behind what others have not sent.
            self.hub.push_out_all(&mut self.meter);
            return Ok(Drain::Announced);
        }
        Ok(Drain::Waiting)
    }
}
