//! Store, Delete, Exist, Flush.

use super::Store;
use super::key::{Entry, Key};
use super::landing::{Incoming, Plan};
use super::refs::begin;
use super::reserve::{DELETES_LEAVE, STORES_LEAVE};
use super::space::Admission;
use super::structure::Structure;
use saker_engine_api::{Condition, KvError, Source};
use saker_log::Writer;
use saker_log::append::Reserve;
use saker_medium::{Medium, SegmentId, Stall, Step, Stream, Tag, ready};
use saker_sim::{Meter, Unit};
use saker_value_log::land::land;
use saker_value_log::record::{Header, Kind};
use saker_value_log::{Loc, Records};

impl<S: Structure> Store<S> {
    pub(crate) fn records(&self) -> Records<'_> {
        Records { log: &self.log }
    }

    /// Takes room in the log for a record behind a gap. The second part is the stamp of what is written there.
    pub(super) fn begin<M: Medium>(
        &mut self,
        stream: Stream,
        (gap, bytes): (u32, u32),
        m: &mut M,
    ) -> (Writer, u64) {
        begin(&mut self.log, &mut self.births, stream, (gap, bytes), m)
    }

    fn header(&self, kind: Kind, key_bytes: usize, value_bytes: u32) -> Header {
        let (version, owner) = (self.version, self.settings.owner);
        Header {
            crc: 0,
            value_bytes,
            version,
            kind,
            key_bytes: key_bytes as u8,
            owner,
            lead_bytes: 0,
            pad_bytes: 0,
        }
    }

    /// Stores a pair. The value is read once, into the log.
    pub fn store<M: Medium, W: Meter, V: Source>(
        &mut self,
        key: &[u8],
        value: &mut V,
        condition: Condition,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        let Some(name) = Key::new(key) else { return Step::Done(Err(KvError::KeySize)) };
        let value_bytes = value.bytes();
        if value_bytes > self.settings.value_bytes_max {
            return Step::Done(Err(KvError::ValueSize));
        }
        if let Err(refused) = ready!(self.meets(&name, condition, m, w)) {
            return Step::Done(Err(refused));
        }
        let held = value.bytes_held();
        let plan = self.plan_record(Incoming { key_bytes: key.len() as u32, value_bytes, held }, m);
        if let Err(refused) = ready!(self.may_store(&name, plan, m, w)) {
            return Step::Done(Err(refused));
        }
        let (bytes, room) = (plan.bytes, self.take_room(plan, m));
        let (loc, stamp) = (Loc::new(room.position(), bytes, key.len() as u8), room.stamp);
        let header = Header { pad_bytes: plan.pad_bytes, ..self.header(Kind::Pair, key.len(), value_bytes) };
        if land(&self.log, (&room.writer, room.from), header, key, value, m).is_err() {
            self.abandon_record(room, m);
            return Step::Done(Err(KvError::Transfer));
        }
        self.commit_record(room, m);
        self.enter(Entry { key: name, version: self.version, loc, stamp });
        self.written(key.len() + value_bytes as usize);
        w.work(Unit::Encode, 1);
        w.work(
            Unit::CopyByte,
            u64::from(bytes - value_bytes + self.copied_by_core(&plan, value.bytes_by_core())),
        );
        w.work(Unit::ChecksumByte, u64::from(bytes));
        w.work(Unit::Probe, 2);
        Step::Done(Ok(()))
    }

    /// All entries of a write are in.
    pub(super) fn written(&mut self, user_bytes: usize) {
        self.version += 1;
        self.is_stuck = false;
        self.own.wrote();
        self.kv.user_bytes_written += user_bytes as u64;
        if self.is_full() && S::may_freeze(self) {
            S::freeze(self);
        }
    }

    /// Whether a store's condition holds.
    fn meets<M: Medium, W: Meter>(
        &mut self,
        key: &Key,
        condition: Condition,
        m: &M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        if condition == Condition::Always {
            return Step::Done(Ok(()));
        }
        let found = ready!(self.find_pair(key, m, w));
        Step::Done(match (condition, found) {
            (_, Err(e)) => Err(e),
            (Condition::MustExist, Ok(None)) => Err(KvError::NotFound),
            (Condition::MustNotExist, Ok(Some(_))) => Err(KvError::Exists),
            _ => Ok(()),
        })
    }

    /// Everything that can keep a new record out.
    fn may_store<M: Medium, W: Meter>(
        &mut self,
        key: &Key,
        plan: Plan,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        if let Some(e) = self.error {
            return Step::Done(Err(e));
        }
        match ready!(self.admit(key, plan.bytes, m, w)) {
            Ok(Admission::Now) => {}
            Ok(Admission::Later) => return self.later(Stall::NoSegment, KvError::CapacityExceeded),
            Err(refused) => return Step::Done(Err(refused)),
        }
        if !S::lets_in(self, false) {
            return self.later(Stall::Debt, KvError::CapacityExceeded);
        }
        self.room_for(plan, Reserve { slots: STORES_LEAVE, segments: self.for_pairs(m) }, m)
    }

    /// Whether there is room for what a plan appends. Pages that only wait to be filled make room for it.
    fn room_for<M: Medium>(&mut self, plan: Plan, reserve: Reserve, m: &mut M) -> Step<Result<(), KvError>> {
        let Some(bytes) = plan.appended() else { return Step::Done(Ok(())) };
        let room = self.room(bytes, reserve, m);
        if matches!(room, Step::Blocked(Stall::NoSlot)) {
            self.close_gaps(m);
        }
        room
    }

    /// Whether the log has room for a record, and tables for its entry: where segments are short a record may fit the open one, but
    /// not what its entry makes flushes write.
    pub(super) fn room<M: Medium>(&self, bytes: u32, reserve: Reserve, m: &M) -> Step<Result<(), KvError>> {
        if self.is_short {
            return self.later(Stall::NoSegment, KvError::CapacityExceeded);
        }
        match self.log.room(m, Stream::User, bytes, reserve) {
            Ok(()) => Step::Done(Ok(())),
            Err(Stall::NoSegment) if S::is_exhausted(self, m) => Step::Done(Err(KvError::CapacityExceeded)),
            Err(Stall::NoSegment) => self.later(Stall::NoSegment, KvError::CapacityExceeded),
            Err(stall) => Step::Blocked(stall),
        }
    }

    /// What waits for background work waits, unless that waits itself: the store is above its capacity then, since what it holds
    /// takes more room than when it was let in, and only deletes can help.
    pub(super) fn later<T, E>(&self, stall: Stall, refused: E) -> Step<Result<T, E>> {
        if self.is_stuck { Step::Done(Err(refused)) } else { Step::Blocked(stall) }
    }

    /// Deletes a pair: its tombstone is in the log before the answer.
    pub fn delete<M: Medium, W: Meter>(
        &mut self,
        key: &[u8],
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        let Some(name) = Key::new(key) else { return Step::Done(Err(KvError::KeySize)) };
        match ready!(self.find_pair(&name, m, w)) {
            Ok(Some(_)) => {}
            Ok(None) => return Step::Done(Err(KvError::NotFound)),
            Err(e) => return Step::Done(Err(e)),
        }
        if let Some(e) = self.error {
            return Step::Done(Err(e));
        }
        if !S::lets_in(self, true) {
            return self.later(Stall::Debt, KvError::CapacityExceeded);
        }
        let reserve = Reserve { slots: DELETES_LEAVE, segments: self.for_delete(m) };
        let record = Incoming { key_bytes: key.len() as u32, value_bytes: 0, held: 0 };
        let plan = self.plan_record(record, m);
        if let Err(refused) = ready!(self.room_for(plan, reserve, m)) {
            return Step::Done(Err(refused));
        }
        let (bytes, room) = (plan.bytes, self.take_room(plan, m));
        let header = self.header(Kind::Tombstone, key.len(), 0);
        let (id, stamp) = (self.segment_at(room.position()), room.stamp);
        land(&self.log, (&room.writer, room.from), header, key, &mut &[][..], m)
            .expect("nothing is fetched for a tombstone");
        self.commit_record(room, m);
        self.log.add_until_checkpoint(id, u64::from(bytes));
        self.enter(Entry { key: name, version: self.version, loc: Loc::NONE, stamp });
        self.written(key.len());
        w.work(Unit::Encode, 1);
        w.work(Unit::CopyByte, u64::from(bytes));
        w.work(Unit::ChecksumByte, u64::from(bytes));
        Step::Done(Ok(()))
    }

    /// The segment of a position in the log.
    pub(super) fn segment_at(&self, position: u64) -> SegmentId {
        SegmentId((position / self.log.geometry().segment_bytes()) as u32)
    }

    /// Whether there is such a pair.
    pub fn exist<M: Medium, W: Meter>(&mut self, key: &[u8], m: &M, w: &mut W) -> Step<Result<(), KvError>> {
        let Some(name) = Key::new(key) else { return Step::Done(Err(KvError::KeySize)) };
        self.find_pair(&name, m, w).map(|found| found.and_then(|e| e.map(|_| ()).ok_or(KvError::NotFound)))
    }

    /// Makes everything acknowledged so far proof against the loss of the ring where it can be lost. The flush
    /// is complete when the returned tag and everything before it has completed and a sync has followed.
    pub fn flush<M: Medium>(&mut self, m: &mut M) -> Tag {
        if !self.settings.ring_lasts {
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
