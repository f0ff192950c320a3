// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether what a hash FTL remembers agrees with itself. Sections and records on flash are not looked at.

use super::HashFtl;
use super::table::cache::Cached;
use super::validity::Validity;
use saker_log::{LiveBytes, SegmentState, ensure};
use saker_segment_store::{PageAddr, SegmentId, SegmentStore, Stream};
use std::collections::BTreeSet;

impl HashFtl {
    /// Says what contradicts itself, if anything does.
    pub(super) fn check_all(&self, m: &dyn SegmentStore) -> Result<(), String> {
        self.log.check(m)?;
        self.prefetch.check().map_err(|e| format!("prefetch groups: {e}"))?;
        self.table.cache.check().map_err(|e| format!("the cache of sections: {e}"))?;
        self.check_live()?;
        self.check_places()?;
        let places = &mut LiveBytes::new(&self.log);
        for at in self.table.cache.from_oldest() {
            let cached = self.table.cache.get(at);
            self.check_cached(cached, places).map_err(|e| format!("section {}: {e}", cached.id))?;
        }
        self.check_tombstones()?;
        if let Validity::Invalid(invalid) = &self.validity {
            invalid.check().map_err(|e| format!("invalid mappings: {e}"))?;
        }
        self.check_work()
    }

    /// Live bytes by what there is in memory: places of sections, pages of mappings, and bits or counts of grains.
    fn check_live(&self) -> Result<(), String> {
        let (geometry, mut live) = (self.log.geometry(), LiveBytes::new(&self.log));
        let page_bytes = u64::from(geometry.page_bytes);
        for (id, place) in (0u32..).zip(&self.table.places) {
            let Some(page) = place.page() else { continue };
            let found = live.add(page.0 * page_bytes, page_bytes, u64::from(place.charge));
            found.map_err(|e| format!("section {id}: {e}"))?;
            self.check_stream(page, Stream::Map).map_err(|e| format!("section {id}: {e}"))?;
        }
        let mut records = 0;
        for n in 0..geometry.segments {
            let (id, s) = (SegmentId(n), self.log.segment(SegmentId(n)));
            if s.state != SegmentState::Absent && s.stream().holds_records() {
                records += s.live_bytes;
                let invalid = self.check_grains(id, &mut live)?;
                let most = live.written(id).saturating_sub(invalid);
                let known = s.live_bytes <= most;
                ensure(known, || format!("{} bytes live in segment {n}, {most} can", s.live_bytes))?;
            }
            for page in self.validity.invalid().map_or(&[][..], |invalid| invalid.pages(id)) {
                let found = live.add(page.0 * page_bytes, page_bytes, page_bytes);
                found.map_err(|e| format!("mappings of segment {n}: {e}"))?;
                self.check_stream(*page, Stream::Invalid)?;
            }
        }
        live.compare()?;
        let noted = self.data_bytes;
        ensure(records == noted, || format!("{records} bytes of records live, noted: {noted}"))
    }

    fn check_stream(&self, page: PageAddr, stream: Stream) -> Result<(), String> {
        let found = self.log.segment(self.log.geometry().segment_of(page)).stream();
        ensure(found == stream, || format!("page {} is of the stream {found:?}", page.0))
    }

    /// Counts the grains of a segment of records that are needed, or gives the bytes of those that are not.
    fn check_grains(&self, id: SegmentId, live: &mut LiveBytes<'_>) -> Result<u64, String> {
        let segment_grains = self.page_grains() * u64::from(self.log.geometry().segment_pages);
        let first = u64::from(id.0) * segment_grains;
        let grain_bytes = u64::from(self.config.grain_bytes);
        match &self.validity {
            Validity::Bitmap(bits) => {
                for grain in (first..first + segment_grains).filter(|grain| bits.get(*grain)) {
                    live.add(grain * grain_bytes, grain_bytes, grain_bytes)?;
                }
                Ok(0)
            }
            Validity::Invalid(invalid) => {
                live.trust(id);
                Ok(invalid.grains(id) * grain_bytes)
            }
        }
    }

    /// The directory and the cache name each other.
    fn check_places(&self) -> Result<(), String> {
        let mut cached = 0;
        for (id, place) in (0u32..).zip(&self.table.places) {
            let Some(at) = place.cached.checked_sub(1) else { continue };
            cached += 1;
            let found = self.table.cache.find(at).map(|cached| cached.id);
            ensure(found == Some(id), || format!("section {id} is in memory where {found:?} is"))?;
        }
        let len = self.table.cache.len();
        ensure(cached == len, || format!("{len} sections are in memory, the directory knows {cached}"))?;
        let Some(levels) = self.probe.levels() else { return Ok(()) };
        let deeper = levels.base(levels.level() + 1) as usize;
        let early = self.table.places.iter().skip(deeper).position(|place| !place.is_absent());
        ensure(early.is_none(), || format!("section {early:?} of a table that is to come is there"))
    }

    /// Entries lead to grains that are needed; a clean section is on flash, or says nothing.
    fn check_cached(&self, cached: &Cached, places: &mut LiveBytes<'_>) -> Result<(), String> {
        let (layout, slots) = (self.config.layout, self.table.section_slots);
        let entries = cached.section.check(slots)?;
        let bytes = cached.section.bytes(layout, self.log.geometry().page_bytes);
        let noted = cached.bytes();
        ensure(bytes == noted, || format!("it takes {bytes} bytes, noted: {noted}"))?;
        let is_on_flash = self.table.places[cached.id as usize].page().is_some();
        // The half of a section that could not be divided yet is there on its parent's page.
        let is_half = self.probe.levels().is_some_and(|levels| levels.parent(cached.id).is_some());
        let kept = cached.is_dirty || is_on_flash || is_half || entries.is_empty();
        ensure(kept, || format!("its {} entries are nowhere else, and it is clean", entries.len()))?;
        let own = cached.tombstones.iter().map(|t| t.grain);
        let grains: Vec<u64> = entries.iter().filter_map(|e| e.grain()).chain(own).collect();
        let mut sorted = grains.clone();
        sorted.sort_unstable();
        let distinct = sorted.windows(2).all(|two| two[0] < two[1]);
        ensure(distinct, || "two of its hash indexes have one record".into())?;
        grains.into_iter().try_for_each(|grain| self.check_grain(grain, places))
    }

    fn check_grain(&self, grain: u64, places: &mut LiveBytes<'_>) -> Result<(), String> {
        let grain_bytes = u64::from(self.config.grain_bytes);
        places.add(grain * grain_bytes, grain_bytes, 0)?;
        let s = self.log.segment(self.segment_of_grain(grain));
        ensure(s.stream().holds_records(), || format!("grain {grain} is of the stream {:?}", s.stream()))?;
        let needed = match &self.validity {
            Validity::Bitmap(bits) => bits.get(grain),
            Validity::Invalid(invalid) => !invalid.is_dead(self.page_of_grain(grain).0),
        };
        ensure(needed, || format!("nobody needs grain {grain}"))
    }

    fn check_tombstones(&self) -> Result<(), String> {
        let cached = || self.table.cache.from_oldest().map(|at| self.table.cache.get(at));
        let with: BTreeSet<u32> = cached().filter(|c| !c.tombstones.is_empty()).map(|c| c.id).collect();
        let noted = &self.with_tombstones;
        ensure(with == *noted, || format!("sections {with:?} have tombstones, noted: {noted:?}"))?;
        let bytes =
            cached().map(|c| c.tombstones.len() as u64).sum::<u64>() * u64::from(self.config.grain_bytes);
        let noted = self.tombstone_bytes;
        ensure(bytes == noted, || format!("tombstones take {bytes} bytes, noted: {noted}"))?;
        let is_kept = |id| cached().any(|c| c.id == id && c.is_dirty);
        let gone = self.twice.unwritten().find(|id| !is_kept(*id));
        ensure(gone.is_none(), || {
            format!("section {gone:?} is to be written, and is not in memory or not dirty")
        })?;
        let stray = cached().find(|c| c.tombstones.iter().any(|t| self.table.split(t.slot).0 != c.id));
        ensure(stray.is_none(), || format!("a tombstone in the wrong section: {:?}", stray.map(|c| c.id)))
    }

    /// What is under way refers to what is there.
    fn check_work(&self) -> Result<(), String> {
        let sections = self.table.places.len();
        let awaited = self.awaited.iter().all(|id| (*id as usize) < sections);
        ensure(awaited, || format!("a section is waited for that there is not: {:?}", self.awaited))?;
        let collected = self.validity.invalid().and_then(|invalid| invalid.collected());
        let Some(collection) = &self.collection else {
            return ensure(collected.is_none(), || format!("nothing collects {collected:?}"));
        };
        let (id, s) = (collection.segment, self.log.segment(collection.segment));
        let same = collected.is_none_or(|collected| collected == id);
        ensure(same, || format!("mappings are gathered of {collected:?}, collected is {id:?}"))?;
        let held = matches!(s.state, SegmentState::Open | SegmentState::Closed);
        let inside = collection.next_page <= s.next_page;
        ensure(held && inside, || format!("a collection is at page {} of {s:?}", collection.next_page))?;
        let known = collection.pack.iter().all(|(image, _)| (image.id as usize) < sections);
        ensure(known, || "a collection packs a section that there is not".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash_ftl::HashFtlConfig;
    use crate::planted::Worn;

    fn worn(config: impl Fn(&saker_segment_store::Geometry, u32) -> HashFtlConfig) -> Worn<HashFtl> {
        Worn::new(128, |m| {
            let config = config(&m.geometry(), m.quota_segments());
            HashFtl::new(HashFtlConfig { cache_bytes: 4 << 10, ..config }, m)
        })
    }

    type Fault = (&'static str, fn(&mut HashFtl));

    const COMMON: [Fault; 10] = [
        ("live bytes of all", |s| s.data_bytes += 64),
        ("bytes of tombstones", |s| s.tombstone_bytes += 64),
        ("a section to be written that is not in memory", |s| s.twice.found(9000)),
        ("sections with tombstones", |s| _ = s.with_tombstones.insert(3)),
        ("the charge of a section", |s| written(s).charge += 8),
        ("the place of a section", |s| {
            let place = *written(s);
            written(s).set_page(PageAddr(place.page().expect("written").0 + 1000), place.bytes, place.charge);
        }),
        ("a section that is not in memory", |s| written(s).cached = 9000),
        ("the size of a section", |s| newest(s, |c, at| c.resized(at, 1))),
        ("an entry", |s| {
            newest(s, |c, at| {
                let slots = 1000;
                let entry = c.get(at).section.sorted()[0].moved_to(1 << 30);
                c.get_mut(at).section.set(entry, super::super::Layout::Fixed, slots);
            });
        }),
        ("a collection of what is free", |s| {
            let free = (0..48).map(SegmentId).find(|id| s.log.segment(*id).state == SegmentState::Absent);
            s.begin_collection(crate::hash_ftl::gc::victim::Victim::of(free.expect("one is free")));
        }),
    ];

    fn written(s: &mut HashFtl) -> &mut crate::hash_ftl::table::SectionAddr {
        s.table.places.iter_mut().find(|p| p.page().is_some()).expect("a section on flash")
    }

    fn newest(s: &mut HashFtl, change: impl FnOnce(&mut crate::hash_ftl::table::cache::Cache, u32)) {
        let at = s.table.cache.from_oldest().last().expect("a section in memory");
        change(&mut s.table.cache, at);
    }

    fn record_grain(s: &HashFtl) -> u64 {
        let at = s.table.cache.from_oldest().last().expect("a section in memory");
        s.table.cache.get(at).section.sorted().iter().find_map(|e| e.grain()).expect("a pair")
    }

    #[test]
    fn every_planted_fault_is_found_with_a_bitmap() {
        let worn = worn(|g, quota| HashFtlConfig::original(1, g, quota, true, 64));
        COMMON.into_iter().for_each(|(what, fault)| worn.finds(what, fault));
        worn.finds("a bit", |s| {
            let grain = record_grain(s);
            let Validity::Bitmap(bits) = &mut s.validity else { panic!("Original has a bitmap") };
            bits.clear(grain, 1);
        });
    }

    #[test]
    fn every_planted_fault_is_found_with_invalid_mappings() {
        let worn = worn(|g, quota| HashFtlConfig::plus(1, g, quota, true));
        COMMON.into_iter().for_each(|(what, fault)| worn.finds(what, fault));
        worn.finds("counts of invalid grains", |s| {
            let (grain, page) = (record_grain(s), s.page_of_grain(record_grain(s)).0);
            let invalid = s.validity.invalid_mut().expect("Plus has mappings");
            while !invalid.is_dead(page) {
                invalid.count(grain, 1);
            }
        });
        worn.finds("a page of mappings", |s| {
            let invalid = s.validity.invalid_mut().expect("Plus has mappings");
            invalid.wrote(SegmentId(0), PageAddr(0));
        });
    }
}
