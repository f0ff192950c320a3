// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Retrieve: a record is found, checked, and its value delivered.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use super::HashStore;
use saker_engine_api::{KvError, Sink};
use saker_log::{Bytes, LogAddr, Look};
use saker_segment_store::{SegmentStore, Step, ready};
use saker_sim::{Meter, Unit};
use saker_value_log::RecordAddr;
use saker_value_log::check::check_here;
use saker_value_log::group::seal::pair_here;

impl HashStore {
    /// Retrieves a pair: delivers up to `sink.room()` bytes from the start of the value and returns its length.
    /// Nothing is delivered that does not match the record's checksum.
    #[inline]
    pub(super) fn deliver_value<M: SegmentStore, W: Meter, K: Sink>(
        &mut self,
        key: &[u8],
        sink: &mut K,
        m: &M,
        w: &mut W,
    ) -> Step<Result<u32, KvError>> {
        let Some(place) = self.index.place(key) else { return Step::Done(Err(KvError::KeySize)) };
        self.enter_pending();
        w.work(Unit::Probe, 2);
        let Some(addr) = self.index.get(place) else { return Step::Done(Err(KvError::NotFound)) };
        if !self.prefetch.is_empty()
            && let Some(delivered) = self.deliver_prefetched(place, addr, sink, w)
        {
            return Step::Done(delivered);
        }
        let range = Bytes::new(LogAddr(addr.position()), addr.bytes());
        let whole = match range.look(&self.log, m) {
            Look::Whole(record) => Some(record),
            Look::Absent(page) => {
                range.ahead(&self.log, m).for_each(|byte| w.touch(byte));
                return Step::Need(vec![page]);
            }
            Look::Elsewhere => match ready!(range.resident(&self.log, m)) {
                Ok(()) => None,
                Err(e) => return Step::Done(Err(e.into())),
            },
        };
        w.work(Unit::Decode, 1);
        w.work(Unit::Compare, 1);
        w.work(Unit::ChecksumByte, u64::from(addr.bytes()));
        let copied = if sink.is_copied_by_core() { addr.bytes().min(sink.room()) } else { 0 };
        w.work(Unit::CopyByte, u64::from(copied));
        if !self.prefetch.is_empty() {
            self.note_access(place);
        }
        Step::Done(match whole {
            Some(record) => self.deliver_whole(key, addr, record, sink),
            None => self.deliver(key, addr, sink, m),
        })
    }

    /// Delivers from a record that lies in one piece.
    #[inline]
    fn deliver_whole<K: Sink>(
        &self,
        key: &[u8],
        addr: RecordAddr,
        record: &[u8],
        sink: &mut K,
    ) -> Result<u32, KvError> {
        let value = self.value_of(key, addr, record).ok_or(KvError::Corrupt)?;
        let wanted = value.len().min(sink.room() as usize);
        if wanted > 0 {
            let wanted = value.get(..wanted).ok_or(KvError::Corrupt)?;
            sink.write(0, wanted).map_err(|_| KvError::Transfer)?;
        }
        Ok(value.len() as u32)
    }

    /// The value in a record that lies in one piece. `None` if it does not match.
    #[inline]
    pub(super) fn value_of<'r>(&self, key: &[u8], addr: RecordAddr, record: &'r [u8]) -> Option<&'r [u8]> {
        let found = if addr.is_member() {
            pair_here(record, key)
        } else {
            check_here(record, key, addr, self.config.owner)
        };
        found.map(|(_, value)| value)
    }

    /// Delivers from a record whose pages are here.
    pub(super) fn deliver<M: SegmentStore, K: Sink>(
        &self,
        key: &[u8],
        addr: RecordAddr,
        sink: &mut K,
        m: &M,
    ) -> Result<u32, KvError> {
        let (start, bytes) = self.records().check(key, addr, self.config.owner, m)?;
        self.records().deliver(addr, start, bytes.min(sink.room()), sink, m)?;
        Ok(bytes)
    }
}
