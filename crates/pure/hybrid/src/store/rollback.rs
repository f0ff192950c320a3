// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Copies go back to the main tree, and the device's tree is emptied: the rollback manager.
//!
//! A pass reads all records of the device in large buffers, each by an iterator of its own: what an iterator sees the device cannot give back,
//! and a pass takes long where the main tree is busy. A record goes back if it is the one that counts for its key; it keeps its stamp. Writers
//! are not asked: one that writes a key meanwhile makes the copy superseded, and a redirected one makes another pass necessary. When no copy
//! counts any more the main tree is flushed; if that is still so then, and nobody reads in the device, one command empties its tree. Main
//! tombstones are deleted afterwards.

mod buffer;

use crate::main_tree::MainTree;
use crate::metadata::State;
use crate::options::{Detector, Objective, Rollback};
use crate::planted::{self, Fault};
use crate::record::Stamp;
use crate::store::flight::Flight;
use crate::store::stats::mean;
use crate::store::write::InMain;
use crate::store::{Hybrid, again};
use saker_engine::{KvError, WriteCondition};
use saker_host::host_kv::{Answer, Begun, Op, Outcome, Work};
use saker_nvme::Key;
use saker_sim::{Duration, Instant};
use std::collections::VecDeque;

/// How far it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    /// The iterator of a buffer is being opened, the device is flushed, or the buffer is read.
    Reading,
    /// Records go back.
    Moving,
    /// The main tree is being flushed.
    Flushing,
    /// Nobody is to read in the device.
    Waiting,
    Emptying,
}

/// What it remembers.
#[derive(Debug, Default)]
pub(crate) struct Returning {
    phase: Phase,
    /// `None`: it is being opened.
    iterator: Option<u32>,
    /// What it sees survives a cut.
    is_durable: bool,
    /// Where the pass goes on; `None`: all records have come.
    from: Option<Vec<u8>>,
    buffer_bytes: u32,
    records: VecDeque<(Key, Vec<u8>)>,
    /// Copies on their way into the main tree.
    moving: u32,
    /// When the pass began, when copies first began to go back, and when emptying did.
    pass_began: Option<Instant>,
    began: Option<Instant>,
    emptying_began: Option<Instant>,
    pass_moved: u64,
    /// Not before, after something has failed.
    not_before: Option<Instant>,
    pub last_write: Option<Instant>,
    /// Iterators to be closed when the queue has room.
    pub to_close: Vec<u32>,
    last_step: Option<Instant>,
}

/// Copies that a step moves at most, and tombstones that it deletes.
const PER_STEP: u32 = 128;
/// How often the end of an emptying is looked for: no completion of an I/O queue tells it.
const EMPTYING_LOOK: Duration = Duration::from_nanos(20_000);
/// A record of the device takes as much buffer beside its key and value.
const BUFFER_LEAST: u32 = 4096;

impl Returning {
    /// Whether no copy is on its way back.
    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// Whether the device's tree is not about to be emptied.
    pub fn lets_sweep(&self) -> bool {
        !matches!(self.phase, Phase::Flushing | Phase::Waiting | Phase::Emptying)
    }

    /// Whether nothing of it is on its way: it has not begun, or waits for readers.
    pub fn is_resting(&self) -> bool {
        matches!(self.phase, Phase::Idle | Phase::Waiting)
    }

    /// Whether copies are on their way back, or the device's tree is being emptied. Who only waits for readers in the device keeps no
    /// writer from anything: those readers may be waiting for the writer.
    pub fn is_under_way(&self) -> bool {
        !matches!(self.phase, Phase::Idle | Phase::Waiting)
    }

    /// Whether the device's tree is being emptied.
    pub fn is_emptying(&self) -> bool {
        self.phase == Phase::Emptying
    }
}

impl<M: MainTree> Hybrid<M> {
    /// Goes on. True if something has changed for others.
    pub(crate) fn step_rollback(&mut self, w: &mut Work<'_>) -> bool {
        self.returning.last_step = self.now;
        while let Some(iterator) = self.returning.to_close.pop() {
            let before = self.returning.to_close.len();
            self.close_later(iterator);
            if self.returning.to_close.len() > before {
                break;
            }
        }
        let has_purged = self.purge(w);
        let has_gone_on = match self.returning.phase {
            Phase::Idle => self.begin_rollback(),
            Phase::Moving => self.go_on_moving(w),
            Phase::Flushing | Phase::Reading => false,
            Phase::Waiting => self.empty_if_quiet(),
            Phase::Emptying => self.look_for_empty(),
        };
        has_purged || has_gone_on
    }

    /// When it has to be looked at though nothing completes.
    pub(crate) fn rollback_due(&self) -> Option<Instant> {
        let now = self.now?;
        if self.sweeping.is_looking() {
            return Some(now);
        }
        // What the published detector said lasts until it looks again, whether anything happens or not.
        let is_told = self.options.detector == Detector::Published && self.detecting.redirects;
        let has_work = self.metadata.keys() > 0 || !self.tombs.is_empty();
        if is_told && has_work && matches!(self.returning.phase, Phase::Idle | Phase::Moving) {
            return Some(self.next_look().max(now));
        }
        match self.returning.phase {
            Phase::Emptying => Some(self.returning.last_step.map_or(now, |last| last + EMPTYING_LOOK)),
            Phase::Idle if self.metadata.keys() > 0 && self.lines.is_empty() => {
                let idle = self.returning.last_write.map_or(now, |last| last + self.options.idle);
                let due = idle.max(self.returning.not_before.unwrap_or(now));
                // What is due and was looked at waits for the main tree.
                Some(due).filter(|due| *due > now || self.returning.last_step.is_none_or(|last| last < *due))
            }
            _ => None,
        }
    }

    fn begin_rollback(&mut self) -> bool {
        let is_quiet = self.metadata.keys() > 0 && self.lines.is_empty();
        if is_quiet && self.options.rollback != Rollback::Lazy && !self.has_room() {
            // Background work may have ended with the last event.
            self.look();
        }
        if !self.is_time_to_return() {
            let has_copies = self.metadata.keys() > 0;
            let is_stalled = has_copies && self.main_is_busy();
            self.stats.kept_by_stalls += u64::from(is_stalled);
            self.stats.kept_by_level0 += u64::from(has_copies && !is_stalled && !self.has_room());
            return false;
        }
        if self.metadata.current_keys() == 0 {
            self.note_began();
            return self.flush_main();
        }
        if !self.open_buffer(vec![0]) {
            return false;
        }
        self.note_began();
        (self.returning.pass_began, self.returning.pass_moved) = (self.now, 0);
        (self.costs.pass_reads, self.costs.before_pass) = (0, self.costs.main_read);
        true
    }

    fn note_began(&mut self) {
        if self.returning.began.is_none() {
            self.returning.began = self.now;
            self.stats.rollbacks += 1;
        }
    }

    /// The policy.
    fn is_time_to_return(&self) -> bool {
        let is_late = |at: Option<Instant>| at.is_none_or(|at| self.now.is_none_or(|now| now >= at));
        if self.metadata.keys() == 0 || !is_late(self.returning.not_before) {
            return false;
        }
        // Nothing goes back, so the main tree needs no room.
        if self.detecting.device_is_full && self.metadata.current_keys() == 0 {
            return true;
        }
        if self.main_is_busy() {
            return false;
        }
        let is_idle =
            self.lines.is_empty() && is_late(self.returning.last_write.map(|last| last + self.options.idle));
        let has_room = self.has_room();
        match self.options.rollback {
            // Full, it is of no use to writers.
            _ if self.detecting.device_is_full && has_room => true,
            Rollback::Eager => has_room,
            Rollback::Lazy => is_idle,
            Rollback::Adaptive if planted::is(Fault::AlwaysPays) => true,
            Rollback::Adaptive => is_idle || has_room && self.pays(),
        }
    }

    /// Whether level 0 of the main tree is short enough for copies.
    fn has_room(&self) -> bool {
        self.level0() <= u64::from(self.options.rollback_level0)
    }

    /// Whether reads have lost what going back will take (ski rental: then neither waiting nor going back at once would have cost less than
    /// half of what it comes to).
    fn pays(&self) -> bool {
        match self.options.objective {
            Objective::Writes => false,
            Objective::Reads => self.have_lost(self.costs.moving_reads),
            Objective::Weighted => self.have_lost(self.costs.moving),
        }
    }

    /// Whether reads have lost the price of all copies. Nothing is known before the first copies have gone back: a read in the device is
    /// about what its write costs here.
    fn have_lost(&self, price: u64) -> bool {
        let each = if self.costs.moving == 0 { self.costs.device_read } else { price };
        self.costs.lost > 0 && self.costs.lost >= each.saturating_mul(self.metadata.current_keys())
    }

    /// A read that ended while copies go back may have lost time by that.
    pub(crate) fn note_read_in_pass(&mut self, took: u64) {
        if self.returning.phase != Phase::Idle {
            self.costs.pass_reads += took.saturating_sub(self.costs.before_pass);
        }
    }

    /// Whether the main tree has no room for copies now.
    fn main_is_busy(&self) -> bool {
        self.main.write_condition() != WriteCondition::Normal
            || self.options.detector == Detector::Published && self.detecting.redirects
    }

    /// It is tried again later.
    fn put_off(&mut self) {
        self.returning.phase = Phase::Idle;
        self.returning.not_before = self.now.map(|now| now + self.options.idle);
    }

    fn go_on_moving(&mut self, w: &mut Work<'_>) -> bool {
        let mut any = false;
        for _ in 0..PER_STEP {
            if self.returning.moving > 0 || self.main_is_busy() {
                return any;
            }
            let Some((key, record)) = self.returning.records.pop_front() else { break };
            any = true;
            if !self.move_back(key, record, w) {
                return any;
            }
        }
        if !self.returning.records.is_empty() {
            // The rest has its turn when others have had theirs.
            return any;
        }
        match self.returning.from.clone() {
            Some(from) => any | self.open_buffer(from),
            None => {
                self.end_pass();
                true
            }
        }
    }

    /// A record goes back, if it counts. False: not now.
    fn move_back(&mut self, key: Key, record: Vec<u8>, w: &mut Work<'_>) -> bool {
        let Some((stamp, _)) = Stamp::split(&record) else { return true };
        let copy = self.metadata.current(&key).copied();
        if copy.is_none_or(|copy| copy.sequence != stamp.sequence) && !planted::is(Fault::StaleCopy) {
            self.stats.stale += 1;
            return true;
        }
        if self.lines.holds(&key) {
            // A write of it is on its way. What that leaves is seen in the next pass.
            return true;
        }
        let id = self.take_number();
        self.lines.join(id, &[key]);
        match self.main.submit_unless_stopped(Op::Put(key.as_bytes().to_vec(), record), again(w)) {
            Begun::Ended(outcome) => {
                self.returning.moving += 1;
                self.moved(id, key, outcome, w);
                true
            }
            Begun::Parked(ticket) => {
                self.returning.moving += 1;
                self.waits_for(ticket, id);
                self.flights.insert(id, Flight::Move(key));
                false
            }
            Begun::Stopped(op) => {
                self.leave_lines(id, &[key], w);
                if let Op::Put(_, record) = op {
                    self.returning.records.push_front((key, record));
                }
                false
            }
        }
    }

    pub(crate) fn moved(&mut self, id: u64, key: Key, outcome: Outcome, w: &mut Work<'_>) {
        self.returning.moving -= 1;
        if outcome == Ok(Answer::Stopped) {
            // It still counts. The next pass finds it.
        } else if outcome.is_ok() {
            let is_tombstone = self.metadata.get(&key).is_some_and(|copy| copy.state == State::Tombstone);
            self.note_in_main(&key, if is_tombstone { InMain::Tombstone } else { InMain::Pair });
            self.stats.moved += 1;
            self.returning.pass_moved += 1;
        } else {
            // The main tree is full: the pass ends, and there is another one later.
            self.returning.records.clear();
            self.returning.from = None;
            self.returning.not_before = self.now.map(|now| now + self.options.idle);
        }
        self.leave_lines(id, &[key], w);
    }

    fn end_pass(&mut self) {
        let took = self.since(self.returning.pass_began).as_nanos();
        if let Some(each) = took.checked_div(self.returning.pass_moved) {
            self.costs.moving = mean(self.costs.moving, each);
            self.costs.moving_reads =
                mean(self.costs.moving_reads, self.costs.pass_reads / self.returning.pass_moved);
        }
        self.returning.phase = Phase::Idle;
        if self.metadata.current_keys() == 0 {
            self.flush_main();
        } else if self.options.blocks_writers {
            // Writers that wait hold the lines of keys whose copies could not go back: they have their turn first.
            self.returning.not_before = self.now.map(|now| now + self.options.poll);
        }
    }

    fn flush_main(&mut self) -> bool {
        if planted::is(Fault::EmptiedEarly) {
            self.returning.phase = Phase::Waiting;
            return true;
        }
        let id = self.take_number();
        self.returning.phase = Phase::Flushing;
        match self.ask_main(id, Op::Flush, &mut Work::Free) {
            Some(outcome) => self.main_flushed(outcome),
            None => _ = self.flights.insert(id, Flight::Rollback),
        }
        true
    }

    /// Everything that made copies superseded before survives a cut now.
    pub(crate) fn main_flushed(&mut self, outcome: Outcome) {
        match outcome {
            Ok(_) if self.metadata.current_keys() == 0 => self.returning.phase = Phase::Waiting,
            Ok(_) => self.returning.phase = Phase::Idle,
            Err(_) => self.put_off(),
        }
    }

    fn empty_if_quiet(&mut self) -> bool {
        if self.metadata.current_keys() > 0 {
            self.returning.phase = Phase::Idle;
            return true;
        }
        let is_quiet = self.device.in_flight() == 0 && self.device_writes == 0;
        if !is_quiet
            || self.views.in_device > 0
            || self.views.opening > 0
            || !self.returning.to_close.is_empty()
            || !self.sweeping.is_idle()
        {
            return false;
        }
        if self.device.begin_emptying().is_err() {
            self.put_off();
            return false;
        }
        (self.returning.phase, self.returning.emptying_began) = (Phase::Emptying, self.now);
        true
    }

    fn look_for_empty(&mut self) -> bool {
        let Some(ended) = self.device.poll_emptying() else { return false };
        self.stats.emptying_time += self.since(self.returning.emptying_began);
        if ended.is_err() {
            self.put_off();
            return true;
        }
        self.metadata.clear();
        (self.detecting.device_is_full, self.costs.lost) = (false, 0);
        self.stats.emptied += 1;
        self.stats.rollback_time += self.since(self.returning.began);
        self.returning = Returning { last_write: self.returning.last_write, ..Returning::default() };
        true
    }

    /// Tombstones are of no use when the device has no copy.
    fn purge(&mut self, w: &mut Work<'_>) -> bool {
        if self.tombs.is_empty() || self.metadata.keys() > 0 || self.main_is_busy() {
            return false;
        }
        let before = self.tombs.len();
        let is_useless = |key: &&Key| !self.lines.holds(key);
        let keys: Vec<Key> = self.tombs.iter().filter(is_useless).take(PER_STEP as usize).copied().collect();
        for key in keys {
            let id = self.take_number();
            self.lines.join(id, &[key]);
            match self.main.submit_unless_stopped(Op::Delete(key.as_bytes().to_vec()), again(w)) {
                Begun::Ended(outcome) => self.purged(id, key, &outcome, w),
                Begun::Parked(ticket) => {
                    self.waits_for(ticket, id);
                    self.flights.insert(id, Flight::Purge(key));
                }
                Begun::Stopped(_) => {
                    self.leave_lines(id, &[key], w);
                    break;
                }
            }
        }
        self.tombs.len() < before
    }

    pub(crate) fn purged(&mut self, id: u64, key: Key, outcome: &Outcome, w: &mut Work<'_>) {
        if matches!(outcome, Ok(Answer::Done) | Err(KvError::NotFound)) {
            self.tombs.remove(&key);
            self.stats.purged += 1;
        }
        self.leave_lines(id, &[key], w);
    }
}
