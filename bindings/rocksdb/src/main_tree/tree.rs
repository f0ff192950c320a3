// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The main tree over a database whose calls wait. None waits for the end of a stop: RocksDB is asked with `no_slowdown`, and a write
//! that has no other place is tried again.

use saker_engine::write_gate::{Stalls, WriteGate};
use saker_engine::{KvError, WriteCondition, WriteStallCause};
use saker_host::host_kv::{Answer, Begun, Op, Outcome, Ticket, Work};
use saker_host::{Connection, Driver, HostError};
use saker_hybrid::main_tree::{Limits, Load, Made, MainTree};
use saker_hybrid::record::Stamp;
use saker_sim::{Duration, Instant};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How long what RocksDB said of its condition counts: the question takes its lock, and a rollback asks in every turn. No write goes by it.
const CONDITION_LASTS: Duration = Duration::from_nanos(100_000);
/// The same of its room: a quarter of the files is left free, which nothing fills meanwhile.
const ROOM_LASTS: Duration = Duration::from_nanos(10_000_000);
/// Longest value, as of the device's own engines.
const VALUE_BYTES_MAX: u32 = 2 << 20;
/// Longest payload of a batch.
const BATCH_BYTES_MAX: u32 = 2 << 20;

/// A key, and its value; without one it is deleted.
pub type Write<'a> = (&'a [u8], Option<&'a [u8]>);

/// Whether RocksDB holds writes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// It does not.
    No,
    /// They go on at so many bytes a second.
    Delayed(u64),
    /// They wait.
    Stopped,
}

/// What is asked of RocksDB. Calls wait for files.
pub trait Rocks: Send {
    /// The value of a key.
    ///
    /// # Errors
    /// RocksDB's; so are those of all below.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, KvError>;
    /// Whether there is a key.
    fn has(&self, key: &[u8]) -> Result<bool, KvError>;
    /// Writes, all or none of which take place. False: RocksDB holds them back, they were not to wait, and none has taken place.
    fn write(&mut self, writes: &[Write<'_>], waits: bool) -> Result<bool, KvError>;
    /// So many pairs in the order of keys, or backwards, from a key on; an empty one: from the first, or the last. `None`: there is no such
    /// snapshot.
    fn pairs(
        &self,
        from: &[u8],
        backwards: bool,
        entries: u32,
        snapshot: Option<u32>,
    ) -> Result<Option<Vec<u8>>, KvError>;
    /// A view of all pairs.
    fn snapshot(&mut self) -> Result<u32, KvError>;
    /// One is not needed any more. False: there is none.
    fn release(&mut self, number: u32) -> bool;
    /// What was written survives a power cut when this returns.
    fn sync(&self) -> Result<(), KvError>;
    /// All pairs go, or none.
    fn empty(&mut self) -> Result<(), KvError>;
    /// Whether there is room for puts, and for deletes.
    fn room(&mut self) -> (bool, bool);
    /// Whether it holds writes back.
    fn hold(&self) -> Hold;
    /// Whether it has said that it holds none back, since it last did. False: it has to be asked.
    fn is_known_to_go_on(&self) -> bool;
    /// What the detector looks at.
    fn load(&self) -> Load;
    /// What it was opened with, and the tables of level 0 that stop writes.
    fn limits(&self) -> (Limits, u64);
    /// Bytes that live, and that may.
    fn fill_bytes(&self) -> (u64, u64);
    /// Counters by name.
    fn counters(&self) -> Vec<(&'static str, u64)>;
}

/// Whether a write deletes. The store puts a tombstone where the device may have a copy.
fn makes_room((_, value): &Write<'_>) -> bool {
    value.is_none_or(|record| Stamp::split(record).is_some_and(|(stamp, _)| stamp.is_tombstone))
}

/// A write that waits for the end of a stop.
#[derive(Debug)]
struct Waiting {
    ticket: Ticket,
    op: Op,
    /// In which period without writes it was counted.
    counted: u32,
}

/// The main tree.
pub struct RocksTree {
    db: Box<dyn Rocks>,
    now: Option<Instant>,
    /// What RocksDB said of writes, and when.
    seen: Cell<Option<(Instant, WriteCondition)>>,
    room: Option<(Instant, (bool, bool))>,
    waiting: VecDeque<Waiting>,
    next_ticket: u64,
    gate: WriteGate<Ticket>,
    /// While this is set writes that have another place count as stopped.
    stops: Option<Arc<AtomicBool>>,
}

impl RocksTree {
    /// Over a database that is open.
    pub fn new(db: Box<dyn Rocks>) -> Self {
        Self {
            db,
            now: None,
            seen: Cell::new(None),
            room: None,
            waiting: VecDeque::new(),
            next_ticket: 0,
            gate: WriteGate::default(),
            stops: None,
        }
    }

    /// Writes that have another place count as stopped while that is set, besides RocksDB's own stops: a stop whenever a test wants one.
    #[must_use]
    pub fn with_stops(self, stops: Arc<AtomicBool>) -> Self {
        Self { stops: Some(stops), ..self }
    }

    fn is_told_to_stop(&self) -> bool {
        self.stops.as_ref().is_some_and(|stops| stops.load(Ordering::Relaxed))
    }

    /// What RocksDB says now.
    fn condition(&self) -> WriteCondition {
        match self.db.hold() {
            Hold::No => WriteCondition::Normal,
            Hold::Delayed(rate) => WriteCondition::Delayed { cause: self.cause(), rate, delay: 0 },
            Hold::Stopped => WriteCondition::Stopped { cause: self.cause() },
        }
    }

    /// Why, as its numbers say: what it says itself are that it does, and how.
    fn cause(&self) -> WriteStallCause {
        let (load, (limits, level0)) = (self.db.load(), self.db.limits());
        if load.level0 >= level0 {
            WriteStallCause::L0FileCountLimit
        } else if load.pending_bytes >= limits.pending_bytes {
            WriteStallCause::PendingCompactionBytes
        } else {
            WriteStallCause::MemtableLimit
        }
    }

    fn look(&self) -> WriteCondition {
        let condition = self.condition();
        self.seen.set(self.now.map(|now| (now, condition)));
        condition
    }

    /// Whether there is room for puts, and for deletes.
    fn room(&mut self) -> (bool, bool) {
        let is_new = |at: Instant| self.now.is_some_and(|now| now.since(at) < ROOM_LASTS);
        match self.room {
            Some((at, room)) if is_new(at) => room,
            _ => {
                let room = self.db.room();
                self.room = self.now.map(|now| (now, room));
                room
            }
        }
    }

    /// What it said by itself or a moment ago, or says now.
    fn lately(&self) -> WriteCondition {
        // What its listener says of stops may be old: two of its threads may tell in the wrong order, and then nobody would tell again.
        if self.db.is_known_to_go_on() {
            return WriteCondition::Normal;
        }
        match (self.seen.get(), self.now) {
            (Some((at, condition)), Some(now)) if now.since(at) < CONDITION_LASTS => condition,
            _ => self.look(),
        }
    }

    /// Carries an operation out. `None`: writes are stopped.
    fn run(&mut self, op: &Op) -> Option<Outcome> {
        match op {
            Op::Put(key, value) => self.write(&[(key, Some(value))]),
            Op::Delete(key) => match self.db.has(key) {
                Ok(true) => self.write(&[(key, None)]),
                Ok(false) => Some(Err(KvError::NotFound)),
                Err(why) => Some(Err(why)),
            },
            Op::Batch(batch) => {
                let writes: Vec<Write<'_>> = batch.writes().iter().collect();
                self.write(&writes)
            }
            other => Some(self.ask(other)),
        }
    }

    fn write(&mut self, writes: &[Write<'_>]) -> Option<Outcome> {
        if writes.iter().any(|(_, value)| value.is_some_and(|value| value.len() > VALUE_BYTES_MAX as usize)) {
            return Some(Err(KvError::ValueSize));
        }
        let (puts_fit, deletes_fit) = self.room();
        let has_room = if writes.iter().all(makes_room) { deletes_fit } else { puts_fit };
        if !has_room {
            // Others may have made room.
            self.room = None;
            return Some(Err(KvError::CapacityExceeded));
        }
        let written = match self.db.write(writes, false) {
            Ok(false) if self.look().is_stopped() => return None,
            // Delayed ones wait for their turn in RocksDB, and so does one that finds the stop over.
            Ok(false) => self.db.write(writes, true),
            other => other,
        };
        Some(written.map(|_| Answer::Done))
    }

    /// What writes nothing.
    fn ask(&mut self, op: &Op) -> Outcome {
        match op {
            Op::Get(key) => self.db.get(key)?.map(Answer::Value).ok_or(KvError::NotFound),
            Op::Exists(key) => self.db.has(key)?.then_some(Answer::Done).ok_or(KvError::NotFound),
            Op::Scan { from, backwards, entries, snapshot } => {
                let found = self.db.pairs(from, *backwards, *entries, *snapshot)?;
                Ok(found.map_or(Answer::NoSnapshot, Answer::Pairs))
            }
            Op::Snapshot => self.db.snapshot().map(Answer::Snapshot),
            Op::Release(number) => {
                Ok(if self.db.release(*number) { Answer::Done } else { Answer::NoSnapshot })
            }
            _ => self.db.sync().map(|()| Answer::Done),
        }
    }

    fn park(&mut self, op: Op) -> Ticket {
        self.next_ticket += 1;
        let mut waiting = Waiting { ticket: Ticket(self.next_ticket), op, counted: 0 };
        if let Some(now) = self.now {
            self.gate.refused(self.lately(), now, &mut waiting.counted);
        }
        let ticket = waiting.ticket;
        self.waiting.push_back(waiting);
        ticket
    }
}

impl MainTree for RocksTree {
    fn set_now(&mut self, now: Instant) {
        self.now = Some(now);
    }

    fn submit(&mut self, op: Op, _: Work<'_>) -> Result<Outcome, Ticket> {
        self.run(&op).ok_or_else(|| self.park(op))
    }

    fn submit_unless_stopped(&mut self, op: Op, _: Work<'_>) -> Begun {
        let is_write = matches!(op, Op::Put(..) | Op::Delete(_) | Op::Batch(_));
        if is_write && self.is_told_to_stop() {
            return Begun::Stopped(op);
        }
        self.run(&op).map_or_else(|| Begun::Stopped(op), Begun::Ended)
    }

    fn advance(&mut self, _: Work<'_>, done: &mut dyn FnMut(Ticket, Outcome)) -> bool {
        // As long as the condition is known to be so nobody is asked.
        if self.waiting.is_empty() || self.lately().is_stopped() {
            return false;
        }
        let mut any = false;
        for _ in 0..self.waiting.len() {
            let Some(waiting) = self.waiting.pop_front() else { break };
            match self.run(&waiting.op) {
                Some(outcome) => {
                    any = true;
                    if let Some(now) = self.now {
                        self.gate.admitted(self.lately(), now);
                    }
                    done(waiting.ticket, outcome);
                }
                None => self.waiting.push_back(waiting),
            }
        }
        any
    }

    fn next_turn(&self) -> Option<Instant> {
        self.now.filter(|_| !self.waiting.is_empty()).map(|now| now + CONDITION_LASTS)
    }

    fn write_condition(&self) -> WriteCondition {
        if self.is_told_to_stop() {
            return WriteCondition::Stopped { cause: WriteStallCause::L0FileCountLimit };
        }
        self.lately()
    }

    fn load(&self) -> Load {
        self.db.load()
    }

    fn limits(&self) -> Limits {
        self.db.limits().0
    }

    fn value_bytes_max(&self) -> u32 {
        VALUE_BYTES_MAX
    }

    fn batch_bytes_max(&self) -> u32 {
        BATCH_BYTES_MAX
    }

    fn fill_bytes(&self) -> (u64, u64) {
        self.db.fill_bytes()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.db.counters()
    }

    fn stalls(&self) -> Stalls {
        self.gate.stalls(self.now.unwrap_or(Instant::ZERO))
    }

    /// The files stay: all pairs go by one write, which is synced.
    fn empty(&mut self, _: &Made, _: &mut Connection, _: &mut dyn Driver) -> Result<(), HostError> {
        self.db.empty().map_err(|_| HostError::from(saker_host::ProtocolError::Format))?;
        (self.seen, self.room) = (Cell::new(None), None);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
