//! Store, Retrieve, Delete, Exist, Flush.

use super::LsmStore;
use crate::ordered::key::{Entry, Key};
use super::space::Admission;
use super::stall::{Load, judge};
use crate::ordered::value::land;
use crate::hash_store::record::{Kind, record_bytes};
use crate::index::Loc;
use crate::kv::{Condition, KvError, Sink, Source};
use saker_log::append::Reserve;
use saker_log::{Bytes, Spot};
use saker_medium::{Medium, SegmentId, Stall, Step, Stream, Tag, ready};
use saker_sim::{Meter, Unit};

impl LsmStore {
    /// Stores a pair. The value is read once, into the log.
    pub fn store<M: Medium, W: Meter, S: Source>(
        &mut self,
        key: &[u8],
        value: &mut S,
        condition: Condition,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        let Some(name) = Key::new(key) else { return Step::Done(Err(KvError::KeySize)) };
        let value_bytes = value.bytes();
        if value_bytes > self.config.value_bytes_max {
            return Step::Done(Err(KvError::ValueSize));
        }
        if let Err(refused) = ready!(self.meets(&name, condition, m, w)) {
            return Step::Done(Err(refused));
        }
        let bytes = record_bytes(key.len() as u32, value_bytes);
        if let Err(refused) = ready!(self.may_write(&name, bytes, m, w)) {
            return Step::Done(Err(refused));
        }
        let (writer, stamp) = self.begin(Stream::User, bytes, m);
        let loc = Loc::new(writer.spot().0, bytes, key.len() as u8);
        let header = self.header(Kind::Pair, key.len(), value_bytes);
        if land(&self.log, &writer, header, key, value, m).is_err() {
            self.log.abandon(m, writer);
            return Step::Done(Err(KvError::Transfer));
        }
        self.log.commit(m, writer);
        self.know_record(bytes);
        self.enter(Entry { key: name, version: self.version, loc, stamp });
        self.written(key.len() + value_bytes as usize);
        w.work(Unit::Encode, 1);
        w.work(Unit::CopyByte, u64::from(bytes - value_bytes + value.bytes_by_core()));
        w.work(Unit::ChecksumByte, u64::from(bytes));
        w.work(Unit::Probe, 2);
        Step::Done(Ok(()))
    }

    fn written(&mut self, user_bytes: usize) {
        self.version += 1;
        self.stats.kv.user_bytes_written += user_bytes as u64;
        if self.mem.bytes() >= self.config.write_buffer_size && self.may_freeze() {
            self.freeze();
        }
    }

    /// Whether a store's condition holds.
    fn meets<M: Medium, W: Meter>(
        &self,
        key: &Key,
        condition: Condition,
        m: &M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        if condition == Condition::Always {
            return Step::Done(Ok(()));
        }
        let found = ready!(self.find_pair(key, u64::MAX, m, w));
        Step::Done(match (condition, found) {
            (_, Err(e)) => Err(e),
            (Condition::MustExist, Ok(None)) => Err(KvError::NotFound),
            (Condition::MustNotExist, Ok(Some(_))) => Err(KvError::Exists),
            _ => Ok(()),
        })
    }

    /// The pair of a key, if there is one.
    pub(super) fn find_pair<M: Medium, W: Meter>(
        &self,
        key: &Key,
        version: u64,
        m: &M,
        w: &mut W,
    ) -> Step<Result<Option<Entry>, KvError>> {
        self.find(key, version, m, w).map(|found| found.map(|e| e.filter(|e| !e.is_tombstone())))
    }

    /// Everything that can keep a new record out.
    fn may_write<M: Medium, W: Meter>(
        &mut self,
        key: &Key,
        bytes: u32,
        m: &M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        if let Some(e) = self.error {
            return Step::Done(Err(e));
        }
        match ready!(self.admit(key, bytes, m, w)) {
            Ok(Admission::Now) => {}
            Ok(Admission::Later) => return Step::Blocked(Stall::NoSegment),
            Err(refused) => return Step::Done(Err(refused)),
        }
        if !self.brake.admit(judge(&self.config, &self.load())) {
            return Step::Blocked(Stall::Debt);
        }
        let segments = self.for_pairs(m);
        match self.log.room(m, Stream::User, bytes, Reserve { slots: 6, segments }) {
            Ok(()) => Step::Done(Ok(())),
            Err(stall) => Step::Blocked(stall),
        }
    }

    /// What decides about write stalls.
    fn load(&self) -> Load {
        let full = self.mem.bytes() >= self.config.write_buffer_size;
        Load {
            memtable_stuck: full && !self.may_freeze(),
            frozen: self.frozen.len() as u32,
            level0: self.levels.level(0).len() as u32,
            pending_bytes: self.sizes.pending_bytes,
        }
    }

    /// Retrieves a pair: delivers up to `sink.room()` bytes from the start of the value and returns its length.
    /// Nothing is delivered that does not match the record's checksum.
    pub fn retrieve<M: Medium, W: Meter, K: Sink>(
        &self,
        key: &[u8],
        sink: &mut K,
        m: &M,
        w: &mut W,
    ) -> Step<Result<u32, KvError>> {
        self.retrieve_at(key, u64::MAX, sink, m, w)
    }

    /// The same at a snapshot.
    pub fn retrieve_seen<M: Medium, W: Meter, K: Sink>(
        &self,
        key: &[u8],
        snapshot: super::Snapshot,
        sink: &mut K,
        m: &M,
        w: &mut W,
    ) -> Step<Result<u32, KvError>> {
        self.retrieve_at(key, snapshot.0, sink, m, w)
    }

    fn retrieve_at<M: Medium, W: Meter, K: Sink>(
        &self,
        key: &[u8],
        version: u64,
        sink: &mut K,
        m: &M,
        w: &mut W,
    ) -> Step<Result<u32, KvError>> {
        let Some(name) = Key::new(key) else { return Step::Done(Err(KvError::KeySize)) };
        let (found, mut looked) = ready!(self.find_noting(&name, version, m, w));
        let loc = match found {
            Ok(Some(e)) if !e.is_tombstone() => e.loc,
            Ok(_) => return Step::Done(Err(KvError::NotFound)),
            Err(e) => return Step::Done(Err(e)),
        };
        let range = Bytes::new(Spot(loc.position()), loc.bytes());
        match range.resident(&self.log, m) {
            Step::Done(Ok(())) => {}
            Step::Done(Err(e)) => return Step::Done(Err(e.into())),
            Step::Need(pages) => {
                looked.extend(pages);
                return Step::Need(looked);
            }
            Step::Blocked(stall) => return Step::Blocked(stall),
        }
        w.work(Unit::Decode, 1);
        w.work(Unit::ChecksumByte, u64::from(loc.bytes()));
        let copied = if sink.is_copied_by_core() { loc.bytes().min(sink.room()) } else { 0 };
        w.work(Unit::CopyByte, u64::from(copied));
        let delivered = self.records().check(key, loc, self.config.owner, m).and_then(|(start, bytes)| {
            self.records().deliver(loc, start, bytes.min(sink.room()), sink, m).map(|()| bytes)
        });
        Step::Done(delivered)
    }

    /// Deletes a pair: its tombstone is in the log before the answer.
    pub fn delete<M: Medium, W: Meter>(
        &mut self,
        key: &[u8],
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        let Some(name) = Key::new(key) else { return Step::Done(Err(KvError::KeySize)) };
        match ready!(self.find_pair(&name, u64::MAX, m, w)) {
            Ok(Some(_)) => {}
            Ok(None) => return Step::Done(Err(KvError::NotFound)),
            Err(e) => return Step::Done(Err(e)),
        }
        if let Some(e) = self.error {
            return Step::Done(Err(e));
        }
        if self.load().memtable_stuck {
            return Step::Blocked(Stall::Debt);
        }
        let bytes = record_bytes(key.len() as u32, 0);
        let segments = self.for_deletes(m);
        if let Err(stall) = self.log.room(m, Stream::User, bytes, Reserve { slots: 4, segments }) {
            return Step::Blocked(stall);
        }
        let (writer, stamp) = self.begin(Stream::User, bytes, m);
        let id = SegmentId((writer.spot().0 / self.log.geometry().segment_bytes()) as u32);
        let header = self.header(Kind::Tombstone, key.len(), 0);
        land(&self.log, &writer, header, key, &mut &[][..], m).expect("nothing is fetched for a tombstone");
        self.log.commit(m, writer);
        self.log.add_until_checkpoint(id, u64::from(bytes));
        self.enter(Entry { key: name, version: self.version, loc: Loc::NONE, stamp });
        self.written(key.len());
        w.work(Unit::Encode, 1);
        w.work(Unit::CopyByte, u64::from(bytes));
        w.work(Unit::ChecksumByte, u64::from(bytes));
        Step::Done(Ok(()))
    }

    /// Whether there is such a pair.
    pub fn exist<M: Medium, W: Meter>(&self, key: &[u8], m: &M, w: &mut W) -> Step<Result<(), KvError>> {
        let Some(name) = Key::new(key) else { return Step::Done(Err(KvError::KeySize)) };
        self.find_pair(&name, u64::MAX, m, w)
            .map(|found| found.and_then(|e| e.map(|_| ()).ok_or(KvError::NotFound)))
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

    /// Whether a Flush that returned `tag` is complete, given that all I/O up to `finished` has completed.
    pub fn is_flushed(&self, tag: Tag, finished: Tag) -> bool {
        self.log.is_safe(tag, finished)
    }
}
