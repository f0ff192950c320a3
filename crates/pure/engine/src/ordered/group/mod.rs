// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups: many operations in one call, one record of the value log, one version.
//!
//! The payload is the record, as the hash store has it ([`saker_value_log::group`]): entries point at its members, recovery
//! and collections walk them like records of their own, and what a collection keeps becomes one. Recovery has the whole record
//! or nothing of it. Members with one version enter the memtable together, so no snapshot sees a part of them.
//!
//! Stores alone land at once if there is plenty of room. Whatever else a group asks for is looked up first, all keys together,
//! and its payload waits aside; `Need` names the pages of all of them.

mod apply;
mod look;

use super::ample::Coming;
use super::inside::Inside;
use super::key::Key;
use super::reserve::{DELETES_LEAVE, STORES_LEAVE};
use super::structure::{Structure, Write};
use super::{Settings, Store};
use look::Looked;
use saker_engine_api::{
    Answers, Capability, Context, GroupError, GroupSource, Groups, KvError, PairVersion, Unsupported,
};
use saker_log::append::Reserve;
use saker_log::{LogAddr, Writer};
use saker_segment_store::{SegmentStore, Step, Stream, ready};
use saker_sim::{Meter, Unit};
use saker_value_log::group::{GROUP_BYTES_MAX, Placed, Plan, seal_members};
use saker_value_log::record::{HEADER_BYTES, Header, Kind, record_bytes};

/// The shortest member: a key of up to four bytes and an empty value behind their lengths.
const MEMBER_BYTES_MIN: u32 = 12;
/// How many times its bytes in a payload a member counts at most.
const COUNTED_MAX: u32 = 3;
const _: () = assert!((MEMBER_BYTES_MIN + 16).next_multiple_of(8) <= COUNTED_MAX * MEMBER_BYTES_MIN);

type Refused<G> = GroupError<<G as GroupSource>::Malformed>;

impl Placed for Key {
    fn spread(self) -> usize {
        self.hash() as usize
    }
}

/// Where a record has landed: its position, and the stamp of its entries.
type Landed = (LogAddr, u64);

/// Groups that were carried out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GroupStats {
    /// Records of groups.
    pub records: u64,
    /// Pairs and tombstones in them.
    pub members: u64,
}

impl<S: Structure> Groups for Store<S> {
    fn group_bytes_max(&self) -> u32 {
        GROUP_BYTES_MAX.min(Settings::value_bytes_most(&self.log.geometry()))
    }

    fn group<M: SegmentStore, W: Meter, G: GroupSource, A: Answers>(
        &mut self,
        source: &mut G,
        answers: &mut A,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<(), Refused<G>>> {
        let (m, w) = cx.parts();
        let bytes = source.bytes();
        if source.flags().has_unknown() {
            return Step::Done(Err(GroupError::Unsupported(Unsupported(Capability::Groups))));
        }
        if bytes > self.group_bytes_max() {
            return Step::Done(Err(GroupError::TooLong));
        }
        self.close_gaps(m);
        let mut plan = std::mem::take(&mut self.plan);
        let step = if source.only_stores() && self.upkeep.error().is_none() && self.has_plenty(bytes, m) {
            self.land_group(&mut plan, source, answers, m, w)
        } else {
            self.stage_group(&mut plan, source, answers, m, w)
        };
        self.plan = plan;
        // With a packing policy DMA reaches memory pages only, and groups are packed.
        let is_copied = source.is_copied_by_core() || self.settings.packing.is_some();
        if matches!(step, Step::Done(Ok(()))) && is_copied {
            w.work(Unit::CopyByte, u64::from(bytes));
            self.landing.stats.memcpy_bytes += u64::from(bytes);
        }
        step
    }

    fn version<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Option<PairVersion>, KvError>> {
        self.version_of(key, &*cx.medium, cx.meter)
    }
}

impl<S: Structure> Store<S> {
    /// Whether any stores in so many bytes fit, and need not look up what they replace.
    fn has_plenty<M: SegmentStore>(&mut self, bytes: u32, m: &M) -> bool {
        let counted = u64::from(COUNTED_MAX) * u64::from(bytes);
        let members = u64::from(bytes / MEMBER_BYTES_MIN);
        let inside = if self.settings.has_inside() { Inside::of(members, counted) } else { Inside::NONE };
        let coming = Coming { entries: members, inside, bytes: counted, longest: record_bytes(0, bytes) };
        self.fits_unseen(&coming, m).is_ok()
    }

    /// Whether the record of a group may be written now. What it leaves free is what a store or a delete leaves: the entries of
    /// a group are no more than those of the records that could have filled its place.
    fn may_write_group<M: SegmentStore, E>(
        &mut self,
        record: u32,
        write: Write,
        m: &M,
    ) -> Step<Result<(), GroupError<E>>> {
        let refused = GroupError::CapacityExceeded;
        if let Err(refused) = ready!(self.may_write(write, u64::from(record), refused)) {
            return Step::Done(Err(refused));
        }
        let reserve = if write == Write::Delete {
            Reserve { slots: DELETES_LEAVE, segments: self.for_delete(m) }
        } else {
            Reserve { slots: STORES_LEAVE, segments: self.left_by_store(Some(record), m) }
        };
        self.room(record, reserve, m).map(|room| room.map_err(|_| GroupError::CapacityExceeded))
    }

    /// The short way, for stores: the payload is parsed where it has landed.
    fn land_group<M: SegmentStore, W: Meter, G: GroupSource, A: Answers>(
        &mut self,
        plan: &mut Plan<Key>,
        source: &mut G,
        answers: &mut A,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), Refused<G>>> {
        let record = record_bytes(0, source.bytes());
        if let Err(refused) = ready!(self.may_write_group(record, Write::Store, m)) {
            return Step::Done(Err(refused));
        }
        let (writer, stamp) = self.begin(Stream::User, (0, record), m);
        let landed = if self.log.chunk_mut(m, &writer, 0).len() == record as usize {
            self.land_in_place(plan, source, &writer, m)
        } else {
            self.land_in_pieces(plan, source, &writer, m)
        };
        if let Err(refused) = landed {
            self.log.abandon(m, writer);
            return Step::Done(Err(refused));
        }
        let log_addr = writer.log_addr();
        if plan.writes() {
            self.commit_group(source, writer, m);
        } else {
            self.log.abandon(m, writer);
        }
        self.apply(plan, &Looked::default(), (log_addr, stamp), answers, m, w);
        Step::Done(Ok(()))
    }

    /// Makes a record count: one that is done as a whole only behind all that it may have read.
    #[inline]
    fn commit_group<M: SegmentStore, G: GroupSource>(&mut self, source: &G, writer: Writer, m: &mut M) {
        if source.flags().is_atomic() {
            self.log.commit_in_order(m, writer);
        } else {
            self.log.commit(m, writer);
        }
    }

    fn land_in_place<M: SegmentStore, G: GroupSource>(
        &self,
        plan: &mut Plan<Key>,
        source: &mut G,
        writer: &Writer,
        m: &mut M,
    ) -> Result<(), Refused<G>> {
        let header = self.group_header(source);
        let used = (HEADER_BYTES + header.value_bytes) as usize;
        let record = self.log.chunk_mut(m, writer, 0);
        let payload = &mut record[HEADER_BYTES as usize..used];
        source.read(payload).map_err(|_| GroupError::Transfer)?;
        plan.read(source, payload, self.settings.value_bytes_max, Key::new)?;
        plan.atomic(source.flags())?;
        self.place_members(plan);
        seal_members(plan, payload);
        record[used..].fill(0);
        saker_value_log::record::seal(header, &mut record[..used]);
        Ok(())
    }

    /// The same for a record that crosses pages: it is put together aside.
    #[cold]
    fn land_in_pieces<M: SegmentStore, G: GroupSource>(
        &self,
        plan: &mut Plan<Key>,
        source: &mut G,
        writer: &Writer,
        m: &mut M,
    ) -> Result<(), Refused<G>> {
        let mut record = std::mem::take(&mut plan.payload);
        record.clear();
        record.resize((HEADER_BYTES + source.bytes()) as usize, 0);
        let payload = &mut record[HEADER_BYTES as usize..];
        let read = source.read(payload).map_err(|_| GroupError::Transfer);
        let planned = read
            .and_then(|()| plan.read(source, payload, self.settings.value_bytes_max, Key::new))
            .and_then(|()| plan.atomic(source.flags()));
        if planned.is_ok() {
            self.place_members(plan);
            self.put_group(plan, source, &mut record, writer, m);
        }
        plan.payload = record;
        planned
    }

    /// Seals a whole record and writes it to its place.
    fn put_group<M: SegmentStore, G: GroupSource>(
        &self,
        plan: &Plan<Key>,
        source: &G,
        record: &mut Vec<u8>,
        writer: &Writer,
        m: &mut M,
    ) {
        let header = self.group_header(source);
        seal_members(plan, &mut record[HEADER_BYTES as usize..]);
        saker_value_log::record::seal(header, record);
        record.resize(header.record_bytes() as usize, 0);
        self.log.put(m, writer, 0, record);
    }

    /// The long way: the payload is looked at before it has a place.
    fn stage_group<M: SegmentStore, W: Meter, G: GroupSource, A: Answers>(
        &mut self,
        plan: &mut Plan<Key>,
        source: &mut G,
        answers: &mut A,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), Refused<G>>> {
        let mut record = std::mem::take(&mut plan.payload);
        record.clear();
        record.resize(HEADER_BYTES as usize, 0);
        let staged = source.staged().map(|bytes| record.extend_from_slice(bytes));
        let payload = &record[HEADER_BYTES as usize..];
        let planned = match staged {
            Err(_) => Err(GroupError::Transfer),
            Ok(()) => plan.read(source, payload, self.settings.value_bytes_max, Key::new),
        };
        let step = match planned {
            Err(refused) => Step::Done(Err(refused)),
            Ok(()) => self.execute_staged(plan, source, &mut record, answers, m, w),
        };
        plan.payload = record;
        step
    }

    fn execute_staged<M: SegmentStore, W: Meter, G: GroupSource, A: Answers>(
        &mut self,
        plan: &mut Plan<Key>,
        source: &G,
        record: &mut Vec<u8>,
        answers: &mut A,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), Refused<G>>> {
        let mut looked = ready!(self.look_up(plan, m, w));
        self.assign(plan, &looked);
        self.place_members(plan);
        if let Err(refused) = plan.atomic(source.flags()) {
            return Step::Done(Err(refused));
        }
        let bytes = record_bytes(0, source.bytes());
        let mut landed = (LogAddr(0), 0);
        if plan.writes() {
            if let Err(refused) = ready!(self.admit_group(plan, &mut looked, m, w)) {
                return Step::Done(Err(refused));
            }
            let write = if plan.pairs == 0 { Write::Delete } else { Write::Store };
            if let Err(refused) = ready!(self.may_write_group(bytes, write, m)) {
                return Step::Done(Err(refused));
            }
            let (writer, stamp) = self.begin(Stream::User, (0, bytes), m);
            self.put_group(plan, source, record, &writer, m);
            landed = (writer.log_addr(), stamp);
            self.commit_group(source, writer, m);
        }
        looked.trails.iter().for_each(|trail| S::searched(self, trail, m, w));
        self.apply(plan, &looked, landed, answers, m, w);
        Step::Done(Ok(()))
    }

    fn group_header<G: GroupSource>(&self, source: &G) -> Header {
        Header {
            crc: 0,
            value_bytes: source.bytes(),
            version: self.version,
            kind: Kind::Group,
            key_bytes: 0,
            owner: self.settings.owner,
            lead_bytes: source.lead_bytes() as u8,
            pad_bytes: 0,
            stays: false,
        }
    }
}
