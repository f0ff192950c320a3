// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Copies that do not count are deleted in the device while its tree is short of room: the sweep.
//!
//! The tree is emptied as a whole when no copy counts any more. Where writes go there all the time that does not come, and what does not count is
//! copied by its collections again and again. A sweep takes note of such copies, flushes the main tree, which has what replaced them,
//! deletes them one by one, and flushes the device. They are forgotten after that: as long as a cut can bring a copy back, a delete in the
//! main tree leaves a tombstone.

use crate::device::DeviceDone;
use crate::main_tree::MainTree;
use crate::metadata::State;
use crate::planted::{self, Fault};
use crate::store::Hybrid;
use crate::store::flight::Flight;
use saker_host::host_kv::{Op, Outcome, Work};
use saker_nvme::{Key, Status};
use std::collections::VecDeque;

/// How far it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    /// Copies that do not count are looked for.
    Looking,
    /// The main tree is being flushed.
    FlushingMain,
    Deleting,
    /// The device is to be flushed.
    Deleted,
    /// It is being flushed.
    FlushingDevice,
}

/// A copy that does not count: its key and the number of its write.
type Stale = (Key, u64);

/// What it remembers.
#[derive(Debug, Default)]
pub(crate) struct Sweeping {
    phase: Phase,
    /// Where the look goes on.
    from: Option<Key>,
    found: VecDeque<Stale>,
    /// Deletes on their way.
    on_their_way: u32,
    deleted: Vec<Stale>,
    /// Writes that have ended since the last one.
    writes: u64,
}

/// Copies that a sweep deletes at most: 400 kB of keys.
const COPIES_MAX: usize = 16 << 10;
/// Copies that a step looks at.
const LOOKS_PER_STEP: usize = 1024;
/// Deletes that are on their way at once: writers have the rest of the queue.
const DELETES_MAX: u32 = 8;
/// It begins when one in so many copies does not count.
const STALE_SHARE: u64 = 8;

impl Sweeping {
    /// Whether none is under way.
    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// Whether it goes on without anything else.
    pub fn is_looking(&self) -> bool {
        self.phase == Phase::Looking
    }

    pub fn note_write(&mut self) {
        self.writes += 1;
    }
}

impl<M: MainTree> Hybrid<M> {
    /// Goes on. True if something has changed for others.
    pub(crate) fn step_sweep(&mut self, w: &mut Work<'_>) -> bool {
        match self.sweeping.phase {
            Phase::Idle if self.is_time_to_sweep() => {
                self.sweeping.phase = Phase::Looking;
                self.stats.sweeps += 1;
                false
            }
            Phase::Looking => self.look_for_stale(w),
            Phase::Deleting => self.delete_stale(),
            Phase::Deleted => self.flush_swept(),
            Phase::Idle | Phase::FlushingMain | Phase::FlushingDevice => false,
        }
    }

    /// Copies fill so much of the device's tree, many do not count, and it is not about to be emptied. Between two sweeps writes end, so whoever
    /// waits for all to end does not wait for sweeps without end.
    fn is_time_to_sweep(&self) -> bool {
        let (all, capacity) = (self.metadata.record_bytes(), self.device.capacity_bytes());
        let stale = self.metadata.keys() - self.metadata.current_keys();
        let is_short = all.saturating_mul(100) >= capacity.saturating_mul(self.options.sweep_percent.into());
        stale > 0
            && self.metadata.current_keys() > 0
            && (is_short || self.detecting.device_is_full)
            && stale >= self.metadata.keys() / STALE_SHARE
            && self.sweeping.writes >= stale.min(COPIES_MAX as u64) / STALE_SHARE
            && self.returning.lets_sweep()
    }

    fn look_for_stale(&mut self, w: &mut Work<'_>) -> bool {
        let (from, mut last) = (self.sweeping.from.take(), None);
        let found = &mut self.sweeping.found;
        for (key, copy) in self.metadata.behind(from).take(LOOKS_PER_STEP) {
            last = Some(*key);
            if copy.state == State::Superseded {
                found.push_back((*key, copy.sequence));
            }
        }
        self.sweeping.from = last.filter(|_| found.len() < COPIES_MAX);
        if self.sweeping.from.is_some() {
            return false;
        }
        if planted::is(Fault::SweptEarly) {
            self.sweeping.phase = Phase::Deleting;
            return true;
        }
        let id = self.take_number();
        self.sweeping.phase = Phase::FlushingMain;
        match self.ask_main(id, Op::Flush, w) {
            Some(outcome) => self.main_flushed_for_sweep(&outcome),
            None => _ = self.flights.insert(id, Flight::Sweep(None)),
        }
        true
    }

    /// What replaced the copies that were found survives a cut now.
    pub(crate) fn main_flushed_for_sweep(&mut self, outcome: &Outcome) {
        match outcome {
            Ok(_) => self.sweeping.phase = Phase::Deleting,
            Err(_) => self.sweeping = Sweeping::default(),
        }
    }

    fn delete_stale(&mut self) -> bool {
        let mut any = false;
        while self.sweeping.on_their_way < DELETES_MAX {
            let Some((key, sequence)) = self.sweeping.found.pop_front() else { break };
            // A write of it is on its way, or has made another copy.
            if self.lines.holds(&key) || !self.metadata.is_stale(&key, sequence) {
                continue;
            }
            let id = self.take_number();
            if self.device.delete(id, &key).is_err() {
                self.sweeping.found.push_front((key, sequence));
                return any;
            }
            self.lines.join(id, &[key]);
            self.sweeping.on_their_way += 1;
            self.flights.insert(id, Flight::Sweep(Some((key, sequence))));
            any = true;
        }
        if self.sweeping.on_their_way == 0 && self.sweeping.found.is_empty() {
            self.sweeping.phase = Phase::Deleted;
            return true;
        }
        any
    }

    fn flush_swept(&mut self) -> bool {
        if self.sweeping.deleted.is_empty() || planted::is(Fault::ForgottenEarly) {
            self.forget_swept();
            return true;
        }
        let id = self.take_number();
        let is_sent = self.device.flush(id).is_ok();
        if is_sent {
            self.flights.insert(id, Flight::Sweep(None));
            self.sweeping.phase = Phase::FlushingDevice;
        }
        is_sent
    }

    /// A command of a sweep has ended in the device.
    pub(crate) fn swept(&mut self, id: u64, copy: Option<Stale>, done: &DeviceDone, w: &mut Work<'_>) {
        let Some((key, sequence)) = copy else {
            if !done.status.is_success() {
                // They are known as copies that do not count, whether they are there or not.
                self.sweeping.deleted.clear();
            }
            return self.forget_swept();
        };
        self.sweeping.on_their_way -= 1;
        if done.status.is_success() || done.status.is(Status::KEY_DOES_NOT_EXIST) {
            self.sweeping.deleted.push((key, sequence));
        }
        self.leave_lines(id, &[key], w);
    }

    /// No cut brings them back. If no copy counts they stay known: the tree is to be emptied as a whole.
    fn forget_swept(&mut self) {
        if self.metadata.current_keys() == 0 {
            self.sweeping.deleted.clear();
        }
        for (key, sequence) in std::mem::take(&mut self.sweeping.deleted) {
            if self.metadata.is_stale(&key, sequence) {
                self.metadata.remove(&key);
                self.stats.swept += 1;
                // It may have room again.
                self.detecting.device_is_full = false;
            }
        }
        self.sweeping = Sweeping::default();
    }

    /// The device has no copy of a key that was asked for there. Whether it counted no more and was swept, so that the newest record is elsewhere.
    pub(crate) fn was_swept(&self, key: &Key, sequence: u64) -> bool {
        let is_other = self.metadata.current(key).is_none_or(|copy| copy.sequence != sequence);
        is_other && !planted::is(Fault::SweptIsMissing)
    }
}
