// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Store, Retrieve, Delete, Exist: one attempt at each.

use super::HashFtl;
use super::lookup::{For, Found, Pair};
use super::record::{HEAD_BYTES, Head, Kind};
use super::reserve::{FOR_DELETES, FOR_PAIRS};
use super::stats::Cause;
use super::table::cache::Tombstone;
use super::table::entry::Entry;
use saker_engine_api::{Condition, Context, KvError, Put, Sink, Source, Version};
use saker_log::append::Reserve;
use saker_log::{Bytes, LogAddr};
use saker_segment_store::{SegmentStore, Stall, Step, Stream, ready};
use saker_sim::{Meter, Unit};

/// Buffers of invalid mappings that may wait to be written before writes wait for them.
const FULL_BUFFERS_MAX: usize = 16;

impl HashFtl {
    pub(super) fn store_once<M: SegmentStore, W: Meter, S: Source>(
        &mut self,
        key: &[u8],
        value: &mut S,
        condition: Condition,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Put, KvError>> {
        let (m, w) = cx.parts();
        let value_bytes = value.bytes();
        if value_bytes > self.config.value_bytes_max {
            return Step::Done(Err(KvError::ValueSize));
        }
        let found = match ready!(self.find(key, For::Writing, m, w)) {
            Ok(found) => found,
            Err(e) => return Step::Done(Err(e)),
        };
        match (condition, found.pair) {
            (Condition::MustExist, None) => return Step::Done(Err(KvError::NotFound)),
            (Condition::MustNotExist, Some(_)) => return Step::Done(Err(KvError::Exists)),
            _ => {}
        }
        let head = self.head(Kind::Pair, key, value_bytes);
        let Some(slot) = found.slot else { return self.full_section() };
        if let Err(e) = ready!(self.admit(&found, &head, m)) {
            return Step::Done(Err(e));
        }
        let grain = match ready!(self.write(slot, head, key, value, FOR_PAIRS, m)) {
            Ok(grain) => grain,
            Err(e) => return Step::Done(Err(e)),
        };
        self.enter(&found, slot, grain, &head);
        self.drop_prefetched(key);
        self.stats.user_bytes_written += (key.len() + value_bytes as usize) as u64;
        w.work(Unit::Encode, 1);
        w.work(Unit::CopyByte, u64::from(head.bytes() - value_bytes + value.bytes_by_core()));
        w.work(Unit::ChecksumByte, u64::from(head.bytes()));
        Step::Done(Ok(Put::Done(Version(head.version))))
    }

    /// One attempt at an operation.
    pub(super) fn counted<T>(&mut self, attempt: impl FnOnce(&mut Self) -> Step<T>) -> Step<T> {
        let step = self.attempt(attempt);
        if let Step::Blocked(stall) = step {
            self.ftl_stats.blocked(stall);
        }
        step
    }

    pub(super) fn head(&self, kind: Kind, key: &[u8], value_bytes: u32) -> Head {
        Head { crc: 0, version: self.version, kind, in_group: false, key_bytes: key.len() as u8, value_bytes }
    }

    /// Whether so many buffers of invalid mappings are full that writes wait.
    pub(super) fn mappings_hold_up_writes(&self) -> bool {
        self.validity.invalid().is_some_and(|i| i.full() > FULL_BUFFERS_MAX)
    }

    /// Writes a record; its grain.
    fn write<M: SegmentStore, S: Source>(
        &mut self,
        slot: u64,
        head: Head,
        key: &[u8],
        value: &mut S,
        reserve: Reserve,
        m: &mut M,
    ) -> Step<Result<u64, KvError>> {
        let bytes = self.grains_of(&head) * self.config.grain_bytes;
        if self.mappings_hold_up_writes() {
            return Step::Blocked(Stall::Debt);
        }
        if let Err(stall) = self.log.room(m, Stream::User, bytes, reserve) {
            return Step::Blocked(stall);
        }
        if head.kind == Kind::Tombstone && self.twice.holds_up_deletes() {
            return Step::Blocked(Stall::Debt);
        }
        let writer = self.log.begin(m, Stream::User, bytes);
        let grain = writer.log_addr().0 / u64::from(self.config.grain_bytes);
        if self.land(&writer, (0, slot), head, key, value, m).is_err() {
            self.log.abandon(m, writer);
            return Step::Done(Err(KvError::Transfer));
        }
        self.log.commit(m, writer);
        self.version += 1;
        self.ftl_stats.kv_bytes_written += u64::from(bytes);
        Step::Done(Ok(grain))
    }

    /// Enters a pair that is written.
    pub(super) fn enter(&mut self, found: &Found, slot: u64, grain: u64, head: &Head) {
        let grains = self.grains_of(head);
        self.count_live(grain, grains);
        self.stats.pairs += u64::from(found.pair.is_none());
        self.stats.pair_bytes += pair_bytes(head);
        if let Some(old) = found.pair {
            self.forget(slot, old.grain, &old.head);
        }
        let tag = self.probe.tag(found.home);
        self.drop_tombstone_of(slot, tag);
        let (offset, passed) = (self.table.split(slot).1, self.is_passed(slot));
        self.set_entry(slot, Entry::new(offset, Some(grain), passed).tagged(tag), Cause::User);
        for slot in &found.to_pass {
            let (at, offset) = (self.cached_at(*slot), self.table.split(*slot).1);
            let entry = self.table.cache.get(at).section.get(offset).0;
            // A pair that was there can have been deleted by the same operation.
            let passed =
                if entry.grain().is_some() { entry.passed() } else { Entry::new(offset, None, true) };
            self.set_entry(*slot, passed, Cause::User);
        }
    }

    fn cached_at(&self, slot: u64) -> u32 {
        let (id, _) = self.table.split(slot);
        self.table.places[id as usize].cached.checked_sub(1).expect("the operation holds its sections")
    }

    fn is_passed(&self, slot: u64) -> bool {
        let (_, offset) = self.table.split(slot);
        self.table.cache.get(self.cached_at(slot)).section.get(offset).0.is_passed()
    }

    /// The record is no longer a pair.
    fn forget(&mut self, slot: u64, grain: u64, head: &Head) {
        let grains = self.grains_of(head);
        self.stats.pair_bytes -= pair_bytes(head);
        self.count_dead(slot, grain, grains);
    }

    /// A newer record of the hash index takes the place of a tombstone, unless it may go to another half when the table doubles.
    fn drop_tombstone_of(&mut self, slot: u64, tag: u8) {
        let at = self.cached_at(slot);
        let cached = self.table.cache.get_mut(at);
        let here = |t: &Tombstone| (t.slot, t.tag) == (slot, tag);
        let Some(n) = cached.tombstones.iter().position(here) else { return };
        let (gone, id, left) = (cached.tombstones.swap_remove(n), cached.id, cached.tombstones.len());
        self.drop_tombstone(gone.slot, gone.grain);
        if left == 0 {
            self.with_tombstones.remove(&id);
        }
    }

    pub(super) fn retrieve_once<M: SegmentStore, W: Meter, K: Sink>(
        &mut self,
        key: &[u8],
        sink: &mut K,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<u32, KvError>> {
        let (m, w) = cx.parts();
        let found = match ready!(self.find(key, For::Reading, m, w)) {
            Ok(found) => found,
            Err(e) => return Step::Done(Err(e)),
        };
        let delivered = self.deliver(&found, sink, m, w);
        self.spare = found.looked;
        delivered
    }

    /// Delivers the value of a pair that was looked for.
    fn deliver<M: SegmentStore, W: Meter, K: Sink>(
        &mut self,
        found: &Found,
        sink: &mut K,
        m: &M,
        w: &mut W,
    ) -> Step<Result<u32, KvError>> {
        let Some(pair) = found.pair else { return Step::Done(Err(KvError::NotFound)) };
        let log_addr = LogAddr(pair.grain * u64::from(self.config.grain_bytes));
        let range = Bytes::new(log_addr, pair.head.bytes());
        match range.resident(&self.log, m) {
            Step::Done(Ok(())) => {}
            Step::Done(Err(e)) => return Step::Done(Err(e.into())),
            Step::Need(reads) => return self.need(&found.looked, found.home, found.passed, reads, m),
            Step::Blocked(stall) => return Step::Blocked(stall),
        }
        self.ftl_stats.kv_pages_read += range.pages(&self.log).count() as u64 - 1;
        w.work(Unit::Decode, 1);
        w.work(Unit::ChecksumByte, u64::from(pair.head.bytes()));
        if self.range_crc(range, pair.head.bytes(), m) != pair.head.crc {
            return Step::Done(Err(KvError::Corrupt));
        }
        let wanted = pair.head.value_bytes.min(sink.room());
        w.work(Unit::CopyByte, if sink.is_copied_by_core() { u64::from(wanted) } else { 0 });
        let start = HEAD_BYTES + u32::from(pair.head.key_bytes);
        let mut done = 0;
        while done < wanted {
            let chunk = range.chunk(&self.log, m, start + done);
            let n = chunk.len().min((wanted - done) as usize);
            if sink.write(done, &chunk[..n]).is_err() {
                return Step::Done(Err(KvError::Transfer));
            }
            done += n as u32;
        }
        Step::Done(Ok(pair.head.value_bytes))
    }

    pub(super) fn delete_once<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Version, KvError>> {
        let (m, w) = cx.parts();
        let found = match ready!(self.find(key, For::Writing, m, w)) {
            Ok(found) => found,
            Err(e) => return Step::Done(Err(e)),
        };
        let (Some(pair), Some(slot)) = (found.pair, found.slot) else {
            return Step::Done(Err(KvError::NotFound));
        };
        let head = self.head(Kind::Tombstone, key, 0);
        let grain = match ready!(self.write(slot, head, key, &mut &[][..], FOR_DELETES, m)) {
            Ok(grain) => grain,
            Err(e) => return Step::Done(Err(e)),
        };
        self.bury(&found, slot, grain, &pair);
        self.drop_prefetched(key);
        self.stats.user_bytes_written += key.len() as u64;
        w.work(Unit::Encode, 1);
        w.work(Unit::CopyByte, u64::from(head.bytes()));
        w.work(Unit::ChecksumByte, u64::from(head.bytes()));
        Step::Done(Ok(Version(head.version)))
    }

    /// Enters a tombstone that is written.
    pub(super) fn bury(&mut self, found: &Found, slot: u64, grain: u64, pair: &Pair) {
        self.count_live(grain, 1);
        self.tombstone_bytes += u64::from(self.config.grain_bytes);
        self.forget(slot, pair.grain, &pair.head);
        self.stats.pairs -= 1;
        let (offset, passed) = (self.table.split(slot).1, self.is_passed(slot));
        self.set_entry(slot, Entry::new(offset, None, passed), Cause::User);
        let tag = self.probe.tag(found.home);
        let at = self.cached_at(slot);
        let cached = self.table.cache.get_mut(at);
        cached.tombstones.push(Tombstone { slot, tag, grain });
        self.with_tombstones.insert(cached.id);
    }

    pub(super) fn exists_once<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<(), KvError>> {
        let (m, w) = cx.parts();
        let found = match ready!(self.find(key, For::Reading, m, w)) {
            Ok(found) => found,
            Err(e) => return Step::Done(Err(e)),
        };
        self.spare = found.looked;
        Step::Done(found.pair.map(|_| ()).ok_or(KvError::NotFound))
    }
}

/// What a pair counts for: key and value, rounded up to a multiple of 8.
pub(super) fn pair_bytes(head: &Head) -> u64 {
    (u64::from(head.key_bytes) + u64::from(head.value_bytes)).next_multiple_of(8)
}
