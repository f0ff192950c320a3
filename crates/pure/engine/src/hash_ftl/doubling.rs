// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A table that doubles when its load passes a threshold, as RHIK's does ([`super::table::levels`]).
//!
//! A doubling changes how keys find their sections at once, and divides the sections one by one: in the background, and where
//! somebody needs one before. Both halves of a section are written when it is divided; only then it is not needed any
//! more. So whatever a cut leaves, the newest page of a section or of the one it came from says what was there, and the next
//! doubling waits until all halves are on the medium.

use super::HashFtl;
use super::reserve::{FOR_DIVISIONS, FOR_USER_SECTIONS};
use super::stats::Cause;
use super::table::entry::Entry;
use super::table::levels::Levels;
use super::table::section::Section;
use saker_engine_api::{Background, KvError};
use saker_log::append::Reserve;
use saker_segment_store::{SegmentStore, Stall, Step, Stream, Tag, ready};
use saker_sim::{Meter, Unit};

/// Where a doubling is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Doubling {
    /// Sections of the smaller table from this one on may be undivided; `None`: no doubling is on its way.
    pub next: Option<u32>,
    /// A section is full.
    pub is_wanted: bool,
    /// The last write of the doubling before.
    written: Tag,
}

impl HashFtl {
    /// Whether sections of a smaller table wait to be divided.
    pub fn is_doubling(&self) -> bool {
        self.doubling.next.is_some()
    }

    /// Sections that there are: those of the present table, and of the smaller one while they are divided.
    pub(super) fn sections_now(&self) -> u64 {
        let Some(levels) = self.probe.levels() else { return self.table.places.len() as u64 };
        let now = u64::from(levels.sections());
        if self.doubling.next.is_some() { now + now / 2 } else { now }
    }

    /// Sections that there can be at the same time: those of the largest table, and of the one before while they are divided.
    pub(super) fn sections_max(&self) -> u64 {
        let of_last = |levels: Levels| u64::from(levels.sections_last()) * 3 / 2;
        self.probe.levels().map_or(self.table.places.len() as u64, of_last)
    }

    /// Whether the table can double once more, at some time.
    fn can_double(&self) -> bool {
        self.probe.levels().is_some_and(|levels| levels.level() < levels.last())
    }

    /// Whether a doubling is on its way, or due.
    pub(super) fn doubling_is_due(&self) -> bool {
        let Some(percent) = self.config.doubles_at_percent else { return false };
        if self.doubling.next.is_some() {
            return true;
        }
        let slots = self.sections_now() * u64::from(self.table.section_slots);
        let is_loaded = self.stats.pairs * 100 >= slots * u64::from(percent);
        (is_loaded || self.doubling.is_wanted) && self.can_double()
    }

    /// A piece of a doubling: it begins, or a section is divided.
    pub(super) fn doubling_quantum<M: SegmentStore, W: Meter>(
        &mut self,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Step<Background> {
        let Some(next) = self.doubling.next else { return self.begin_doubling(finished) };
        let Some(old) = self.undivided_from(next) else {
            self.doubling.next = None;
            self.doubling.written = m.last_tag();
            return Step::Done(Background::Worked);
        };
        self.doubling.next = Some(old);
        let _ = ready!(self.divide(old, None, FOR_DIVISIONS, m, w)).map_err(|_| self.leave_undivided(old));
        Step::Done(Background::Worked)
    }

    fn begin_doubling(&mut self, finished: Tag) -> Step<Background> {
        if !self.log.is_safe(self.doubling.written, finished) {
            return Step::Done(Background::Waiting);
        }
        if let Some(levels) = self.probe.levels() {
            self.ftl_stats.doublings += 1;
            self.probe.set_level(levels.level() + 1);
            self.doubling = Doubling { next: Some(levels.base(levels.level())), ..Doubling::default() };
        }
        Step::Done(Background::Worked)
    }

    /// A section that cannot be read stays as it is: what is in it cannot be found, and is not said to be gone.
    fn leave_undivided(&mut self, old: u32) {
        self.doubling.next = Some(old + 1);
    }

    fn undivided_from(&self, next: u32) -> Option<u32> {
        let levels = self.probe.levels()?;
        (next..levels.base(levels.level())).find(|id| !self.table.places[*id as usize].is_absent())
    }

    /// The undivided section that a section comes from, if it is not there itself.
    pub(super) fn undivided(&self, id: u32) -> Option<u32> {
        if !self.table.places[id as usize].is_absent() {
            return None;
        }
        let old = self.probe.levels()?.parent(id)?;
        (!self.table.places[old as usize].is_absent()).then_some(old)
    }

    /// Whether nothing was ever in a section, nor in the one it would come from.
    pub(super) fn is_unused(&self, id: u32) -> bool {
        self.table.places[id as usize].is_absent() && self.undivided(id).is_none()
    }

    /// Divides a section for whoever needs `keep`, a half.
    pub(super) fn divide_for<M: SegmentStore, W: Meter>(
        &mut self,
        old: u32,
        keep: Option<u32>,
        cause: Cause,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        let reserve = if cause == Cause::Gc { self.sections_leave() } else { FOR_USER_SECTIONS };
        self.divide(old, keep, reserve, m, w)
    }

    /// Divides a section. On a stall nothing happened.
    fn divide<M: SegmentStore, W: Meter>(
        &mut self,
        old: u32,
        keep: Option<u32>,
        reserve: Reserve,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        let entries = match ready!(self.entries_of_old(old, m)) {
            Ok(entries) => entries,
            Err(e) => return Step::Done(Err(e)),
        };
        let page_bytes = self.log.geometry().page_bytes;
        let room = self.log.room(m, Stream::Map, 2 * page_bytes, reserve);
        let Some(levels) = self.probe.levels() else { return Step::Done(Ok(())) };
        let Some(children) = levels.children(old) else { return Step::Done(Ok(())) };
        let (layout, slots) = (self.config.layout, self.table.section_slots);
        let part = |half: usize| {
            let is_here = |e: &Entry| levels.half(levels.level_of(old), e.tag()) == half;
            let own: Vec<Entry> = entries.iter().filter_map(|e| e.for_half(is_here(e))).collect();
            Section::new(layout, slots, &own)
        };
        if let Err(stall) = room {
            // Pages cannot be made now. The half that is needed is in memory meanwhile, so that reads go on; whoever
            // divides the section later finds it there.
            let needed =
                children.iter().position(|child| Some(*child) == keep).filter(|_| m.refusal().is_some());
            let Some(half) = needed else { return Step::Blocked(stall) };
            self.cache_section(children[half], part(half));
            return Step::Done(Ok(()));
        }
        w.work(Unit::Move, entries.len() as u64);
        for (half, child) in children.into_iter().enumerate() {
            if self.table.places[child as usize].is_absent() {
                self.cache_section(child, part(half));
            }
            self.write_half(child, m, w);
        }
        self.drop_old(old);
        self.twice.section_written(old, m.last_tag());
        self.ftl_stats.sections_divided += 1;
        for child in children.into_iter().filter(|child| Some(*child) != keep) {
            self.let_go(child);
        }
        Step::Done(Ok(()))
    }

    /// The entries of a section, from memory or from its page.
    fn entries_of_old<M: SegmentStore>(&mut self, old: u32, m: &M) -> Step<Result<Vec<Entry>, KvError>> {
        let place = self.table.places[old as usize];
        if let Some(at) = place.cached.checked_sub(1) {
            return Step::Done(Ok(self.table.cache.get(at).section.sorted()));
        }
        let Some(page) = place.page() else { return Step::Done(Ok(Vec::new())) };
        let section = match ready!(self.read_section(old, page, m)) {
            Ok(section) => section,
            Err(e) => return Step::Done(Err(e)),
        };
        self.ftl_stats.table_pages_read[Cause::Rehash as usize] += 1;
        self.ftl_stats.table_bytes_read[Cause::Rehash as usize] += u64::from(place.bytes);
        Step::Done(Ok(section.sorted()))
    }

    /// Writes a half, unless it is on flash as it is in memory.
    fn write_half<M: SegmentStore, W: Meter>(&mut self, child: u32, m: &mut M, w: &mut W) {
        let place = self.table.places[child as usize];
        let Some(at) = place.cached.checked_sub(1) else { return };
        let cached = self.table.cache.get_mut(at);
        if place.page().is_some() && !cached.is_dirty {
            return;
        }
        (cached.is_dirty, cached.by_rehash) = (true, true);
        self.write_fixed(child, None, m, w);
    }

    /// Both halves of a section are on their way to flash: it is not needed any more, nor are tombstones in it.
    fn drop_old(&mut self, old: u32) {
        let place = std::mem::take(&mut self.table.places[old as usize]);
        if let Some(page) = place.page() {
            self.log.sub_live(self.log.geometry().segment_of(page), u64::from(place.charge));
        }
        let Some(at) = place.cached.checked_sub(1) else { return };
        for tombstone in self.table.cache.remove(at).tombstones {
            self.drop_tombstone(tombstone.slot, tombstone.grain);
        }
        self.tombstones_written(old);
    }

    /// A half that nobody has asked for leaves memory if that is short.
    fn let_go(&mut self, child: u32) {
        let Some(at) = self.table.places[child as usize].cached.checked_sub(1) else { return };
        if self.table.cache.is_over() && !self.table.cache.get(at).is_dirty {
            self.table.cache.remove(at);
            self.table.places[child as usize].cached = 0;
        }
    }

    /// No hash index of its section is left for a key: the table doubles, if it can.
    pub(super) fn full_section<T>(&mut self) -> Step<Result<T, KvError>> {
        if !self.can_double() {
            return Step::Done(Err(KvError::CapacityExceeded));
        }
        self.doubling.is_wanted = true;
        Step::Blocked(Stall::NoSegment)
    }
}
