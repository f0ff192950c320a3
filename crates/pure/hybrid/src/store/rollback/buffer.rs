// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A buffer of the device's records: its iterator is opened, what that sees is made durable, records are read, and the iterator is closed.

use super::{BUFFER_LEAST, Phase};
use crate::device::DeviceDone;
use crate::main_tree::MainTree;
use crate::planted::{self, Fault};
use crate::store::Hybrid;
use crate::store::flight::Flight;
use crate::store::scan::behind;
use saker_nvme::Key;
use saker_nvme::group::pairs_of;
use saker_nvme::vendor_specific::NextAnswer;

impl<M: MainTree> Hybrid<M> {
    /// Asks for the records from a key on. False: not now.
    pub(super) fn open_buffer(&mut self, from: Vec<u8>) -> bool {
        let id = self.take_number();
        let is_sent = self.device.open_iterator(id).is_ok();
        if is_sent {
            self.flights.insert(id, Flight::Rollback);
            (self.returning.phase, self.returning.iterator) = (Phase::Reading, None);
            self.returning.is_durable = !self.device.is_volatile() || planted::is(Fault::BatchComesApart);
            self.returning.from = Some(from);
        }
        is_sent
    }

    pub(crate) fn rollback_answered(&mut self, done: &DeviceDone) {
        if self.returning.phase != Phase::Reading {
            return;
        }
        match self.returning.iterator {
            Some(iterator) if self.returning.is_durable => self.take_records(iterator, done),
            Some(iterator) if done.status.is_success() => {
                self.returning.is_durable = true;
                self.read_buffer(iterator);
            }
            Some(iterator) => {
                self.close_later(iterator);
                self.put_off();
            }
            None if done.status.is_success() => {
                self.returning.iterator = Some(done.result.0);
                self.flush_and_read(done.result.0);
            }
            None => self.put_off(),
        }
    }

    /// A batch goes back record by record. If a cut could take it from the device meanwhile, parts of it would be left in the main tree alone.
    fn flush_and_read(&mut self, iterator: u32) {
        if self.returning.is_durable {
            return self.read_buffer(iterator);
        }
        let id = self.take_number();
        match self.device.flush(id) {
            Ok(()) => _ = self.flights.insert(id, Flight::Rollback),
            Err(_) => self.end_buffer(iterator, None),
        }
    }

    /// The command before has just ended, so the queue has room for this one.
    fn read_buffer(&mut self, iterator: u32) {
        let bytes = self.returning.buffer_bytes.max(self.options.buffer_bytes.max(BUFFER_LEAST));
        self.returning.buffer_bytes = bytes;
        let id = self.take_number();
        let from = self.returning.from.as_deref().and_then(|from| Key::new(from).ok());
        match from.map(|from| self.device.read_iterator(id, iterator, (bytes, 0), false, from)) {
            Some(Ok(())) => _ = self.flights.insert(id, Flight::Rollback),
            _ => self.end_buffer(iterator, None),
        }
    }

    /// The pass goes on from there when what has come has gone back.
    fn end_buffer(&mut self, iterator: u32, from: Option<Vec<u8>>) {
        self.close_later(iterator);
        (self.returning.phase, self.returning.from) = (Phase::Moving, from);
    }

    fn take_records(&mut self, iterator: u32, done: &DeviceDone) {
        if !done.status.is_success() {
            // The iterator is no more.
            return self.end_buffer(iterator, None);
        }
        let answer = NextAnswer(done.result.1);
        if answer.bytes_needed() > self.returning.buffer_bytes {
            self.returning.buffer_bytes = answer.bytes_needed();
            return self.read_buffer(iterator);
        }
        let all = pairs_of(&done.data);
        let last = all.last().filter(|_| !answer.ended());
        let from = last.and_then(|(key, _)| behind(key));
        let keyed = all.into_iter().filter_map(|(key, record)| Some((Key::new(key).ok()?, record.to_vec())));
        self.returning.records.extend(keyed);
        if planted::is(Fault::DroppedEarly) {
            self.returning.records.iter().for_each(|(key, _)| self.metadata.supersede(key));
        }
        self.end_buffer(iterator, from);
    }
}
