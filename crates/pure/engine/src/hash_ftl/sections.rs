// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sections on demand.

use super::HashFtl;
use super::config::Layout;
use super::stats::Cause;
use super::table::entry::Entry;
use super::table::image::Image;
use super::table::parse;
use super::table::section::Section;
use saker_engine_api::KvError;
use saker_log::page_of;
use saker_log::recover::scan_page;
use saker_segment_store::{CellError, Page, PageAddr, PageHeader, SegmentStore, Step, ready};
use saker_sim::{Meter, Unit};

impl HashFtl {
    /// Brings a section into memory; its place in the cache. Nothing that can be observed changes.
    pub(super) fn load<M: SegmentStore, W: Meter>(
        &mut self,
        id: u32,
        cause: Cause,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<u32, KvError>> {
        let place = self.table.places[id as usize];
        if let Some(at) = place.cached.checked_sub(1) {
            self.count_cached(id, at, cause);
            self.table.cache.touch(at, self.operation);
            return Step::Done(Ok(at));
        }
        if let Some(old) = self.undivided(id) {
            match ready!(self.divide_for(old, Some(id), cause, m, w)) {
                Ok(()) => return self.load(id, cause, m, w),
                Err(e) => return Step::Done(Err(e)),
            }
        }
        let section = match place.page() {
            None => {
                self.found(cause);
                Section::new(self.config.layout, self.table.section_slots, &[])
            }
            Some(page) => {
                let section = match ready!(self.read_section(id, page, m)) {
                    Ok(section) => section,
                    Err(e) => return Step::Done(Err(e)),
                };
                self.awaited.push(id);
                self.count_read(place.bytes, cause);
                w.work(Unit::CopyByte, u64::from(place.bytes));
                section
            }
        };
        if let Err(stall) = self.shrink(cause, m, w) {
            return Step::Blocked(stall);
        }
        let at = self.cache_section(id, section);
        self.table.cache.get_mut(at).is_awaited = place.page().is_some();
        Step::Done(Ok(at))
    }

    /// One attempt at something that needs sections. What it counts of its search counts once, however many attempts it takes.
    pub(super) fn attempt<T>(&mut self, attempt: impl FnOnce(&mut Self) -> Step<T>) -> Step<T> {
        let before = self.ftl_stats;
        self.awaited.clear();
        let step = attempt(self);
        if matches!(step, Step::Done(_)) {
            self.end_wait();
        } else {
            self.ftl_stats.undo_search(&before);
        }
        step
    }

    /// The sections that were read for what has ended now are like all others.
    fn end_wait(&mut self) {
        while let Some(id) = self.awaited.pop() {
            if let Some(at) = self.table.places[id as usize].cached.checked_sub(1) {
                self.table.cache.get_mut(at).is_awaited = false;
            }
        }
    }

    /// A section is here. If an attempt before this one has read it, the first look at it is the miss.
    fn count_cached(&mut self, id: u32, at: u32, cause: Cause) {
        if !self.table.cache.get(at).is_awaited || self.awaited.contains(&id) {
            return self.found(cause);
        }
        self.awaited.push(id);
        self.ftl_stats.sections_wanted[cause as usize] += 1;
    }

    fn found(&mut self, cause: Cause) {
        self.ftl_stats.sections_wanted[cause as usize] += 1;
        self.ftl_stats.sections_found[cause as usize] += 1;
    }

    fn count_read(&mut self, bytes: u32, cause: Cause) {
        self.ftl_stats.sections_wanted[cause as usize] += 1;
        self.ftl_stats.table_pages_read[cause as usize] += 1;
        self.ftl_stats.table_bytes_read[cause as usize] += u64::from(bytes);
    }

    /// Enters a section into the cache.
    pub(super) fn cache_section(&mut self, id: u32, section: Section) -> u32 {
        let layout = self.config.layout;
        let bytes = section.bytes(layout, self.log.geometry().page_bytes);
        let at = self.table.cache.insert(id, section, bytes, self.operation);
        self.table.places[id as usize].cached = at + 1;
        at
    }

    /// The sections on a page.
    pub(super) fn read_images<M: SegmentStore>(
        &self,
        page: PageAddr,
        m: &M,
    ) -> Step<Result<Vec<Image>, KvError>> {
        self.read_table(page, m, parse::decode)
    }

    /// One of them.
    pub(super) fn read_section<M: SegmentStore>(
        &self,
        id: u32,
        page: PageAddr,
        m: &M,
    ) -> Step<Result<Section, KvError>> {
        let slots = self.table.section_slots;
        self.read_table(page, m, |layout, data, oob| Section::read(layout, slots, data, oob, id))
    }

    /// A page of sections, checked against its checksum.
    pub(super) fn read_table<M: SegmentStore, T>(
        &self,
        page: PageAddr,
        m: &M,
        read: impl FnOnce(Layout, &[u8], &[u8]) -> Option<T>,
    ) -> Step<Result<T, KvError>> {
        let sound = ready!(scan_page(&self.log, m, page)).is_ok_and(|p| p.is_some());
        let Page::Resident { data, oob } = page_of(&self.log, m, page) else {
            return Step::Done(Err(CellError::Read.into()));
        };
        let found = read(self.config.layout, data, PageHeader::owner_oob(oob));
        Step::Done(found.filter(|_| sound).ok_or(KvError::Corrupt))
    }

    /// The entry of a hash index whose section is cached.
    #[inline]
    pub(super) fn entry<W: Meter>(&mut self, at: u32, slot: u64, w: &mut W) -> Entry {
        let (_, offset) = self.table.split(slot);
        let (entry, compared) = self.table.cache.get(at).section.get(offset);
        self.ftl_stats.section_searches += 1;
        self.ftl_stats.comparisons += compared;
        w.work(Unit::Probe, 1);
        w.work(Unit::Compare, compared);
        entry
    }

    /// Changes the entry of a hash index whose section is cached.
    pub(super) fn set_entry(&mut self, slot: u64, entry: Entry, cause: Cause) {
        let (id, _) = self.table.split(slot);
        let at =
            self.table.places[id as usize].cached.checked_sub(1).expect("the operation holds its sections");
        let (layout, slots) = (self.config.layout, self.table.section_slots);
        let cached = self.table.cache.get_mut(at);
        cached.section.set(entry, layout, slots);
        cached.is_dirty = true;
        cached.by_user |= cause == Cause::User;
        let bytes = cached.section.bytes(layout, self.log.geometry().page_bytes);
        self.table.cache.resized(at, bytes);
    }
}
