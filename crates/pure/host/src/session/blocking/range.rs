// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scanning in the order of keys: what is buffered, merged with a snapshot of a device that takes them.
//!
//! First the keys of all writes that have not come to their end are copied, then the device opens an iterator. A pair that is
//! there all the time is among the copied keys, whose values are got one by one, or in the snapshot; what comes or goes
//! meanwhile may be shown or not.

use std::collections::BTreeSet;

use saker_link::WINDOW_BYTES_MAX;
use saker_nvme::vendor_specific::NextAnswer;
use saker_nvme::{Key, Status};

use super::super::wire::{Command, Wire};
use super::Session;
use crate::client::{BATCH_BYTES, Brought, KeyRange, PairBatch, Pieces, brought, check_iterator};
use crate::driver::Driver;
use crate::error::{HostError, KvError, ProtocolError};

impl<W: Wire, T: Driver> Session<W, T> {
    /// Shows the pairs of a range to `visit` in the order of the bytes of their keys, until it returns false. Pairs that are
    /// there throughout are shown with a value that was current during the scan.
    ///
    /// Where the device has no iterators, all its keys are listed first, and the pairs of the range are kept in memory.
    ///
    /// # Errors
    /// [`HostError`]; pairs may have been shown before. [`KvError::ManyIterators`] with as many iterators open as the device allows.
    pub fn scan_range(
        &mut self,
        range: &KeyRange<'_>,
        mut visit: impl FnMut(&Key, &[u8]) -> bool,
    ) -> Result<(), HostError> {
        let pending = self.hub.pending().into_iter().filter(|key| range.contains(key.as_bytes())).collect();
        let Some(iterator) = self.open_iterator(range)? else { return self.scan_sorted(range, visit) };
        let merged = self.merge(iterator, pending, range, &mut visit);
        let closed = self.close_iterator(iterator);
        merged.and(closed)
    }

    fn scan_sorted(
        &mut self,
        range: &KeyRange<'_>,
        mut visit: impl FnMut(&Key, &[u8]) -> bool,
    ) -> Result<(), HostError> {
        let mut pairs = Vec::new();
        self.scan(|key| range.contains(key.as_bytes()), |key, value| pairs.push((key, value)))?;
        pairs.sort_unstable_by_key(|(key, _)| *key);
        let _ = pairs.iter().all(|(key, value)| visit(key, value));
        Ok(())
    }

    fn open_iterator(&mut self, range: &KeyRange<'_>) -> Result<Option<u32>, HostError> {
        if !self.hub.has_iterators() {
            return Ok(None);
        }
        let id = self.call(Command::IteratorOpen(&range.on_wire()))?;
        let (status, number) = self.answer(id, |reply| (reply.status, reply.dw0))?;
        // The command is known, but not for this namespace.
        if status.is(Status::INVALID_OPCODE) {
            return Ok(None);
        }
        check_iterator(status)?;
        Ok(Some(number))
    }

    /// One that has timed out is closed already.
    fn close_iterator(&mut self, iterator: u32) -> Result<(), HostError> {
        let id = self.call(Command::IteratorClose(iterator))?;
        match check_iterator(self.answer(id, |reply| reply.status)?) {
            Err(HostError::Kv(KvError::NotFound)) => Ok(()),
            closed => closed,
        }
    }

    /// Shows the pairs of the iterator, but those of `pending` keys as they are now.
    fn merge(
        &mut self,
        iterator: u32,
        mut pending: BTreeSet<Key>,
        range: &KeyRange<'_>,
        visit: &mut impl FnMut(&Key, &[u8]) -> bool,
    ) -> Result<(), HostError> {
        let mut bytes = BATCH_BYTES;
        loop {
            let batch = self.next_batch(iterator, &mut bytes)?;
            // The device's range is wider than one whose bounds are longer than a key.
            for (key, value) in batch.pairs().filter(|(key, _)| range.contains(key)) {
                let key = Key::new(key).map_err(|_| ProtocolError::Group)?;
                let is_pending = pending.contains(&key);
                let goes_on = self.show_pending(&mut pending, Some(&key), visit)?;
                if !goes_on || !is_pending && !visit(&key, value) {
                    return Ok(());
                }
            }
            if batch.is_last() {
                return self.show_pending(&mut pending, None, visit).map(drop);
            }
        }
    }

    /// Shows the pairs of pending keys up to one, or of all, as they are now; false if no more are wanted.
    fn show_pending(
        &mut self,
        pending: &mut BTreeSet<Key>,
        last: Option<&Key>,
        visit: &mut impl FnMut(&Key, &[u8]) -> bool,
    ) -> Result<bool, HostError> {
        while let Some(key) = pending.first().copied().filter(|key| last.is_none_or(|last| key <= last)) {
            pending.remove(&key);
            if self.get(&key)?.is_some_and(|value| !visit(&key, &value)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The next pairs, with a larger buffer if the first of them needs one.
    fn next_batch(&mut self, iterator: u32, bytes: &mut u32) -> Result<PairBatch, HostError> {
        loop {
            let id = self.call(Command::IteratorNext { iterator, bytes: *bytes })?;
            let (status, answer, payload) =
                self.answer(id, |reply| (reply.status, NextAnswer(reply.dw1), reply.data.clone()))?;
            check_iterator(status)?;
            match brought(answer, bytes, WINDOW_BYTES_MAX as u32)? {
                Brought::Pairs => return PairBatch::new(payload, answer.ended()),
                Brought::Nothing => {}
                Brought::TooLong => return self.next_in_pieces(iterator),
            }
        }
    }

    fn next_in_pieces(&mut self, iterator: u32) -> Result<PairBatch, HostError> {
        let mut whole = Pieces::default();
        loop {
            let (bytes, offset) = whole.next();
            let id = self.call(Command::IteratorPiece { iterator, bytes, offset })?;
            let (status, answer, piece) =
                self.answer(id, |reply| (reply.status, NextAnswer(reply.dw1), reply.data.clone()))?;
            check_iterator(status)?;
            if let Some(batch) = whole.add(answer, piece)? {
                return Ok(batch);
            }
        }
    }
}
