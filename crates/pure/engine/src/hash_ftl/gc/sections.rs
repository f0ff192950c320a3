// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Collecting sections: those that are still where they were found go to new pages; live-only ones are packed together
//! (Plus, section IV-B).

use super::super::HashFtl;
use super::super::config::Layout;
use super::super::stats::Cause;
use super::super::table::image::{self, Image, fits};
use super::super::table::parse;
use super::{Progress, stalled};
use saker_engine_api::KvError;
use saker_log::page_of;
use saker_segment_store::{Page, PageAddr, SegmentId, SegmentStore, Step, Stream, ready};
use saker_sim::Meter;

/// Pages a quantum looks at.
const WINDOW_PAGES: usize = 16;

impl HashFtl {
    pub(super) fn collect_sections<M: SegmentStore, W: Meter>(
        &mut self,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<Progress, KvError>> {
        let window = self.window(WINDOW_PAGES, Self::is_not_to_collect);
        if window.iter().any(|page| matches!(page_of(&self.log, m, *page), Page::Absent)) {
            return Step::Need(window);
        }
        let at_end = window.is_empty();
        for (n, page) in window.iter().enumerate() {
            if let Err(stall) = self.write_pack(false, m, w) {
                return stalled(n > 0, stall, Ok(Progress::Some));
            }
            let taken = match self.config.layout {
                Layout::Fixed => self.move_fixed(*page, m, w),
                Layout::LiveOnly { .. } => {
                    self.read_images(*page, m).map(|images| images.map(|all| self.pack(all, *page)))
                }
            };
            match taken {
                Step::Done(Ok(())) => {}
                Step::Done(Err(_)) if !self.holds_sections(*page, m) => {}
                Step::Done(Err(e)) => return Step::Done(Err(e)),
                Step::Need(_) => return Step::Need(window),
                Step::Blocked(stall) => return stalled(n > 0, stall, Ok(Progress::Some)),
            }
            self.pass_page(*page);
        }
        if let Err(stall) = self.write_pack(at_end, m, w) {
            return stalled(!at_end, stall, Ok(Progress::Some));
        }
        Step::Done(Ok(if at_end { Progress::End } else { Progress::Some }))
    }

    /// Whether a page of sections need not be looked at.
    fn is_not_to_collect(&self, page: PageAddr) -> bool {
        let needed = self.collection.as_ref().and_then(|c| c.needed.as_ref());
        match needed {
            Some(needed) => needed[self.log.geometry().index_of(page) as usize] == 0,
            None => self.is_not_to_repair(page),
        }
    }

    /// Bytes of the sections on each page of a segment, as they are now and as the directory knows; 0: there are none.
    pub(super) fn sections_on(&self, segment: SegmentId) -> Box<[u32]> {
        let geometry = self.log.geometry();
        let (first, end) =
            (geometry.page(segment, 0).0, geometry.page(segment, geometry.segment_pages - 1).0);
        let mut pages = vec![0; geometry.segment_pages as usize].into_boxed_slice();
        for (id, place) in (0..).zip(&self.table.places) {
            if let Some(page) = place.page().filter(|page| (first..=end).contains(&page.0)) {
                pages[(page.0 - first) as usize] += self.bytes_now(id);
            }
        }
        pages
    }

    /// Bytes that the copies of such sections take at most.
    pub(super) fn copies_of(&self, pages: &[u32]) -> u64 {
        let page_bytes = self.log.geometry().page_bytes;
        let copies = |bytes: &u32| match self.config.layout {
            Layout::Fixed => u64::from(bytes / page_bytes),
            Layout::LiveOnly { .. } => image::pages_max(u64::from(*bytes), page_bytes),
        };
        pages.iter().map(copies).sum::<u64>() * u64::from(page_bytes)
    }

    /// Bytes that a section takes on flash as it is now; one of a smaller table becomes two.
    fn bytes_now(&self, id: u32) -> u32 {
        let (place, page_bytes) = (self.table.places[id as usize], self.log.geometry().page_bytes);
        let is_old = || self.probe.levels().is_some_and(|levels| levels.is_old(id));
        match (self.config.layout, place.cached.checked_sub(1)) {
            (Layout::Fixed, _) => page_bytes << u32::from(is_old()),
            (Layout::LiveOnly { .. }, None) => place.bytes,
            (Layout::LiveOnly { .. }, Some(at)) => {
                image::live_bytes(self.table.cache.get(at).section.entries())
            }
        }
    }

    /// Copies the section of a page, if it is still there, as it is now. On a stall nothing happened.
    fn move_fixed<M: SegmentStore, W: Meter>(
        &mut self,
        page: PageAddr,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        let found = self.read_table(page, m, |_, data, oob| Some((parse::fixed_id(oob)?, data.to_vec())));
        let (id, data) = match ready!(found) {
            Ok(found) => found,
            Err(e) => return Step::Done(Err(e)),
        };
        let page_bytes = self.log.geometry().page_bytes;
        if self.table.places.get(id as usize).and_then(|p| p.page()) == Some(page) {
            if self.probe.levels().is_some_and(|levels| levels.is_old(id)) {
                return self.divide_for(id, None, Cause::Gc, m, w);
            }
            let reserve = self.page_copies_leave();
            if let Err(stall) = self.log.room(m, Stream::Map, page_bytes, reserve) {
                return Step::Blocked(stall);
            }
            self.ftl_stats.table_bytes_read[Cause::Gc as usize] += u64::from(page_bytes);
            self.write_fixed(id, Some(&data), m, w);
        }
        self.ftl_stats.table_pages_read[Cause::Gc as usize] += 1;
        Step::Done(Ok(()))
    }

    /// A page that was lost in a cut held nothing that anybody has relied on.
    fn holds_sections<M: SegmentStore>(&self, page: PageAddr, m: &M) -> bool {
        !matches!(page_of(&self.log, m, page), Page::Torn | Page::Erased)
    }

    /// Takes the sections of a page that are still there.
    fn pack(&mut self, images: Vec<Image>, page: PageAddr) {
        let bytes = |this: &Self, id: u32| this.table.places[id as usize].bytes;
        for image in images {
            let place = self.table.places.get(image.id as usize);
            if place.is_none_or(|p| p.page() != Some(page)) {
                continue;
            }
            let read = u64::from(bytes(self, image.id));
            self.ftl_stats.table_bytes_read[Cause::Gc as usize] += read;
            if let Some(collection) = &mut self.collection {
                collection.pack.push((image, page));
            }
        }
        self.ftl_stats.table_pages_read[Cause::Gc as usize] += 1;
    }

    /// Writes what fills a page; at the end also what does not.
    fn write_pack<M: SegmentStore, W: Meter>(
        &mut self,
        at_end: bool,
        m: &mut M,
        w: &mut W,
    ) -> Result<(), saker_segment_store::Stall> {
        loop {
            let Some(page) = self.next_of_pack(at_end) else { return Ok(()) };
            let page_bytes = self.log.geometry().page_bytes;
            let reserve = self.page_copies_leave();
            self.log.room(m, Stream::Map, page_bytes, reserve)?;
            let taken = page.len();
            self.write_images(page, true, m, w);
            if let Some(collection) = &mut self.collection {
                collection.pack.drain(..taken);
            }
        }
    }

    /// The next page's worth of sections as they are now. Those that were written elsewhere meanwhile are dropped.
    fn next_of_pack(&mut self, at_end: bool) -> Option<Vec<Image>> {
        let (layout, page_bytes) = (self.config.layout, self.log.geometry().page_bytes);
        let mut pack = std::mem::take(&mut self.collection.as_mut()?.pack);
        pack.retain(|(image, from)| self.table.places[image.id as usize].page() == Some(*from));
        let (mut used, mut images) = (0, Vec::new());
        for (image, _) in &pack {
            let image = self.as_it_is(image);
            let bytes = image.bytes(layout, page_bytes);
            if !fits(layout, used, bytes, page_bytes) {
                break;
            }
            used += bytes;
            images.push(image);
        }
        let is_full = images.len() < pack.len() || matches!(layout, Layout::Fixed);
        self.collection.as_mut()?.pack = pack;
        (!images.is_empty() && (at_end || is_full)).then_some(images)
    }

    /// What is in memory is newer than what was read. A page's stamp covers all of it.
    fn as_it_is(&self, image: &Image) -> Image {
        match self.table.places[image.id as usize].cached.checked_sub(1) {
            None => image.clone(),
            Some(at) => Image { id: image.id, entries: self.table.cache.get(at).section.sorted() },
        }
    }
}
