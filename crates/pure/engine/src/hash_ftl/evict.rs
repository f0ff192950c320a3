// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Eviction: sections go to flash to make room in memory. Live-only sections share a page with others that are dirty, the
//! least recently used first (Plus, section IV-B).

use super::HashFtl;
use super::config::Layout;
use super::reserve::FOR_USER_SECTIONS;
use super::stats::Cause;
use super::table::image::{self, Image, fits};
use super::table::section::Section;
use saker_engine_api::Background;
use saker_segment_store::{PageAddr, SegmentId, SegmentStore, Stall, Step, Stream};
use saker_sim::{Meter, Unit};

/// Sections that are looked at for others to share a page with.
const COMPANIONS_MAX: usize = 1024;

impl HashFtl {
    fn map_room<M: SegmentStore>(&self, cause: Cause, m: &M) -> Result<(), Stall> {
        let reserve = if cause == Cause::User { FOR_USER_SECTIONS } else { self.sections_leave() };
        let page_bytes = self.log.geometry().page_bytes;
        self.log.room(m, Stream::Map, page_bytes, reserve)?;
        // A collection of sections copies up to a segment, part of it behind these: without that nothing would ever be free again.
        let kept = self.log.geometry().segment_bytes() + u64::from(page_bytes);
        if self.left_for_sections(m) < kept { Err(Stall::NoSegment) } else { Ok(()) }
    }

    /// Bytes that could be appended to pages of sections.
    pub(super) fn left_for_sections<M: SegmentStore>(&self, m: &M) -> u64 {
        let segment_bytes = self.log.geometry().segment_bytes();
        self.log.left_in_segment(Stream::Map) + u64::from(m.free_segments()) * segment_bytes
    }

    /// Makes room for another section.
    pub(super) fn shrink<M: SegmentStore, W: Meter>(
        &mut self,
        cause: Cause,
        m: &mut M,
        w: &mut W,
    ) -> Result<(), Stall> {
        while self.table.cache.is_over() {
            let Some(at) = self.table.cache.oldest(self.operation) else { return Ok(()) };
            if self.table.cache.get(at).is_dirty {
                match self.write_dirty(at, cause, m, w) {
                    Ok(written) => self.ftl_stats.evictions_foreground += written,
                    // Pages cannot be made now. The cache outgrows its size meanwhile, so that reads go on.
                    Err(_) if cause == Cause::User && m.refusal().is_some() => return Ok(()),
                    Err(stall) => return Err(stall),
                }
            }
            let gone = self.table.cache.remove(at);
            self.table.places[gone.id as usize].cached = 0;
        }
        Ok(())
    }

    /// Sections that flash has as they are leave a cache that was made smaller. One that has outgrown its size by itself keeps
    /// them: it did so because pages could not be made.
    pub(super) fn give_back(&mut self) {
        while self.gives_back
            && self.table.cache.is_over()
            && let Some(at) = self.table.cache.oldest(self.operation)
            && !self.table.cache.get(at).is_dirty
        {
            let gone = self.table.cache.remove(at);
            self.table.places[gone.id as usize].cached = 0;
        }
        self.gives_back &= self.table.cache.is_over();
    }

    /// Whether the section that goes next should be written now, so that no command waits for it.
    pub(super) fn should_evict(&self) -> bool {
        let cache = &self.table.cache;
        cache.is_nearly_full()
            && cache.oldest(self.operation).is_some_and(|at| self.table.cache.get(at).is_dirty)
    }

    /// Writes the sections that go next.
    pub(super) fn evict_quantum<M: SegmentStore, W: Meter>(
        &mut self,
        m: &mut M,
        w: &mut W,
    ) -> Step<Background> {
        let Some(at) = self.table.cache.oldest(self.operation) else { return Step::Done(Background::Idle) };
        let step = self.evict_from(at, m, w);
        self.give_back();
        step
    }

    /// Writes a section in which a tombstone holds room.
    pub(super) fn write_tombstones<M: SegmentStore, W: Meter>(
        &mut self,
        m: &mut M,
        w: &mut W,
    ) -> Step<Background> {
        let Some(id) = self.with_tombstones.first() else { return Step::Done(Background::Idle) };
        let at = self.table.places[*id as usize].cached - 1;
        self.evict_from(at, m, w)
    }

    pub(super) fn evict_from<M: SegmentStore, W: Meter>(
        &mut self,
        at: u32,
        m: &mut M,
        w: &mut W,
    ) -> Step<Background> {
        match self.write_dirty(at, Cause::Gc, m, w) {
            Ok(written) => {
                self.ftl_stats.evictions_background += written;
                Step::Done(Background::Worked)
            }
            Err(stall) => Step::Blocked(stall),
        }
    }

    /// Writes a dirty section, and others with it if they fit. On a stall nothing happened.
    fn write_dirty<M: SegmentStore, W: Meter>(
        &mut self,
        first: u32,
        cause: Cause,
        m: &mut M,
        w: &mut W,
    ) -> Result<u64, Stall> {
        self.map_room(cause, m)?;
        let (layout, page_bytes) = (self.config.layout, self.log.geometry().page_bytes);
        if layout == Layout::Fixed {
            self.write_fixed(self.table.cache.get(first).id, None, m, w);
            return Ok(1);
        }
        let (mut used, mut images) = (0, Vec::new());
        let companions = self.table.cache.from_oldest().take(COMPANIONS_MAX).filter(|at| *at != first);
        for at in std::iter::once(first).chain(companions) {
            let cached = self.table.cache.get(at);
            if !cached.is_dirty {
                continue;
            }
            let bytes = image::live_bytes(cached.section.entries());
            if !fits(layout, used, bytes, page_bytes) {
                break;
            }
            used += bytes;
            images.push(Image { id: cached.id, entries: cached.section.sorted() });
        }
        let written = images.len() as u64;
        self.write_images(images, false, m, w);
        Ok(written)
    }

    /// Writes sections as they are now to a page; `packed`: by a collection. Room was looked for.
    pub(super) fn write_images<M: SegmentStore, W: Meter>(
        &mut self,
        images: Vec<Image>,
        packed: bool,
        m: &mut M,
        w: &mut W,
    ) {
        let (layout, page_bytes) = (self.config.layout, self.log.geometry().page_bytes);
        let mut page = std::mem::take(&mut self.scratch);
        page.resize(page_bytes as usize, 0);
        let oob = image::encode(layout, &images, self.version, &mut page);
        let charges = image::charges(layout, &images, packed, page_bytes);
        let bytes = images.iter().map(|i| (i.id, i.bytes(layout, page_bytes)));
        let sections: Vec<_> = bytes.zip(charges).map(|((id, bytes), charge)| (id, bytes, charge)).collect();
        self.append_table(&page, &oob, &sections, m, w);
        self.scratch = page;
    }

    /// Writes a fixed section to a page: as it is in memory, or as it was found on a page. Room was looked for.
    pub(super) fn write_fixed<M: SegmentStore, W: Meter>(
        &mut self,
        id: u32,
        found: Option<&[u8]>,
        m: &mut M,
        w: &mut W,
    ) {
        let page_bytes = self.log.geometry().page_bytes;
        let cached = self.table.places[id as usize].cached.checked_sub(1).map(|at| self.table.cache.get(at));
        let sections = [(id, page_bytes, page_bytes)];
        match (cached.map(|c| &c.section), found) {
            (Some(Section::Offsets(entries)), _) => {
                let mut page = std::mem::take(&mut self.scratch);
                page.resize(page_bytes as usize, 0);
                let oob = image::encode_fixed(id, entries, self.version, &mut page);
                self.append_table(&page, &oob, &sections, m, w);
                self.scratch = page;
            }
            (_, Some(page)) => {
                self.append_table(page, &image::fixed_oob(id, self.version), &sections, m, w);
            }
            _ => unreachable!("what is evicted is in memory, and of the layout"),
        }
    }

    /// Appends a page of sections, each with its bytes and its charge.
    fn append_table<M: SegmentStore, W: Meter>(
        &mut self,
        page: &[u8],
        oob: &[u8],
        sections: &[(u32, u32, u32)],
        m: &mut M,
        w: &mut W,
    ) {
        let page_bytes = self.log.geometry().page_bytes;
        let in_order = self.orders_sections(m);
        let writer = self.log.begin(m, Stream::Map, page_bytes);
        let at = PageAddr(writer.log_addr().0 / u64::from(page_bytes));
        self.log.put(m, &writer, 0, page);
        self.log.put_oob(m, &writer, 0, oob);
        if in_order {
            self.log.commit_in_order(m, writer);
        } else {
            self.log.commit(m, writer);
        }
        w.work(Unit::CopyByte, u64::from(page_bytes));
        w.work(Unit::PageSwitch, 1);
        let cause = self.cause_of(sections[0].0);
        self.ftl_stats.table_pages_written[cause as usize] += 1;
        for (id, bytes, charge) in sections {
            self.section_written(*id, at, *bytes, *charge);
            self.twice.section_written(*id, m.last_tag());
        }
    }

    /// Who changed a section.
    fn cause_of(&self, id: u32) -> Cause {
        let cached = self.table.places[id as usize].cached.checked_sub(1);
        match cached.map(|at| self.table.cache.get(at)) {
            Some(cached) if cached.by_rehash => Cause::Rehash,
            Some(cached) if cached.is_dirty && cached.by_user => Cause::User,
            _ => Cause::Gc,
        }
    }

    /// A section is on flash as it is in memory: tombstones in it are not needed any more.
    fn section_written(&mut self, id: u32, page: PageAddr, bytes: u32, charge: u32) {
        let cause = self.cause_of(id);
        self.ftl_stats.table_bytes_written[cause as usize] += u64::from(bytes);
        let place = &mut self.table.places[id as usize];
        let old = place.page().map(|p| (p, place.charge));
        place.set_page(page, bytes, charge);
        let cached = place.cached;
        let segment = |p| self.log.geometry().segment_of(p);
        let (to, from): (SegmentId, _) = (segment(page), old.map(|(p, charge)| (segment(p), charge)));
        self.log.add_live(to, u64::from(charge));
        if let Some((from, charge)) = from {
            self.log.sub_live(from, u64::from(charge));
        }
        let Some(at) = cached.checked_sub(1) else { return };
        let cached = self.table.cache.get_mut(at);
        (cached.is_dirty, cached.by_user, cached.by_rehash) = (false, false, false);
        for tombstone in std::mem::take(&mut cached.tombstones) {
            self.drop_tombstone(tombstone.slot, tombstone.grain);
        }
        self.tombstones_written(id);
    }

    /// No tombstone of a section is needed any more.
    pub(super) fn tombstones_written(&mut self, id: u32) {
        self.with_tombstones.remove(&id);
        if self.with_tombstones.is_empty() {
            self.wants_room = false;
        }
    }

    pub(super) fn drop_tombstone(&mut self, slot: u64, grain: u64) {
        self.tombstone_bytes -= u64::from(self.config.grain_bytes);
        self.count_dead(slot, grain, 1);
    }
}
