// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a store needs: admission, its room in the log, its entry in the index.

use super::HashStore;
use super::reserve::FOR_PAIRS;
use crate::mix::IndexKey;
use saker_engine_api::{Condition, KvError, Source};
use saker_log::LogAddr;
use saker_segment_store::{SegmentStore, Step, Stream};
use saker_sim::{Meter, Unit};
use saker_value_log::RecordAddr;
use saker_value_log::land::land;
use saker_value_log::record::{HEADER_BYTES, Header, Kind};

/// When a pair may be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// There is room.
    Now,
    /// There will be room when the next checkpoint frees tombstones.
    AfterCheckpoint,
}

impl HashStore {
    /// The long way of a store: to another page, or across pages.
    #[inline(never)]
    pub(super) fn append_pair<M: SegmentStore, S: Source>(
        &mut self,
        header: Header,
        key: &[u8],
        value: &mut S,
        m: &mut M,
    ) -> Step<Result<LogAddr, KvError>> {
        let bytes = header.record_bytes();
        let reserve = FOR_PAIRS.with_segments(self.checkpoint.segments_left());
        if let Err(stall) = self.log.room(m, Stream::User, bytes, reserve) {
            return Step::Blocked(stall);
        }
        let writer = self.log.begin(m, Stream::User, bytes);
        let log_addr = writer.log_addr();
        if land(&self.log, (&writer, 0), header, key, value, m).is_err() {
            self.log.abandon(m, writer);
            return Step::Done(Err(KvError::Transfer));
        }
        self.log.commit(m, writer);
        Step::Done(Ok(log_addr))
    }

    /// Checks the condition and the capacity before anything is touched.
    #[inline]
    pub(super) fn admit<M: SegmentStore, W: Meter>(
        &mut self,
        place: IndexKey,
        bytes: u32,
        condition: Condition,
        m: &M,
        w: &mut W,
    ) -> Result<Admission, KvError> {
        if condition != Condition::Always {
            self.enter_pending();
            w.work(Unit::Probe, 2);
            match (condition, self.index.get(place)) {
                (Condition::MustExist, None) => return Err(KvError::NotFound),
                (Condition::MustNotExist, Some(_)) => return Err(KvError::Exists),
                _ => {}
            }
        }
        // Far from full, which is nearly always, one comparison decides.
        if self.credit.pay_record(bytes) {
            return Ok(Admission::Now);
        }
        self.admit_slowly(place, bytes, m)
    }

    #[cold]
    fn admit_slowly<M: SegmentStore>(
        &mut self,
        place: IndexKey,
        bytes: u32,
        m: &M,
    ) -> Result<Admission, KvError> {
        // If it is longer than any that lives and is stored, segments hold less as long as it lives.
        let longest = self.lengths.longest().max(bytes);
        self.take_credit(longest, m);
        let needed = self.log.live_bytes() + self.pending.bytes() + u64::from(bytes);
        let pairs = self.pairs_at_most() + 1;
        if needed <= self.capacity_for(pairs, longest, m) {
            return Ok(Admission::Now);
        }
        self.admit_nearly_full(place, bytes, m)
    }

    /// The capacity is that after the store: so what was admitted once fits again after it was deleted. What
    /// only tombstones keep out waits for the checkpoint that frees them: deletes make room.
    #[cold]
    fn admit_nearly_full<M: SegmentStore>(
        &mut self,
        place: IndexKey,
        bytes: u32,
        m: &M,
    ) -> Result<Admission, KvError> {
        self.enter_pending();
        let old = self.index.get(place).map(|addr| addr.record_bytes());
        if old.is_some_and(|old| bytes <= old) {
            // A pair may always be replaced by one that is not longer.
            return Ok(Admission::Now);
        }
        let pairs = self.index.len() + u64::from(old.is_none());
        let capacity = self.capacity_for(pairs, self.lengths.longest().max(bytes), m);
        let needed = self.log.live_bytes() - u64::from(old.unwrap_or(0)) + u64::from(bytes);
        if needed <= capacity {
            Ok(Admission::Now)
        } else if needed - self.log.tombstone_bytes() <= capacity {
            Ok(Admission::AfterCheckpoint)
        } else {
            Err(KvError::CapacityExceeded)
        }
    }

    pub(super) fn header(&self, kind: Kind, key_bytes: usize, value_bytes: u32) -> Header {
        let owner = self.config.owner;
        let key_bytes = key_bytes as u8;
        Header {
            crc: 0,
            value_bytes,
            version: self.version,
            kind,
            key_bytes,
            owner,
            lead_bytes: 0,
            pad_bytes: 0,
            stays: false,
        }
    }

    /// Enters a pair that is in the log.
    #[inline]
    pub(super) fn enter(&mut self, place: IndexKey, addr: RecordAddr) {
        self.stats.pair_bytes += u64::from(addr.record_bytes() - HEADER_BYTES);
        let old = self.index.insert(place, addr);
        self.log.add_live(self.segment_of(addr.position()), u64::from(addr.record_bytes()));
        self.lengthen(addr);
        if let Some(old) = old {
            self.forget(old);
            self.prefetch.drop_value(&place);
        }
    }

    /// A collection of its segment copies the record at `addr` as long as it lives.
    #[inline(always)]
    pub(super) fn lengthen(&mut self, addr: RecordAddr) {
        let bytes = addr.record_bytes();
        if bytes > self.lengths.floor() {
            self.lengths.add(bytes);
            self.log.note_length(self.segment_of(addr.position()), bytes);
        }
    }

    /// The record at `addr` is no longer a pair.
    pub(super) fn forget(&mut self, addr: RecordAddr) {
        let bytes = addr.record_bytes();
        self.log.sub_live(self.segment_of(addr.position()), u64::from(bytes));
        self.lengths.sub(bytes);
        self.stats.pair_bytes -= u64::from(bytes - HEADER_BYTES);
    }
}
