// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Gets, and questions whether there is a pair: of the tree that has the newest record.

use crate::device::DeviceDone;
use crate::main_tree::MainTree;
use crate::metadata::{DeviceCopy, State};
use crate::planted::{self, Fault};
use crate::record::{EPOCH_KEY, STAMP_BYTES, Stamp};
use crate::store::flight::Flight;
use crate::store::stats::mean;
use crate::store::{Hybrid, charge, failure};
use saker_engine::KvError;
use saker_host::host_kv::{Answer, Op, Outcome, Ticket, Work};
use saker_nvme::{Key, Status};
use saker_sim::{Instant, Unit};

/// What a read is to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    Presence,
    Value,
    /// The value with its stamp in front.
    Record,
}

/// A read on its way.
#[derive(Debug)]
pub(crate) struct Reading {
    key: Key,
    wants: Wants,
    /// Bytes of the buffer that the device was asked with.
    buffer_bytes: u32,
    /// The number of the copy that the device was asked for.
    sequence: u64,
    /// What the main tree has may be a tombstone, so its record is looked at.
    looks: bool,
    since: Option<Instant>,
}

impl<M: MainTree> Hybrid<M> {
    /// Reads the newest record of a key, its stamp in front of the value; otherwise as [`submit`](Self::submit).
    pub(crate) fn submit_record(&mut self, key: Key, mut work: Work<'_>) -> Result<Outcome, Ticket> {
        self.look_if_due();
        let id = self.take_number();
        self.begin_read(id, key.as_bytes().to_vec(), Wants::Record, &mut work);
        self.ended_or_ticket(id)
    }

    pub(crate) fn begin_read(&mut self, id: u64, key: Vec<u8>, wants: Wants, w: &mut Work<'_>) {
        let Some(key) = Key::new(&key).ok().filter(|key| *key.padded() != EPOCH_KEY) else {
            return self.end(id, Err(KvError::KeySize));
        };
        let reading = Reading { key, wants, buffer_bytes: 0, sequence: 0, looks: false, since: self.now };
        self.go_on_reading(id, reading, w);
    }

    pub(crate) fn go_on_reading(&mut self, id: u64, mut reading: Reading, w: &mut Work<'_>) {
        charge(w, Unit::Probe, u64::from(self.metadata.keys() > 0));
        let key = reading.key;
        match self.metadata.current(&key).copied() {
            Some(DeviceCopy { state: State::Tombstone, .. }) => self.end(id, Err(KvError::NotFound)),
            Some(DeviceCopy { bytes, sequence, .. }) if reading.wants != Wants::Presence => {
                (reading.buffer_bytes, reading.sequence) = (reading.buffer_bytes.max(bytes), sequence);
                match self.device.retrieve(id, &key, reading.buffer_bytes) {
                    Ok(()) => _ = self.flights.insert(id, Flight::Read(reading)),
                    Err(_) => self.hold(id, Flight::Read(reading)),
                }
            }
            Some(_) => self.end(id, Ok(Answer::Done)),
            None if self.tombs.contains(&key) => self.end(id, Err(KvError::NotFound)),
            None => {
                // Only the record itself tells a pair from a tombstone that nobody knows of.
                let looks = reading.wants != Wants::Presence || reading.looks || !self.all_tombs_known;
                let key = key.as_bytes().to_vec();
                match self.ask_main(id, if looks { Op::Get(key) } else { Op::Exists(key) }, w) {
                    Some(outcome) => self.read_ended_in_main(id, reading, outcome, w),
                    None => _ = self.flights.insert(id, Flight::Read(reading)),
                }
            }
        }
    }

    pub(crate) fn read_ended_in_main(
        &mut self,
        id: u64,
        mut reading: Reading,
        outcome: Outcome,
        w: &mut Work<'_>,
    ) {
        let is_said = reading.wants == Wants::Presence && outcome == Ok(Answer::Done);
        if is_said && self.may_be_tombstone(&reading.key) {
            reading.looks = true;
            return self.go_on_reading(id, reading, w);
        }
        let took = self.since(reading.since).as_nanos();
        self.costs.main_read = mean(self.costs.main_read, took);
        self.note_read_in_pass(took);
        let outcome = match outcome {
            Ok(Answer::Value(mut record)) => match Stamp::split(&record) {
                None => Err(KvError::Corrupt),
                Some((stamp, _)) if stamp.is_tombstone => Err(KvError::NotFound),
                Some(_) => Ok(match reading.wants {
                    Wants::Presence => Answer::Done,
                    Wants::Value => Answer::Value(record.split_off(STAMP_BYTES)),
                    Wants::Record => Answer::Value(record),
                }),
            },
            other => other,
        };
        self.end(id, outcome);
    }

    /// Whether a record that the main tree has of a key may be a tombstone: one has been written, or may be on its way.
    fn may_be_tombstone(&self, key: &Key) -> bool {
        (self.lines.holds(key) || self.tombs.contains(key)) && !planted::is(Fault::TombstoneIsPair)
    }

    pub(crate) fn read_ended_in_device(
        &mut self,
        id: u64,
        mut reading: Reading,
        done: &DeviceDone,
        w: &mut Work<'_>,
    ) {
        if done.status.is_success() && done.result.0 > reading.buffer_bytes {
            // A newer value is longer.
            reading.buffer_bytes = done.result.0;
            return self.go_on_reading(id, reading, w);
        }
        if done.status.is(Status::KEY_DOES_NOT_EXIST) && self.was_swept(&reading.key, reading.sequence) {
            return self.go_on_reading(id, reading, w);
        }
        self.stats.device_reads += 1;
        let took = self.since(reading.since).as_nanos();
        self.costs.device_read = mean(self.costs.device_read, took);
        self.costs.lost += took.saturating_sub(self.costs.main_read);
        self.note_read_in_pass(took);
        let outcome = match Stamp::split(&done.data) {
            _ if !done.status.is_success() => Err(failure(done.status)),
            None => Err(KvError::Corrupt),
            Some((stamp, _)) if stamp.is_tombstone => Err(KvError::NotFound),
            Some((_, value)) => {
                let found = if reading.wants == Wants::Record { &done.data } else { value };
                Ok(Answer::Value(found.to_vec()))
            }
        };
        self.end(id, outcome);
    }
}
