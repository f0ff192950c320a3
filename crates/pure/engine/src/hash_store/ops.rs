//! Store, Delete, Exist, Flush.

use super::HashStore;
use super::reserve::{FOR_DELETES, FOR_PAIRS};
use crate::mix::Place;
use saker_engine_api::{Condition, KvError, Source};
use saker_log::Spot;
use saker_medium::{Medium, Stall, Step, Stream, Tag, ready};
use saker_sim::{Meter, Unit};
use saker_value_log::Loc;
use saker_value_log::land::{land, land_whole};
use saker_value_log::record::{HEADER_BYTES, Header, Kind, record_bytes};

/// When a pair may be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Admission {
    /// There is room.
    Now,
    /// There will be room when the next checkpoint frees tombstones.
    AfterCheckpoint,
}

impl HashStore {
    /// Stores a pair. The value is read once, into the log.
    #[inline]
    pub fn store<M: Medium, W: Meter, S: Source>(
        &mut self,
        key: &[u8],
        value: &mut S,
        condition: Condition,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        let Some(place) = self.index.place(key) else { return Step::Done(Err(KvError::KeySize)) };
        let value_bytes = value.bytes();
        if value_bytes > self.config.value_bytes_max {
            return Step::Done(Err(KvError::ValueSize));
        }
        let bytes = record_bytes(key.len() as u32, value_bytes);
        match self.admit(place, bytes, condition, m, w) {
            Ok(Admission::Now) => {}
            Ok(Admission::AfterCheckpoint) => {
                self.checkpoint.want();
                return Step::Blocked(Stall::NoSegment);
            }
            Err(refused) => return Step::Done(Err(refused)),
        }
        let header = self.header(Kind::Pair, key.len(), value_bytes);
        let spot = if let Some((spot, record)) = self.log.short(m, Stream::User, bytes) {
            if land_whole(record, header, key, value).is_err() {
                return Step::Done(Err(KvError::Transfer));
            }
            self.log.commit_short(m, Stream::User, bytes);
            spot
        } else {
            match ready!(self.append_pair(header, key, value, m)) {
                Ok(spot) => spot,
                Err(e) => return Step::Done(Err(e)),
            }
        };
        let loc = Loc::new(spot.0, bytes, key.len() as u8);
        self.version += 1;
        self.stats.user_bytes_written += (key.len() + value_bytes as usize) as u64;
        self.enter_soon(place, loc, w);
        w.work(Unit::Encode, 1);
        w.work(Unit::CopyByte, u64::from(bytes - value_bytes + value.bytes_by_core()));
        w.work(Unit::ChecksumByte, u64::from(bytes));
        w.work(Unit::Probe, 2);
        Step::Done(Ok(()))
    }

    /// The long way of a store: to another page, or across pages.
    #[inline(never)]
    fn append_pair<M: Medium, S: Source>(
        &mut self,
        header: Header,
        key: &[u8],
        value: &mut S,
        m: &mut M,
    ) -> Step<Result<Spot, KvError>> {
        let bytes = header.record_bytes();
        let reserve = FOR_PAIRS.with_segments(self.checkpoint.segments_left());
        if let Err(stall) = self.log.room(m, Stream::User, bytes, reserve) {
            return Step::Blocked(stall);
        }
        let writer = self.log.begin(m, Stream::User, bytes);
        let spot = writer.spot();
        if land(&self.log, (&writer, 0), header, key, value, m).is_err() {
            self.log.abandon(m, writer);
            return Step::Done(Err(KvError::Transfer));
        }
        self.log.commit(m, writer);
        Step::Done(Ok(spot))
    }

    /// Checks the condition and the capacity before anything is touched.
    #[inline]
    fn admit<M: Medium, W: Meter>(
        &mut self,
        place: Place,
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
    fn admit_slowly<M: Medium>(&mut self, place: Place, bytes: u32, m: &M) -> Result<Admission, KvError> {
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
    fn admit_nearly_full<M: Medium>(
        &mut self,
        place: Place,
        bytes: u32,
        m: &M,
    ) -> Result<Admission, KvError> {
        self.enter_pending();
        let old = self.index.get(place).map(|loc| loc.record_bytes());
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

    fn header(&self, kind: Kind, key_bytes: usize, value_bytes: u32) -> Header {
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
        }
    }

    /// Enters a pair that is in the log.
    #[inline]
    pub(super) fn enter(&mut self, place: Place, loc: Loc) {
        self.stats.pair_bytes += u64::from(loc.record_bytes() - HEADER_BYTES);
        let old = self.index.insert(place, loc);
        self.log.add_live(self.segment_of(loc.position()), u64::from(loc.record_bytes()));
        self.lengthen(loc);
        if let Some(old) = old {
            self.forget(old);
            self.prefetch.drop_value(place);
        }
    }

    /// A collection of its segment copies the record at `loc` as long as it lives.
    #[inline]
    pub(super) fn lengthen(&mut self, loc: Loc) {
        let bytes = loc.record_bytes();
        if bytes > self.lengths.floor() {
            self.lengths.add(bytes);
            self.log.note_length(self.segment_of(loc.position()), bytes);
        }
    }

    /// The record at `loc` is no longer a pair.
    pub(super) fn forget(&mut self, loc: Loc) {
        let bytes = loc.record_bytes();
        self.log.sub_live(self.segment_of(loc.position()), u64::from(bytes));
        self.lengths.sub(bytes);
        self.stats.pair_bytes -= u64::from(bytes - HEADER_BYTES);
    }

    /// Deletes a pair: its tombstone is in the log before the answer.
    pub fn delete<M: Medium, W: Meter>(
        &mut self,
        key: &[u8],
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        let Some(place) = self.index.place(key) else { return Step::Done(Err(KvError::KeySize)) };
        self.enter_pending();
        w.work(Unit::Probe, 2);
        if self.index.get(place).is_none() {
            return Step::Done(Err(KvError::NotFound));
        }
        let bytes = record_bytes(key.len() as u32, 0);
        if let Err(stall) = self.log.room(m, Stream::User, bytes, FOR_DELETES) {
            return Step::Blocked(stall);
        }
        if !self.credit.pay(bytes) {
            self.credit.end();
        }
        let writer = self.log.begin(m, Stream::User, bytes);
        let spot = writer.spot();
        let header = self.header(Kind::Tombstone, key.len(), 0);
        land(&self.log, (&writer, 0), header, key, &mut &[][..], m)
            .expect("nothing is fetched for a tombstone");
        self.log.commit(m, writer);
        self.version += 1;
        self.log.add_until_checkpoint(self.segment_of(spot.0), u64::from(bytes));
        let old = self.index.remove(place).expect("looked up above");
        self.prefetch.drop_value(place);
        self.forget(old);
        self.stats.user_bytes_written += key.len() as u64;
        w.work(Unit::Encode, 1);
        w.work(Unit::CopyByte, u64::from(bytes));
        w.work(Unit::ChecksumByte, u64::from(bytes));
        Step::Done(Ok(()))
    }

    /// Whether there is such a pair.
    pub fn exist<W: Meter>(&mut self, key: &[u8], w: &mut W) -> Result<(), KvError> {
        let place = self.index.place(key).ok_or(KvError::KeySize)?;
        self.enter_pending();
        w.work(Unit::Probe, 2);
        self.index.get(place).map(|_| ()).ok_or(KvError::NotFound)
    }

    /// Makes everything acknowledged so far proof against the loss of the ring where it can be lost. The flush
    /// is complete when the returned tag and everything before it has completed and a sync has followed.
    pub fn flush<M: Medium>(&mut self, m: &mut M) -> Tag {
        if !self.config.ring_lasts {
            self.log.seal_stream(Stream::User, m);
            self.log.seal_stream(Stream::Gc, m);
        }
        m.last_tag()
    }

    /// Whether a Flush that returned `tag` is complete, given that all I/O up to `finished` has completed. Failed
    /// programs are made good by background work first.
    pub fn is_flushed(&self, tag: Tag, finished: Tag) -> bool {
        self.log.is_safe(tag, finished)
    }
}
