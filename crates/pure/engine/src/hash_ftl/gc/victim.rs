// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which segment is collected: cost-benefit while there is time, greedy when commands are about to wait, or always if that was asked
//! for, and now and then the least worn one.
//!
//! Cost-benefit is that of the log-structured file system (Rosenblum and Ousterhout, 1992, section 3.6): what is gained times
//! its age, over what reading and writing costs.

use super::super::HashFtl;
use super::super::config::Choice;
use saker_log::{Segment, SegmentState};
use saker_segment_store::{SegmentId, SegmentStore, Stream};

/// Every so many collections look at wear.
const WEAR_INTERVAL: u64 = 16;
/// Erases that the most worn segment may be ahead of the least worn one.
const WEAR_SPREAD_MAX: u32 = 32;

/// What the choice goes by.
#[derive(Clone, Debug)]
pub struct Victims {
    /// The version at which something in a segment last became invalid.
    touched: Vec<u64>,
    chosen: u64,
}

impl Victims {
    /// Nothing has been touched.
    pub fn new(segments: u32) -> Self {
        Self { touched: vec![0; segments as usize], chosen: 0 }
    }

    /// Something in a segment became invalid.
    #[inline]
    pub fn touched(&mut self, segment: SegmentId, version: u64) {
        self.touched[segment.0 as usize] = version;
    }
}

/// A segment that is to be collected.
pub(in crate::hash_ftl) struct Victim {
    pub(super) segment: SegmentId,
    /// Of a segment of sections, bytes of those on each page, as they are now: the directory is looked through once.
    pub(super) sections: Option<Box<[u32]>>,
}

impl Victim {
    #[cfg(test)]
    pub(in crate::hash_ftl) fn of(segment: SegmentId) -> Self {
        Self { segment, sections: None }
    }
}

impl HashFtl {
    pub(super) fn choose_victim<M: SegmentStore>(&mut self, m: &M) -> Option<Victim> {
        if self.log.must_evacuate() {
            return self.log.victim().map(|segment| Victim { segment, sections: None });
        }
        self.victims.chosen += 1;
        if self.victims.chosen.is_multiple_of(WEAR_INTERVAL)
            && !self.is_pressed(m)
            && let Some(rested) = self.rested(m)
        {
            return Some(self.victim(rested));
        }
        let is_greedy = self.config.victims == Choice::Greedy || self.is_pressed(m);
        let is_gainful = |id: SegmentId, s: &Segment| self.log.gain(id) > self.lost_by(s);
        let best = |but: Option<Stream>| {
            let gainful = self.closed().filter(|(id, s)| Some(s.stream()) != but && is_gainful(*id, s));
            gainful.max_by_key(|(id, s)| (self.score(*id, s, is_greedy), u32::MAX - id.0)).map(|(id, _)| id)
        };
        let chosen = self.victim(best(None)?);
        if self.fits(&chosen, m) { Some(chosen) } else { best(Some(Stream::Map)).map(|id| self.victim(id)) }
    }

    fn victim(&self, segment: SegmentId) -> Victim {
        let holds_sections = self.log.segment(segment).stream() == Stream::Map;
        Victim { segment, sections: holds_sections.then(|| self.sections_on(segment)) }
    }

    /// Whether the copies of a segment of sections have room: sections can have grown since they were written.
    fn fits<M: SegmentStore>(&self, victim: &Victim, m: &M) -> bool {
        let copies = victim.sections.as_ref().map_or(0, |pages| self.copies_of(pages));
        copies <= self.left_for_sections(m)
    }

    /// The segment of sections or of invalid mappings whose collection gains most, if one gains a page.
    pub(super) fn most_gainful_beside_records<M: SegmentStore>(&self, m: &M) -> Option<Victim> {
        let page_bytes = u64::from(self.log.geometry().page_bytes);
        let all =
            self.closed().filter(|(id, s)| !s.stream().holds_records() && self.log.gain(*id) >= page_bytes);
        let mut all: Vec<_> = all.map(|(id, _)| (u64::MAX - self.log.gain(id), id)).collect();
        all.sort_unstable();
        all.into_iter().map(|(_, id)| self.victim(id)).find(|victim| self.fits(victim, m))
    }

    fn closed(&self) -> impl Iterator<Item = (SegmentId, &Segment)> {
        let all = (0..self.log.geometry().segments).map(SegmentId).map(|id| (id, self.log.segment(id)));
        all.filter(|(_, s)| s.state == SegmentState::Closed && s.in_flight == 0)
    }

    fn score(&self, id: SegmentId, s: &Segment, is_greedy: bool) -> u128 {
        let bytes = self.log.geometry().segment_bytes();
        let gain = u128::from(self.log.gain(id));
        if is_greedy || s.live_bytes == 0 {
            // A dead segment costs nothing but its erase.
            return gain << if s.live_bytes == 0 { 64 } else { 0 };
        }
        let age = u128::from(self.version.saturating_sub(self.victims.touched[id.0 as usize]) + 1);
        ((gain * age) << 16) / u128::from(bytes + s.live_bytes)
    }

    /// The least worn segment, if the others are far ahead of it: what is in it is not changed, so it rests.
    fn rested<M: SegmentStore>(&self, m: &M) -> Option<SegmentId> {
        let most = (0..self.log.geometry().segments).map(|n| m.epoch(SegmentId(n))).max()?;
        let (least, id) = self.closed().map(|(id, _)| (m.epoch(id), id)).min()?;
        (most - least > WEAR_SPREAD_MAX).then_some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash_ftl::HashFtlConfig;
    use crate::hash_ftl::bench::{Bench, G, OWNER};
    use crate::hash_ftl::table::image::Image;
    use saker_sim::{Class, Free};

    /// Hash indexes of a section: a page of 1024 bytes less 64.
    const SECTION_SLOTS: u64 = 120;
    /// Sections of the table, all in memory.
    const SECTIONS: u32 = 40;
    /// Sections that end on pages that are full.
    const OF_A_SEGMENT: u32 = 2 * G.segment_pages;

    fn filled(pairs: u64) -> Bench {
        let plus = HashFtlConfig::plus(OWNER, &G, G.segments, true);
        let slots = u64::from(SECTIONS) * SECTION_SLOTS;
        let mut bench = Bench::new(HashFtlConfig { slots, cache_bytes: 1 << 20, ..plus });
        (0..pairs).for_each(|key| bench.put(key, &[1; 40]));
        bench
    }

    /// Writes these sections to one page, as they are.
    fn write(bench: &mut Bench, ids: [u32; 2]) {
        let image = |id: u32| {
            let at = bench.store.table.places[id as usize].cached - 1;
            Image { id, entries: bench.store.table.cache.get(at).section.sorted() }
        };
        let images = ids.map(image).to_vec();
        bench.store.write_images(images, false, &mut bench.flash.view(OWNER, Class::Background), &mut Free);
        bench.settle();
    }

    /// Sections lie in twos on the pages of a segment, those of half of them are written anew elsewhere, and the others have
    /// grown so that no two fit a page any more: each of eight pages may take four for its copy, twice the segment.
    fn grown() -> Bench {
        let mut bench = filled(1800);
        (0..OF_A_SEGMENT + 2).step_by(2).for_each(|id| write(&mut bench, [id, id + 1]));
        (0..OF_A_SEGMENT / 2).step_by(2).for_each(|id| write(&mut bench, [id, id + 1]));
        (1800..3400).for_each(|key| bench.put(key, &[1; 40]));
        bench
    }

    /// The stream of the segment that is chosen when `free` segments are left.
    fn chosen(bench: &mut Bench, free: u32) -> Option<Stream> {
        let view = bench.flash.view(OWNER, Class::Background);
        let held = view.quota_segments() - view.free_segments();
        bench.flash.pool_mut().set_quota(OWNER, held + free);
        let view = bench.flash.view(OWNER, Class::Background);
        let victim = bench.store.choose_victim(&view)?;
        Some(bench.store.log.segment(victim.segment).stream())
    }

    /// Begun without room for its copies, a collection of sections would stop half-way, and nothing would ever be free again.
    #[test]
    fn sections_that_have_grown_are_collected_only_where_their_copies_have_room() {
        let mut bench = grown();
        let page_bytes = u64::from(G.page_bytes);
        let left = bench.store.log.left_in_segment(Stream::Map);
        assert_eq!(left, 7 * page_bytes, "17 pages and 8 are written");
        assert_eq!(chosen(&mut bench, 0), None, "7 pages are left");
        assert_eq!(chosen(&mut bench, 1), None, "23 pages are left, of 32 that the copies can take");
        assert_eq!(chosen(&mut bench, 2), Some(Stream::Map), "39 pages are left");
        // A quarter of each segment of records is needed no longer, which is less.
        bench.flash.pool_mut().set_quota(OWNER, G.segments);
        (0..1800).step_by(4).for_each(|key| bench.put(key, &[2; 40]));
        assert_eq!(chosen(&mut bench, 1), Some(Stream::User));
        assert_eq!(chosen(&mut bench, 2), Some(Stream::Map));
    }
}
