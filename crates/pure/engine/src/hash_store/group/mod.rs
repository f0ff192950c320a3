// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups: many operations in one call, one record, one version.
//!
//! The payload is the record ([`saker_value_log::group`]), and index entries point at its members.
//!
//! A group is carried out wholly or answers `Need` or `Blocked`, before anything is done. Each member then ends as it is
//! reported, whatever became of the others. Reads are answered from the store as it is before the group, which is also
//! how the group leaves those keys: no other member may write them.

mod apply;
mod pairs;
mod plan;
mod reads;

pub use pairs::Pairs;
pub use reads::Found;

use super::HashStore;
use super::reserve::FOR_PAIRS;
use saker_engine_api::{
    Answers, Capability, Context, GroupError, GroupSource, Groups, KvError, PairVersion, Unsupported,
};
use saker_log::{LogAddr, Writer};
use saker_segment_store::{SegmentStore, Stall, Step, Stream, ready};
use saker_sim::{Meter, Unit};
use saker_value_log::group::seal::Role;
use saker_value_log::group::{GROUP_BYTES_MAX, KeyCost, counted_bytes, seal_members};
use saker_value_log::record::{self, HEADER_BYTES, Header, Kind, record_bytes};

type Refused<G> = GroupError<<G as GroupSource>::Malformed>;

impl Groups for HashStore {
    fn group_bytes_max(&self) -> u32 {
        GROUP_BYTES_MAX.min(self.config.value_bytes_max)
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
        let step = if source.only_writes() && self.has_credit_for(bytes, m) {
            self.land_group(source, answers, m, w)
        } else {
            self.stage_group(source, answers, m, w)
        };
        if matches!(step, Step::Done(Ok(()))) && source.is_copied_by_core() {
            w.work(Unit::CopyByte, u64::from(bytes));
        }
        step
    }

    /// A place is written once in the erase cycle of its segment.
    fn version<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<Option<PairVersion>, KvError>> {
        let Some(place) = self.index.place(key) else { return Step::Done(Err(KvError::KeySize)) };
        self.enter_pending();
        cx.meter.work(Unit::Probe, 2);
        let version = self.index.get(place).map(|addr| {
            let epoch = cx.medium.epoch(self.segment_of(addr.position()));
            PairVersion(u128::from(epoch) << 64 | u128::from(addr.position()))
        });
        Step::Done(Ok(version))
    }
}

impl HashStore {
    fn has_credit_for<M: SegmentStore>(&mut self, bytes: u32, m: &M) -> bool {
        if !self.credit.covers_group(bytes) {
            // No member is longer: it is members that collections copy.
            let longest = self.lengths.longest().max(record_bytes(0, bytes));
            self.take_credit(longest, m);
        }
        self.credit.covers_group(bytes)
    }

    /// The short way: the payload is parsed where it has landed.
    fn land_group<M: SegmentStore, W: Meter, G: GroupSource, A: Answers>(
        &mut self,
        source: &mut G,
        answers: &mut A,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), Refused<G>>> {
        let bytes = source.bytes();
        let record = record_bytes(0, bytes);
        if let Err(stall) = self.log.room(m, Stream::User, record, FOR_PAIRS) {
            return Step::Blocked(stall);
        }
        let writer = self.log.begin(m, Stream::User, record);
        let landed = if self.log.chunk_mut(m, &writer, 0).len() == record as usize {
            self.land_in_place(source, &writer, m, w)
        } else {
            self.land_in_pieces(source, &writer, m, w)
        };
        let are_pairs = match landed {
            Ok(are_pairs) => are_pairs,
            Err(refused) => {
                self.log.abandon(m, writer);
                return Step::Done(Err(refused));
            }
        };
        if are_pairs {
            self.commit_group(source, writer, m);
            self.apply_pairs(answers, w);
            return Step::Done(Ok(()));
        }
        let log_addr = writer.log_addr();
        if self.plan.writes() {
            self.commit_group(source, writer, m);
        } else {
            self.log.abandon(m, writer);
        }
        self.apply(log_addr, answers, m, w);
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

    /// Whether all members are pairs that will be stored.
    fn land_in_place<M: SegmentStore, W: Meter, G: GroupSource>(
        &mut self,
        source: &mut G,
        writer: &Writer,
        m: &mut M,
        w: &mut W,
    ) -> Result<bool, Refused<G>> {
        let header = self.group_header(source);
        let used = (HEADER_BYTES + header.value_bytes) as usize;
        let record = self.log.chunk_mut(m, writer, 0);
        let payload = &mut record[HEADER_BYTES as usize..used];
        source.read(payload).map_err(|_| GroupError::Transfer)?;
        let are_pairs = self.plan_and_seal(source, payload, writer.log_addr(), w)?;
        record[used..].fill(0);
        record::seal(header, &mut record[..used]);
        Ok(are_pairs)
    }

    /// The same for a record that crosses pages: it is put together aside.
    #[cold]
    fn land_in_pieces<M: SegmentStore, W: Meter, G: GroupSource>(
        &mut self,
        source: &mut G,
        writer: &Writer,
        m: &mut M,
        w: &mut W,
    ) -> Result<bool, Refused<G>> {
        let mut record = std::mem::take(&mut self.plan.payload);
        // Header and payload are written over what an earlier group has left, what pads them is cleared here.
        let end = (HEADER_BYTES + source.bytes()) as usize;
        record.resize(record_bytes(0, source.bytes()) as usize, 0);
        record[end..].fill(0);
        let payload = &mut record[HEADER_BYTES as usize..end];
        let read = source.read(payload).map_err(|_| GroupError::Transfer);
        let planned = read.and_then(|()| self.plan_and_seal(source, payload, writer.log_addr(), w));
        if planned.is_ok() {
            self.put_record(source, &mut record, writer, m);
        }
        self.plan.payload = record;
        planned
    }

    /// Reads a payload that is to lie at `log_addr`, and seals it. Whether all its members are pairs that will be stored.
    #[inline]
    fn plan_and_seal<W: Meter, G: GroupSource>(
        &mut self,
        source: &G,
        payload: &mut [u8],
        log_addr: LogAddr,
        w: &mut W,
    ) -> Result<bool, Refused<G>> {
        let are_pairs = source.only_stores() && self.plan_pairs(source, payload, log_addr)?;
        if !are_pairs {
            self.plan(source, payload, w)?;
            self.assign_others();
            self.plan.atomic(source.flags())?;
            self.credit.pay_group(self.plan.pairs, self.plan.pair_bytes);
            seal_members(&self.plan, payload);
        }
        Ok(are_pairs)
    }

    /// Writes a whole record, sealed, to its place.
    fn put_record<M: SegmentStore, G: GroupSource>(
        &self,
        source: &G,
        record: &mut [u8],
        writer: &Writer,
        m: &mut M,
    ) {
        let header = self.group_header(source);
        let end = (HEADER_BYTES + header.value_bytes) as usize;
        record::seal(header, &mut record[..end]);
        self.log.put(m, writer, 0, record);
    }

    /// Roles of the deletes of a group of writes, which are always admitted on the short way.
    fn assign_others(&mut self) {
        if self.plan.others > 0 {
            self.enter_pending();
            self.assign();
        }
    }

    /// The long way: reads, and stores when little room is left. The payload is looked at before it has a place.
    fn stage_group<M: SegmentStore, W: Meter, G: GroupSource, A: Answers>(
        &mut self,
        source: &mut G,
        answers: &mut A,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), Refused<G>>> {
        let mut payload = std::mem::take(&mut self.plan.payload);
        payload.clear();
        payload.resize(HEADER_BYTES as usize, 0);
        let staged = source.staged().map(|bytes| payload.extend_from_slice(bytes));
        let step = match staged {
            Err(_) => Step::Done(Err(GroupError::Transfer)),
            Ok(()) => self.execute_staged(source, &mut payload, answers, m, w),
        };
        self.plan.payload = payload;
        step
    }

    fn execute_staged<M: SegmentStore, W: Meter, G: GroupSource, A: Answers>(
        &mut self,
        source: &G,
        record: &mut Vec<u8>,
        answers: &mut A,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), Refused<G>>> {
        if let Err(refused) = self.plan(source, &record[HEADER_BYTES as usize..], w) {
            return Step::Done(Err(refused));
        }
        self.enter_pending();
        self.assign();
        if let Err(refused) = self.plan.atomic(source.flags()) {
            return Step::Done(Err(refused));
        }
        ready!(self.reads_resident(m, w));
        if !self.plan.writes() {
            self.apply(LogAddr(0), answers, m, w);
            return Step::Done(Ok(()));
        }
        let bytes = record_bytes(0, source.bytes());
        if let Err(refused) = ready!(self.admit_group(m)) {
            return Step::Done(Err(refused));
        }
        if let Err(stall) = self.log.room(m, Stream::User, bytes, FOR_PAIRS) {
            return Step::Blocked(stall);
        }
        seal_members(&self.plan, &mut record[HEADER_BYTES as usize..]);
        record.resize(bytes as usize, 0);
        let writer = self.log.begin(m, Stream::User, bytes);
        self.put_record(source, record, &writer, m);
        let log_addr = writer.log_addr();
        self.commit_group(source, writer, m);
        self.apply(log_addr, answers, m, w);
        Step::Done(Ok(()))
    }

    /// Whether what the group stores fits, given what it replaces. It is admitted or refused as a whole. Collections
    /// copy members, so it is the longest of these that counts and not the group's record.
    fn admit_group<M: SegmentStore, E>(&mut self, m: &M) -> Step<Result<(), GroupError<E>>> {
        self.credit.end();
        let stored = self.plan.members.iter().filter(|p| p.role == Role::Pair);
        let (mut new, mut old, mut added, mut longest_member) = (0, 0, 0, 0);
        for p in stored {
            let bytes = counted_bytes(&p.member);
            new += u64::from(bytes);
            longest_member = longest_member.max(bytes);
            let replaced = p.place.and_then(|place| self.index.get(place));
            old += replaced.map_or(0, |addr| u64::from(addr.record_bytes()));
            added += u64::from(replaced.is_none());
        }
        // As it is after the group.
        let longest = self.lengths.longest().max(longest_member);
        let capacity = self.capacity_for(self.pairs_at_most() + added, longest, m);
        let live = self.log.live_bytes();
        let never_takes_room = new <= old && longest == self.lengths.longest();
        if never_takes_room || live + new - old <= capacity {
            return Step::Done(Ok(()));
        }
        if live - old - self.log.tombstone_bytes() + new <= capacity {
            self.checkpoint.want();
            return Step::Blocked(Stall::NoSegment);
        }
        Step::Done(Err(GroupError::CapacityExceeded))
    }

    fn group_header<G: GroupSource>(&self, source: &G) -> Header {
        Header {
            crc: 0,
            value_bytes: source.bytes(),
            version: self.version,
            kind: Kind::Group,
            key_bytes: 0,
            owner: self.config.owner,
            lead_bytes: source.lead_bytes() as u8,
            pad_bytes: 0,
            stays: false,
        }
    }

    /// Charges the work of a group of `members`, of which `keys` were looked up or entered.
    fn charge<W: Meter>(&self, members: u64, bytes: u64, w: &mut W) {
        w.work(Unit::Decode, members);
        w.work(Unit::ChecksumByte, 2 * bytes);
        match self.config.group_keys {
            KeyCost::PerPair => w.work(Unit::Probe, 2 * members),
            KeyCost::Batched => {
                w.work(Unit::Probe, 2);
                w.work(Unit::Move, members);
            }
        }
    }
}
