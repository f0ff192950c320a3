// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From what was found to the store.
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

use super::{Phase, Recovery, STEP_SECTIONS, Winner, Written, is_pair};
use crate::hash_ftl::table::cache::Tombstone;
use crate::hash_ftl::table::entry::Entry;
use crate::hash_ftl::table::image::Image;
use crate::hash_ftl::table::section::Section;

impl Recovery {
    /// Which records are needed.
    pub(super) fn judge_some(&mut self, next: usize) {
        let end = (next + STEP_SECTIONS).min(self.written.len());
        (next..end).for_each(|id| self.judge(id));
        if end < self.written.len() {
            self.phase = Phase::Judge(end);
            return;
        }
        self.phase = Phase::Compare(0);
    }

    /// What is needed is known.
    pub(super) fn end_of_comparing(&mut self) {
        self.find_passed();
        self.found_level();
        self.phase = Phase::Settle(0);
    }

    fn judge(&mut self, id: usize) {
        if self.winners.is_empty(id) {
            return;
        }
        let (slots, tag) = (self.store.table.section_slots, self.tag_of(id as u32));
        for offset in 0..slots {
            let Some(winner) = self.winners.get(id, offset) else { continue };
            let slot = id as u64 * u64::from(slots) + u64::from(offset);
            if !is_needed(winner, offset, tag, self.covering(id as u32)) {
                self.winners.clear(id, offset);
                self.store.validity.found_dead(slot, winner.grain(), winner.grains());
                continue;
            }
            self.store.count_live(winner.grain(), winner.grains());
            if is_pair(winner) {
                self.store.stats.pairs += 1;
                self.store.stats.pair_bytes += winner.pair_bytes();
            }
        }
    }

    /// Pairs that are displaced and needed leave their mark on every hash index of their way.
    fn find_passed(&mut self) {
        for d in std::mem::take(&mut self.displaced) {
            let is_it = self.pair_of(&d).is_some();
            let distance = self.store.probe.distance(d.home, d.slot);
            for n in 0..distance.filter(|_| is_it).unwrap_or(0) {
                self.passed.push(self.store.probe.slot(d.home, n));
            }
        }
        self.passed.sort_unstable();
        self.passed.dedup();
    }

    /// What is needed of each section is compared with what flash has.
    pub(super) fn settle_some(&mut self, next: usize) {
        let end = (next + STEP_SECTIONS).min(self.written.len());
        (next..end).for_each(|id| self.settle(id as u32));
        self.phase = if end < self.written.len() { Phase::Settle(end) } else { Phase::Over };
    }

    /// `in_memory`: it is entered in memory, whatever flash has.
    pub(super) fn settle_section(&mut self, id: u32, in_memory: bool) {
        let (entries, tombstones) = self.entries_of(id);
        let leaves_out = self.left_out.range(self.parts(id)).next().is_some();
        self.parts(id).for_each(|part| self.winners.free(part as usize));
        let written = self.take_written(id);
        let is_same = match &written {
            Some(written) => written.entries == entries,
            None => entries.is_empty(),
        };
        if let Some(written) = &written {
            self.adopt(id, written);
        }
        if is_same && tombstones.is_empty() && !in_memory && !leaves_out {
            return;
        }
        let section = Section::new(self.store.config.layout, self.store.table.section_slots, &entries);
        let at = self.store.cache_section(id, section);
        let cached = self.store.table.cache.get_mut(at);
        (cached.is_dirty, cached.by_user) = (true, true);
        if leaves_out {
            self.store.twice.found(id);
        }
        if !tombstones.is_empty() {
            self.store.with_tombstones.insert(id);
            let grain_bytes = u64::from(self.store.config.grain_bytes);
            self.store.tombstone_bytes += grain_bytes * tombstones.len() as u64;
            cached.tombstones = tombstones;
        }
    }

    /// The entries of a section, from all the parts that were looked at.
    fn entries_of(&self, id: u32) -> (Vec<Entry>, Vec<Tombstone>) {
        let slots = self.store.table.section_slots;
        let (mut passed, mut found) = (Vec::new(), Vec::new());
        let mut tombstones = Vec::new();
        for part in self.parts(id) {
            let first = u64::from(part) * u64::from(slots);
            let from = self.passed.partition_point(|slot| *slot < first);
            let to = self.passed.partition_point(|slot| *slot < first + u64::from(slots));
            let of_part = self.passed.get(from..to).unwrap_or_default();
            passed.extend(of_part.iter().map(|slot| (slot - first) as u32));
            if self.winners.is_empty(part as usize) {
                continue;
            }
            let tag = self.tag_of(part);
            for offset in 0..slots {
                match self.winners.get(part as usize, offset) {
                    Some(winner) if is_pair(winner) => found.push((offset, winner.grain(), tag)),
                    Some(winner) => {
                        let slot = u64::from(id) * u64::from(slots) + u64::from(offset);
                        tombstones.push(Tombstone { slot, tag, grain: winner.grain() });
                    }
                    None => {}
                }
            }
        }
        (entries(&mut found, &mut passed), tombstones)
    }

    /// The section is on that page.
    pub(super) fn adopt(&mut self, id: u32, written: &Written) {
        let geometry = self.store.log.geometry();
        let image = Image { id, entries: written.entries.clone() };
        let bytes = image.bytes(self.store.config.layout, geometry.page_bytes);
        let Some(place) = self.store.table.places.get_mut(id as usize) else { return };
        place.set_page(written.page, bytes, written.charge);
        self.store.log.add_live(geometry.segment_of(written.page), u64::from(written.charge));
    }
}

/// Entries by rising offset, of pairs (offset, grain, bits of the hash) and offsets that are passed.
fn entries(found: &mut [(u32, u64, u8)], passed: &mut Vec<u32>) -> Vec<Entry> {
    found.sort_unstable();
    passed.sort_unstable();
    passed.dedup();
    let is_passed = |offset: u32| passed.binary_search(&offset).is_ok();
    let mut all: Vec<Entry> = found
        .iter()
        .map(|(offset, grain, tag)| Entry::new(*offset, Some(*grain), is_passed(*offset)).tagged(*tag))
        .collect();
    let is_pair = |offset: &u32| found.binary_search_by_key(offset, |f| f.0).is_ok();
    all.extend(passed.iter().filter(|offset| !is_pair(offset)).map(|offset| Entry::new(*offset, None, true)));
    all.sort_unstable_by_key(|e| e.offset());
    all
}

/// The newest record of a hash index is needed if the section was not written since, or was with a pair of its half there.
fn is_needed(winner: Winner, offset: u32, tag: u8, written: Option<&Written>) -> bool {
    let Some(written) = written.filter(|w| winner.version() < w.stamp) else { return true };
    let at = written.entries.binary_search_by_key(&offset, |e| e.offset()).ok();
    let is_there = |entry: &Entry| entry.grain().is_some() && entry.tag() == tag;
    is_pair(winner) && at.and_then(|at| written.entries.get(at)).is_some_and(is_there)
}
