//! From what was found to the store.

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
        self.find_passed();
        self.phase = Phase::Settle(0);
    }

    fn judge(&mut self, id: usize) {
        if self.winners.is_empty(id) {
            return;
        }
        let slots = self.store.table.section_slots;
        for offset in 0..slots {
            let Some(winner) = self.winners.get(id, offset) else { continue };
            let slot = id as u64 * u64::from(slots) + u64::from(offset);
            if !is_needed(winner, offset, self.written[id].as_deref()) {
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
            let (id, offset) = self.store.table.split(d.slot);
            let winner = self.winners.get(id as usize, offset);
            let is_it = winner.is_some_and(|w| is_pair(w) && w.version() == d.version);
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
        (next..end).for_each(|id| self.settle(id));
        self.phase = if end < self.written.len() { Phase::Settle(end) } else { Phase::Over };
    }

    fn settle(&mut self, id: usize) {
        let (entries, tombstones) = self.entries_of(id);
        self.winners.free(id);
        let written = self.written[id].take();
        let is_same = match &written {
            Some(written) => written.entries == entries,
            None => entries.is_empty(),
        };
        if let Some(written) = &written {
            self.adopt(id as u32, written);
        }
        if is_same && tombstones.is_empty() {
            return;
        }
        let section = Section::new(self.store.config.layout, self.store.table.section_slots, &entries);
        let at = self.store.cache_section(id as u32, section);
        let cached = self.store.table.cache.get_mut(at);
        (cached.is_dirty, cached.by_user) = (true, true);
        if !tombstones.is_empty() {
            self.store.with_tombstones.insert(id as u32);
            let grain_bytes = u64::from(self.store.config.grain_bytes);
            self.store.tombstone_bytes += grain_bytes * tombstones.len() as u64;
            cached.tombstones = tombstones;
        }
    }

    fn entries_of(&self, id: usize) -> (Vec<Entry>, Vec<Tombstone>) {
        let slots = self.store.table.section_slots;
        let (mut entries, mut tombstones) = (Vec::new(), Vec::new());
        let first = id as u64 * u64::from(slots);
        let mut passed = &self.passed[self.passed.partition_point(|s| *s < first)..];
        if self.winners.is_empty(id) && passed.first().is_none_or(|s| *s >= first + u64::from(slots)) {
            return (entries, tombstones);
        }
        for offset in 0..slots {
            let slot = first + u64::from(offset);
            let is_passed = passed.first() == Some(&slot);
            passed = &passed[usize::from(is_passed)..];
            let winner = self.winners.get(id, offset);
            let pair = winner.filter(|w| is_pair(*w)).map(Winner::grain);
            let entry = Entry::new(offset, pair, is_passed);
            if !entry.is_blank() {
                entries.push(entry);
            }
            if let Some(tombstone) = winner.filter(|w| !is_pair(*w)) {
                tombstones.push(Tombstone { slot, grain: tombstone.grain() });
            }
        }
        (entries, tombstones)
    }

    /// The section is on that page.
    fn adopt(&mut self, id: u32, written: &Written) {
        let geometry = self.store.log.geometry();
        let image = Image { id, entries: written.entries.clone() };
        let bytes = image.bytes(self.store.config.layout, geometry.page_bytes);
        self.store.table.places[id as usize].set_page(written.page, bytes, written.charge);
        self.store.log.add_live(geometry.segment_of(written.page), u64::from(written.charge));
    }
}

/// The newest record of a hash index is needed if the section was not written since, or was with a pair there.
fn is_needed(winner: Winner, offset: u32, written: Option<&Written>) -> bool {
    let Some(written) = written.filter(|w| winner.version() < w.stamp) else { return true };
    let at = written.entries.binary_search_by_key(&offset, |e| e.offset());
    is_pair(winner) && at.is_ok_and(|at| written.entries[at].grain().is_some())
}
