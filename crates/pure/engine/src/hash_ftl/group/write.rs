// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Judging, landing and entering the writes of a group.

use super::head::{EXTENT_BYTES, Extent};
use super::{Part, Refusal};
use crate::hash_ftl::HashFtl;
use crate::hash_ftl::lookup::Found;
use crate::hash_ftl::record::{HEAD_BYTES, Head, Kind};
use crate::hash_ftl::reserve::{FOR_DELETES, FOR_PAIRS};
use saker_engine_api::{Answers, Context, KvError, Version};
use saker_log::Writer;
use saker_segment_store::{SegmentStore, Stall, Step, Stream, ready};
use saker_sim::{Meter, Unit};
use std::collections::BTreeSet;

impl HashFtl {
    /// Carries out all writes or none.
    pub(super) fn write_group<M: SegmentStore, W: Meter, A: Answers>(
        &mut self,
        writes: &[(&[u8], Option<&[u8]>)],
        answers: &mut A,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<(), Refusal>> {
        let (m, w) = cx.parts();
        if let Err(refusal) = self.judge_lengths(writes) {
            return Step::Done(Err(refusal));
        }
        let parts = match ready!(self.find_parts(writes, m, w)) {
            Ok(parts) => parts,
            Err(refusal) => return Step::Done(Err(refusal)),
        };
        if let Err(refusal) = ready!(self.admit_group(&parts, m)) {
            return Step::Done(Err(refusal));
        }
        let Some(first) = ready!(self.land_group(&parts, m)) else {
            return Step::Done(Err(Refusal::Member(0, KvError::Transfer)));
        };
        self.enter_group(&parts, first, w);
        answers.begin(parts.len() as u32, Version(self.version - 1));
        answers.all_done(parts.len() as u32);
        Step::Done(Ok(()))
    }

    /// What is refused whatever is stored.
    fn judge_lengths(&self, writes: &[(&[u8], Option<&[u8]>)]) -> Result<(), Refusal> {
        let mut grains = u64::from(self.extent_grains());
        for (n, (key, value)) in (0..).zip(writes) {
            if self.probe.home(key).is_none() {
                return Err(Refusal::Member(n, KvError::KeySize));
            }
            let value_bytes = value.map_or(0, <[u8]>::len);
            if value_bytes > self.config.value_bytes_max as usize {
                return Err(Refusal::Member(n, KvError::ValueSize));
            }
            grains += u64::from(self.config.grains(HEAD_BYTES + key.len() as u32 + value_bytes as u32));
        }
        let most = self.config.grains(HEAD_BYTES + 16 + self.config.value_bytes_max);
        if grains > u64::from(most) { Err(Refusal::TooLong) } else { Ok(()) }
    }

    /// Grains of the record before the others.
    fn extent_grains(&self) -> u32 {
        self.config.grains(HEAD_BYTES + EXTENT_BYTES)
    }

    /// A write where it was found to go; `None` if that is not known yet.
    pub(super) fn part<'p>(
        &mut self,
        n: u32,
        (key, value): (&'p [u8], Option<&'p [u8]>),
        found: Found,
        taken: &mut BTreeSet<u64>,
    ) -> Step<Option<Result<Part<'p>, Refusal>>> {
        if value.is_none() && found.pair.is_none() {
            return Step::Done(Some(Err(Refusal::Member(n, KvError::NotFound))));
        }
        let Some(slot) = found.slot else {
            let full = ready!(self.full_section::<()>());
            let refused = |e| match e {
                KvError::CapacityExceeded => Refusal::CapacityExceeded,
                e => Refusal::Member(n, e),
            };
            return Step::Done(full.err().map(|e| Err(refused(e))));
        };
        if found.pair.is_none() {
            taken.insert(slot);
        }
        let kind = if value.is_some() { Kind::Pair } else { Kind::Tombstone };
        let head = Head {
            version: self.version + 1 + u64::from(n),
            in_group: true,
            ..self.head(kind, key, value.map_or(0, |value| value.len() as u32))
        };
        Step::Done(Some(Ok(Part { key, value, head, found, slot })))
    }

    /// Whether what the group stores fits, given what it replaces and deletes. Tombstones always do.
    fn admit_group<M: SegmentStore>(&mut self, parts: &[Part<'_>], m: &M) -> Step<Result<(), Refusal>> {
        let (mut new, mut old, mut longest, mut added) = (0, 0, self.lengths.longest(), 0);
        for part in parts {
            let bytes = self.grain_bytes_of(self.grains_of(&part.head));
            old += part.found.pair.map_or(0, |pair| self.grain_bytes_of(self.grains_of(&pair.head)));
            if part.value.is_some() {
                new += bytes;
                longest = longest.max(bytes as u32);
                added += u64::from(part.found.pair.is_none());
            }
        }
        if new <= old {
            return Step::Done(Ok(()));
        }
        let needed = self.data_bytes - old + new;
        let capacity = self.capacity_for(self.stats.pairs + added, needed, longest, m);
        if needed <= capacity {
            return Step::Done(Ok(()));
        }
        if needed - self.tombstone_bytes <= capacity {
            self.wants_room = true;
            return Step::Blocked(Stall::NoSegment);
        }
        Step::Done(Err(Refusal::CapacityExceeded))
    }

    /// Lands head and records, and makes them count; the grain of the first. `None` if a value could not be fetched.
    fn land_group<M: SegmentStore>(&mut self, parts: &[Part<'_>], m: &mut M) -> Step<Option<u64>> {
        let grain_bytes = self.config.grain_bytes;
        let mut lengths = vec![self.extent_grains() * grain_bytes];
        lengths.extend(parts.iter().map(|part| self.grains_of(&part.head) * grain_bytes));
        let total: u32 = lengths.iter().sum();
        let stores = parts.iter().any(|part| part.value.is_some());
        if self.mappings_hold_up_writes() {
            return Step::Blocked(Stall::Debt);
        }
        let reserve = if stores { FOR_PAIRS } else { FOR_DELETES };
        if let Err(stall) = self.log.room(m, Stream::User, total, reserve) {
            return Step::Blocked(stall);
        }
        if self.twice.holds_up_deletes() && parts.iter().any(|part| part.value.is_none()) {
            return Step::Blocked(Stall::Debt);
        }
        let writer = self.log.begin_all(m, Stream::User, &lengths);
        let grain = writer.log_addr().0 / u64::from(grain_bytes);
        if self.land_parts(&writer, parts, &lengths, m).is_err() {
            self.log.abandon(m, writer);
            return Step::Done(None);
        }
        self.log.commit_in_order(m, writer);
        self.ftl_stats.kv_bytes_written += u64::from(total);
        Step::Done(Some(grain + u64::from(self.extent_grains())))
    }

    fn land_parts<M: SegmentStore>(
        &mut self,
        writer: &Writer,
        parts: &[Part<'_>],
        lengths: &[u32],
        m: &mut M,
    ) -> Result<(), crate::SourceError> {
        let extent = Extent {
            second_sequence: self.log.second_sequence(writer),
            grains: lengths.iter().sum::<u32>() / self.config.grain_bytes,
            records: parts.len() as u32,
        };
        let slot = parts.first().map_or(0, |part| part.slot);
        let head = self.head(Kind::Group, &extent.encode(), 0);
        self.land(writer, (0, slot), head, &extent.encode(), &mut &[][..], m)?;
        let mut at = 0;
        for (part, before) in parts.iter().zip(lengths) {
            at += before;
            let value = &mut part.value.unwrap_or_default();
            self.land(writer, (at, part.slot), part.head, part.key, value, m)?;
        }
        Ok(())
    }

    /// Enters what is written; nothing can go wrong any more.
    fn enter_group<W: Meter>(&mut self, parts: &[Part<'_>], mut grain: u64, w: &mut W) {
        let (extent, slot) = (self.extent_grains(), parts.first().map_or(0, |part| part.slot));
        let head = grain - u64::from(extent);
        self.count_live(head, extent);
        self.count_dead(slot, head, extent);
        for part in parts {
            match (part.value, part.found.pair) {
                (None, Some(pair)) => {
                    self.bury(&part.found, part.slot, grain, &pair);
                    self.owes_order |= !self.config.ring_lasts;
                }
                _ => self.enter(&part.found, part.slot, grain, &part.head),
            }
            self.drop_prefetched(part.key);
            grain += u64::from(self.grains_of(&part.head));
            let bytes = part.key.len() + part.value.map_or(0, <[u8]>::len);
            self.stats.user_bytes_written += bytes as u64;
            w.work(Unit::Encode, 1);
            w.work(Unit::CopyByte, u64::from(part.head.bytes()));
            w.work(Unit::ChecksumByte, u64::from(part.head.bytes()));
        }
        self.version += 1 + parts.len() as u64;
    }
}
