// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a write needs: its condition, admission, room in the log.

use super::Store;
use super::key::Key;
use super::landing::Plan;
use super::living::Replaced;
use super::refs::begin;
use super::reserve::STORES_LEAVE;
use super::space::Admission;
use super::structure::{Structure, Write};
use saker_engine_api::{Condition, KvError};
use saker_log::Writer;
use saker_log::append::Reserve;
use saker_segment_store::{SegmentId, SegmentStore, Stall, Step, Stream, ready};
use saker_sim::Meter;
use saker_value_log::Records;
use saker_value_log::record::{Header, Kind};

impl<S: Structure> Store<S> {
    pub(crate) fn records(&self) -> Records<'_> {
        Records { log: &self.log }
    }

    /// Takes room in the log for a record behind a gap. The second part is the stamp of what is written there.
    pub(super) fn begin<M: SegmentStore>(
        &mut self,
        stream: Stream,
        (gap, bytes): (u32, u32),
        m: &mut M,
    ) -> (Writer, u64) {
        begin(&mut self.log, &mut self.births, stream, (gap, bytes), m)
    }

    pub(super) fn header(&self, kind: Kind, key_bytes: usize, value_bytes: u32) -> Header {
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
            stays: false,
        }
    }

    /// All entries of a write are in. A memtable that is full now is frozen by the write that filled it, as RocksDB's is by the next one.
    pub(super) fn written<M: SegmentStore>(&mut self, user_bytes: usize, m: &mut M) {
        self.version += 1;
        self.upkeep.wrote();
        self.own.wrote();
        self.kv.user_bytes_written += user_bytes as u64;
        self.place();
        if !self.is_full() {
            return;
        }
        if !self.may_freeze() || !self.freeze_full(m) {
            self.own.switched(true, &self.config);
        }
    }

    /// Whether a store's condition holds.
    pub(super) fn meets<M: SegmentStore, W: Meter>(
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

    /// Everything that can keep a new record out; whether its value stays beside its key, and what it replaces.
    pub(super) fn may_store<M: SegmentStore, W: Meter>(
        &mut self,
        key: &Key,
        (plan, value_bytes): (Plan, u32),
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(bool, Replaced), KvError>> {
        if let Some(e) = self.upkeep.error() {
            return Step::Done(Err(e));
        }
        let admitted = match ready!(self.admit(key, (plan.bytes, value_bytes), m, w)) {
            Ok(Admission::Now(replaced)) => (self.goes_inside(value_bytes), replaced),
            Ok(Admission::Apart(replaced)) => (false, replaced),
            Ok(Admission::Later) => return self.later(Stall::NoSegment, KvError::CapacityExceeded),
            Err(refused) => return Step::Done(Err(refused)),
        };
        let user_bytes = key.len() as u64 + u64::from(value_bytes);
        if let Err(refused) = ready!(self.may_write(Write::Store, user_bytes, KvError::CapacityExceeded)) {
            return Step::Done(Err(refused));
        }
        let reserve = Reserve { slots: STORES_LEAVE, segments: self.left_by_store(plan.appended(), m) };
        let room = self.room_for(plan, reserve, m);
        room.map(|room| room.map(|()| admitted))
    }

    /// Free segments that a store leaves, if so many bytes take one. Those that fit the open segment leave all as they are, and what else they
    /// would leave takes long to compute.
    pub(super) fn left_by_store<M: SegmentStore>(&self, bytes: Option<u32>, m: &M) -> u32 {
        let takes_one = bytes.is_some_and(|bytes| !self.log.fits_segment(Stream::User, bytes));
        if takes_one { self.for_pairs(m) } else { 0 }
    }

    /// Whether there is room for what a plan appends. Pages that only wait to be filled make room for it.
    pub(super) fn room_for<M: SegmentStore>(
        &mut self,
        plan: Plan,
        reserve: Reserve,
        m: &mut M,
    ) -> Step<Result<(), KvError>> {
        let Some(bytes) = plan.appended() else { return Step::Done(Ok(())) };
        let room = self.room(bytes, reserve, m);
        if matches!(room, Step::Blocked(Stall::NoSlot)) {
            self.close_gaps(m);
        }
        room
    }

    /// Whether the log has room for a record, and tables for its entry: where segments are short a record may fit the open one, but
    /// not what its entry makes flushes write.
    pub(super) fn room<M: SegmentStore>(
        &self,
        bytes: u32,
        reserve: Reserve,
        m: &M,
    ) -> Step<Result<(), KvError>> {
        if self.upkeep.is_short() {
            return self.later(Stall::NoSegment, KvError::CapacityExceeded);
        }
        match self.log.room(m, Stream::User, bytes, reserve) {
            Ok(()) => Step::Done(Ok(())),
            Err(Stall::NoSegment) if self.is_exhausted(m) => Step::Done(Err(KvError::CapacityExceeded)),
            Err(Stall::NoSegment) => self.later(Stall::NoSegment, KvError::CapacityExceeded),
            Err(stall) => Step::Blocked(stall),
        }
    }

    /// What waits for background work waits, unless that waits itself: the store is above its capacity then, since what it holds
    /// takes more room than when it was let in, and only deletes can help.
    pub(super) fn later<T, E>(&self, stall: Stall, refused: E) -> Step<Result<T, E>> {
        if self.upkeep.is_stuck() { Step::Done(Err(refused)) } else { Step::Blocked(stall) }
    }

    /// The segment of a position in the log.
    pub(super) fn segment_at(&self, position: u64) -> SegmentId {
        SegmentId((position / self.log.geometry().segment_bytes()) as u32)
    }
}
