// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Puts, deletes and batches.

use crate::device::DeviceDone;
use crate::main_tree::MainTree;
use crate::metadata::{DeviceCopy, State};
use crate::planted::{self, Fault};
use crate::record::{EPOCH_KEY, STAMP_BYTES, Stamp};
use crate::store::flight::Flight;
use crate::store::route::Route;
use crate::store::stats::WriteTime;
use crate::store::{Hybrid, again, charge, failure};
use saker_engine::KvError;
use saker_host::WriteBatch;
use saker_host::host_kv::{Answer, Batch, Begun, Op, Outcome, Work};
use saker_nvme::group::PairList;
use saker_nvme::{Key, Status};
use saker_sim::{Instant, Unit};

/// Where a write is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// In the lines of its keys.
    Line,
    /// To be sent.
    Host,
    /// To be sent later.
    Held,
    /// The main tree is asked whether there is what it deletes.
    Asking,
    /// In the main tree.
    Main,
    /// In the device's tree.
    Device,
}

/// A write on its way.
#[derive(Debug)]
pub(crate) struct Writing {
    op: Op,
    pub keys: Vec<Key>,
    at: At,
    /// It deletes what is known to be there.
    is_there: bool,
    /// What it has written, for the metadata: the stamp and the record's bytes by key.
    written: Vec<(Stamp, u32)>,
    /// It is a delete that the main tree carries out without a record.
    is_plain: bool,
    /// It could not be sent at once.
    was_held: bool,
    /// It is too long for the device's tree.
    is_too_long: bool,
    /// Since when it is where it is, and how long it was where.
    entered: Option<Instant>,
    spent: WriteTime,
}

impl Writing {
    /// It is somewhere else from now on.
    fn enter(&mut self, now: Option<Instant>, at: At) {
        if let (Some(now), Some(entered)) = (now, self.entered) {
            let place = match self.at {
                At::Line => &mut self.spent.in_line,
                At::Host => &mut self.spent.at_host,
                At::Held => &mut self.spent.held,
                At::Asking | At::Main => &mut self.spent.in_main,
                At::Device => &mut self.spent.in_device,
            };
            *place += now.since(entered);
        }
        (self.at, self.entered) = (at, now);
    }
}

/// What a tree's record of a key is after a write of the main tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InMain {
    Pair,
    Tombstone,
    Nothing,
}

/// Bytes of the longest value that it writes.
fn longest_value(op: &Op) -> usize {
    match op {
        Op::Put(_, value) => value.len(),
        Op::Batch(batch) => {
            batch.writes().iter().map(|(_, value)| value.map_or(0, <[u8]>::len)).max().unwrap_or(0)
        }
        _ => 0,
    }
}

/// Whether it makes room.
fn only_deletes(op: &Op) -> bool {
    match op {
        Op::Delete(_) => true,
        Op::Batch(batch) => batch.writes().iter().all(|(_, value)| value.is_none()),
        _ => false,
    }
}

impl<M: MainTree> Hybrid<M> {
    pub(crate) fn begin_write(&mut self, id: u64, op: Op, w: &mut Work<'_>) {
        let keys: Result<Vec<Key>, _> = match &op {
            Op::Put(key, _) | Op::Delete(key) => Key::new(key).map(|key| vec![key]),
            Op::Batch(batch) => batch.writes().iter().map(|(key, _)| Key::new(key)).collect(),
            _ => Ok(Vec::new()),
        };
        let Some(keys) = keys.ok().filter(|keys| keys.iter().all(|key| *key.padded() != EPOCH_KEY)) else {
            return self.end(id, Err(KvError::KeySize));
        };
        if longest_value(&op) > self.value_bytes_max() as usize {
            return self.end(id, Err(KvError::ValueSize));
        }
        self.returning.last_write = self.now;
        let is_first = self.lines.join(id, &keys);
        let writing = Writing {
            op,
            keys,
            at: At::Line,
            is_there: false,
            written: Vec::new(),
            is_plain: false,
            was_held: false,
            is_too_long: false,
            entered: self.now,
            spent: WriteTime::default(),
        };
        if is_first {
            self.go_on_writing(id, writing, w);
        } else {
            self.flights.insert(id, Flight::Write(writing));
        }
    }

    /// A write that has its turn.
    pub(crate) fn go_on_writing(&mut self, id: u64, mut writing: Writing, w: &mut Work<'_>) {
        if writing.at == At::Line {
            writing.enter(self.now, At::Host);
        }
        if let Op::Delete(_) = writing.op
            && !writing.is_there
        {
            match self.is_there(&mut writing) {
                Some(true) => writing.is_there = true,
                Some(false) => return self.finish_write(id, writing, Err(KvError::NotFound), w),
                None if writing.is_plain => {}
                None => return self.ask_before_delete(id, writing, w),
            }
        }
        self.send_write(id, writing, w);
    }

    /// Whether there is what a delete deletes, as far as that is known here. One that needs no record is plain: the main tree looks itself.
    fn is_there(&mut self, writing: &mut Writing) -> Option<bool> {
        writing.is_plain = false;
        let key = &writing.keys[0];
        match self.metadata.get(key).map(|copy| copy.state) {
            Some(State::Pair) => return Some(true),
            Some(State::Tombstone) => return Some(false),
            Some(State::Superseded) => {}
            None => {
                let goes_to_main = matches!(self.route(Some(STAMP_BYTES)), Route::Main { .. });
                writing.is_plain = goes_to_main && self.all_tombs_known && !self.tombs.contains(key);
            }
        }
        self.tombs.contains(key).then_some(false)
    }

    fn send_write(&mut self, id: u64, mut writing: Writing, w: &mut Work<'_>) {
        let bytes = if writing.is_too_long { None } else { self.bytes_in_device(&writing.op) };
        match self.route(bytes) {
            Route::Wait => self.hold_write(id, writing),
            Route::Device => self.send_to_device(id, writing, w),
            Route::Main { escapes } => {
                writing.enter(self.now, At::Main);
                let (op, written) = self.main_op(&writing, w);
                writing.written = written;
                let begun = if escapes {
                    self.main.submit_unless_stopped(op, again(w))
                } else {
                    self.main.submit(op, again(w)).map_or_else(Begun::Parked, Begun::Ended)
                };
                match begun {
                    Begun::Ended(outcome) => {
                        self.note_escape(false, escapes);
                        self.write_ended_in_main(id, writing, outcome, w);
                    }
                    Begun::Parked(ticket) => {
                        self.waits_for(ticket, id);
                        self.flights.insert(id, Flight::Write(writing));
                    }
                    Begun::Stopped(_) => self.escape(id, writing, w),
                }
            }
        }
    }

    /// The main tree has stopped a write.
    fn escape(&mut self, id: u64, mut writing: Writing, w: &mut Work<'_>) {
        self.note_escape(true, true);
        writing.is_plain = false;
        match &writing.op {
            // It has to be known whether it deletes anything.
            Op::Delete(_) if !writing.is_there => self.ask_before_delete(id, writing, w),
            _ if self.is_device_open() => self.send_to_device(id, writing, w),
            _ => self.hold_write(id, writing),
        }
    }

    fn ask_before_delete(&mut self, id: u64, mut writing: Writing, w: &mut Work<'_>) {
        writing.enter(self.now, At::Asking);
        match self.ask_main(id, Op::Get(writing.keys[0].as_bytes().to_vec()), w) {
            Some(outcome) => self.write_ended_in_main(id, writing, outcome, w),
            None => _ = self.flights.insert(id, Flight::Write(writing)),
        }
    }

    /// Of the exact detector a stop is what it says.
    fn note_escape(&mut self, is_stopped: bool, escapes: bool) {
        if escapes {
            self.note_redirects(is_stopped);
        }
    }

    fn hold_write(&mut self, id: u64, mut writing: Writing) {
        if !writing.was_held {
            self.stats.held += 1;
        }
        writing.enter(self.now, At::Held);
        writing.was_held = true;
        self.hold(id, Flight::Write(writing));
    }

    /// Bytes of a write's records in the device; `None`: it takes none that long.
    fn bytes_in_device(&self, op: &Op) -> Option<usize> {
        match op {
            Op::Put(_, value) => Some(STAMP_BYTES + value.len()),
            Op::Batch(batch) => {
                let each = |(key, value): (&[u8], Option<&[u8]>)| {
                    // Lengths, padding.
                    key.len() + value.map_or(0, <[u8]>::len) + STAMP_BYTES + 16
                };
                let bytes = 4 + batch.writes().iter().map(each).sum::<usize>();
                (bytes <= self.device.group_bytes_max() as usize).then_some(bytes)
            }
            _ => Some(STAMP_BYTES),
        }
    }

    /// A write as the main tree takes it, and what it writes.
    fn main_op(&mut self, writing: &Writing, w: &mut Work<'_>) -> (Op, Vec<(Stamp, u32)>) {
        charge(w, Unit::Encode, writing.keys.len() as u64);
        match &writing.op {
            Op::Put(key, value) => {
                let stamp = self.stamps.next(false);
                let record = stamp.record(value);
                let bytes = record.len() as u32;
                (Op::Put(key.clone(), record), vec![(stamp, bytes)])
            }
            Op::Delete(key) => {
                let stamp = self.stamps.next(true);
                // Where the device has a copy, the main tree has to say that it does not count.
                let has_copy = self.metadata.get(&writing.keys[0]).is_some();
                if has_copy && !planted::is(Fault::LostTombstone) {
                    return (Op::Put(key.clone(), stamp.record(&[])), vec![(stamp, 1)]);
                }
                (Op::Delete(key.clone()), vec![(stamp, 0)])
            }
            Op::Batch(batch) => {
                let (mut writes, mut written) = (WriteBatch::new(), Vec::new());
                for (key, value) in batch.writes().iter() {
                    let stamp = self.stamps.next(value.is_none());
                    let has_copy = Key::new(key).is_ok_and(|key| self.metadata.get(&key).is_some());
                    match value {
                        Some(value) => writes.put(key, &stamp.record(value)),
                        None if has_copy => writes.put(key, &stamp.record(&[])),
                        None => writes.delete(key),
                    };
                    written.push((stamp, u32::from(value.is_some() || has_copy)));
                }
                match Batch::new(writes) {
                    Ok(batch) => (Op::Batch(batch), written),
                    // Its keys were looked at.
                    Err(_) => (writing.op.clone(), written),
                }
            }
            other => (other.clone(), Vec::new()),
        }
    }

    fn send_to_device(&mut self, id: u64, mut writing: Writing, w: &mut Work<'_>) {
        charge(w, Unit::Encode, writing.keys.len() as u64);
        charge(w, Unit::Probe, writing.keys.len() as u64);
        let mut written = Vec::new();
        let sent = match &writing.op {
            Op::Batch(batch) => {
                let mut pairs = PairList::default();
                for (key, value) in batch.writes().iter() {
                    let stamp = self.stamps.next(value.is_none());
                    let record = stamp.record(value.unwrap_or_default());
                    pairs.push(key, &record);
                    written.push((stamp, record.len() as u32));
                }
                self.device.store_all(id, &pairs.finish())
            }
            op => {
                let value = if let Op::Put(_, value) = op { value.as_slice() } else { &[] };
                let stamp = self.stamps.next(matches!(op, Op::Delete(_)));
                let record = stamp.record(value);
                written.push((stamp, record.len() as u32));
                self.device.store(id, &writing.keys[0], &record)
            }
        };
        if sent.is_err() {
            return self.hold_write(id, writing);
        }
        writing.enter(self.now, At::Device);
        writing.written = written;
        self.device_writes += 1;
        self.flights.insert(id, Flight::Write(writing));
    }

    pub(crate) fn write_ended_in_main(
        &mut self,
        id: u64,
        mut writing: Writing,
        outcome: Outcome,
        w: &mut Work<'_>,
    ) {
        if writing.at == At::Asking {
            writing.enter(self.now, At::Host);
            return match self.looked_up(&writing.keys[0], outcome) {
                Ok(true) => {
                    writing.is_there = true;
                    self.send_write(id, writing, w);
                }
                Ok(false) => self.finish_write(id, writing, Err(KvError::NotFound), w),
                Err(why) => self.finish_write(id, writing, Err(why), w),
            };
        }
        if outcome == Ok(Answer::Stopped) {
            return self.escape(id, writing, w);
        }
        // A delete is to make room, wherever there is some for its record.
        let is_refused = outcome == Err(KvError::CapacityExceeded) && only_deletes(&writing.op);
        let fits = self.bytes_in_device(&writing.op).is_some();
        if is_refused && fits && !self.detecting.device_is_full && self.is_device_open() {
            return self.send_to_device(id, writing, w);
        }
        if outcome.is_ok() {
            charge(w, Unit::Probe, writing.keys.len() as u64);
            for (key, (stamp, bytes)) in writing.keys.iter().zip(&writing.written) {
                let left = match (stamp.is_tombstone, bytes) {
                    (false, _) => InMain::Pair,
                    (true, 0) => InMain::Nothing,
                    (true, _) => InMain::Tombstone,
                };
                self.note_in_main(key, left);
            }
        }
        self.finish_write(id, writing, outcome.map(|_| Answer::Done), w);
    }

    /// What the main tree has of a key, from its answer.
    fn looked_up(&mut self, key: &Key, outcome: Outcome) -> Result<bool, KvError> {
        match outcome {
            Ok(Answer::Value(record)) => {
                let (stamp, _) = Stamp::split(&record).ok_or(KvError::Corrupt)?;
                if stamp.is_tombstone {
                    self.tombs.insert(*key);
                }
                Ok(!stamp.is_tombstone)
            }
            Ok(_) => Err(KvError::Corrupt),
            Err(KvError::NotFound) => Ok(false),
            Err(why) => Err(why),
        }
    }

    /// The main tree has a record of that key that is newer than every other.
    pub(crate) fn note_in_main(&mut self, key: &Key, left: InMain) {
        self.metadata.supersede(key);
        match left {
            InMain::Tombstone => _ = self.tombs.insert(*key),
            InMain::Pair | InMain::Nothing => _ = self.tombs.remove(key),
        }
    }

    pub(crate) fn write_ended_in_device(
        &mut self,
        id: u64,
        mut writing: Writing,
        done: &DeviceDone,
        w: &mut Work<'_>,
    ) {
        self.device_writes -= 1;
        let is_whole =
            done.status.is_success() && (done.result.0 == 0 || !matches!(writing.op, Op::Batch(_)));
        let is_full = done.status.is(Status::CAPACITY_EXCEEDED);
        let is_too_long = done.status.is(Status::INVALID_VALUE_SIZE)
            || done.status.is(Status::INVALID_FIELD) && matches!(writing.op, Op::Batch(_));
        let is_too_long = is_too_long && !planted::is(Fault::TooLong);
        if is_full && planted::is(Fault::RefusedIsDone) {
            return self.finish_write(id, writing, Ok(Answer::Done), w);
        }
        if is_full || is_too_long {
            // The main tree takes it, or says why not.
            self.stats.filled += u64::from(is_full && !self.detecting.device_is_full);
            self.detecting.device_is_full |= is_full;
            writing.is_too_long = is_too_long;
            self.stats.turned_back += 1;
            writing.enter(self.now, At::Host);
            writing.written = Vec::new();
            return self.send_write(id, writing, w);
        }
        for (key, (stamp, bytes)) in writing.keys.iter().zip(&writing.written) {
            if !is_whole {
                self.metadata.suspect(*key, stamp.sequence);
                continue;
            }
            let state = if stamp.is_tombstone { State::Tombstone } else { State::Pair };
            self.metadata.insert(*key, DeviceCopy { sequence: stamp.sequence, bytes: *bytes, state });
        }
        if is_whole {
            self.stats.redirected += writing.keys.len() as u64;
            let keys: usize = writing.keys.iter().map(|key| key.len()).sum();
            let values: u32 = writing.written.iter().map(|(_, bytes)| bytes - STAMP_BYTES as u32).sum();
            self.stats.redirected_bytes += keys as u64 + u64::from(values);
        }
        let outcome = if is_whole { Ok(Answer::Done) } else { Err(failure(done.status)) };
        self.finish_write(id, writing, outcome, w);
    }

    fn finish_write(&mut self, id: u64, mut writing: Writing, outcome: Outcome, w: &mut Work<'_>) {
        self.returning.last_write = self.now;
        self.sweeping.note_write();
        writing.enter(self.now, At::Host);
        if writing.spent.all() > self.stats.longest.all() {
            self.stats.longest = writing.spent;
        }
        self.end(id, outcome);
        self.leave_lines(id, &writing.keys, w);
    }

    /// A write is over: those behind it have their turn.
    pub(crate) fn leave_lines(&mut self, id: u64, keys: &[Key], w: &mut Work<'_>) {
        let mut next = Vec::new();
        self.lines.leave(id, keys, &mut next);
        for id in next {
            let has_turn = |flight: &Flight| match flight {
                Flight::Write(writing) => writing.at == At::Line && self.lines.is_first(id, &writing.keys),
                _ => false,
            };
            if self.flights.get(&id).is_some_and(has_turn)
                && let Some(Flight::Write(writing)) = self.flights.remove(&id)
            {
                self.go_on_writing(id, writing, w);
            }
        }
    }
}
