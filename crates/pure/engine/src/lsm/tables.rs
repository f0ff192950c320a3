// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where tables lie: moving pages out of segments that are nearly empty or in which a program failed, and giving back
//! segments that no table and no manifest needs.

use super::LsmStore;
use super::job::Job;
use super::reserve::{FOR_MOVES, FOR_TABLE_REPAIRS};
use saker_engine_api::{Background, KvError};
use saker_log::append::Reserve;
use saker_log::{SegmentState, page_of};
use saker_segment_store::{CellError, Page, PageAddr, SegmentId, SegmentStore, Step, Stream, Tag};
use saker_sim::{Meter, Unit};
use std::ops::Range;
use std::sync::Arc;

impl LsmStore {
    /// Releases segments of tables in which nothing is needed.
    pub(super) fn release_dead_tables<M: SegmentStore>(&mut self, m: &mut M) {
        for n in 0..self.log.geometry().segments {
            let id = SegmentId(n);
            let s = self.log.segment(id);
            let dead = s.state == SegmentState::Closed && s.live_bytes == 0 && s.stream() == Stream::Table;
            if dead && !s.has_failed() {
                self.log.release(id, m);
                self.own.stats.table_segments_released += 1;
            }
        }
    }

    /// Copies failed pages that tables need. `Idle`: there are none.
    pub(super) fn repair_tables<M: SegmentStore, W: Meter>(
        &mut self,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<Background, KvError>> {
        let failed = self.log.has_failures().then(|| self.log.tables_to_repair()).flatten();
        let Some(id) = failed else { return Step::Done(Ok(Background::Idle)) };
        let geometry = self.log.geometry();
        let failed: Vec<_> =
            self.log.segment(id).failed_pages().iter().map(|n| geometry.page(id, *n)).collect();
        for page in &failed {
            if self.is_used(*page) {
                // Of both repairs that of records goes first: it needs nothing of tables, and nothing is erased before.
                let first = u32::from(self.log.must_evacuate());
                return self.relocate(*page, FOR_TABLE_REPAIRS.with_segments(first), m, w);
            }
        }
        // Where the page buffer lasts, a manifest can name a page that is only there. Where it does not, a manifest never
        // ends before what it names is programmed.
        if self.config.ring_lasts && failed.iter().any(|page| self.own.leaving.may_name(*page)) {
            self.manifest.wanted |= !self.manifest.is_running();
            return Step::Done(Ok(Background::Idle));
        }
        self.log.end_repair(id, m);
        self.log.pump(finished, m);
        Step::Done(Ok(Background::Worked))
    }

    /// The first of these pages that a table needs. All tables are looked at once, however many pages there are.
    fn first_used(&self, pages: Range<PageAddr>) -> Option<PageAddr> {
        let jobs = self.own.flush.iter().chain(&self.own.compactions).flat_map(Job::pages);
        let tables = self.own.levels.all().flat_map(|(_, table)| table.all_pages());
        jobs.chain(tables).filter(|page| pages.contains(page)).min()
    }

    fn is_used(&self, page: PageAddr) -> bool {
        self.first_used(page..PageAddr(page.0 + 1)).is_some()
    }

    /// Copies a page of a table elsewhere.
    fn relocate<M: SegmentStore, W: Meter>(
        &mut self,
        page: PageAddr,
        reserve: Reserve,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<Background, KvError>> {
        let bytes = self.log.geometry().page_bytes;
        let copy = match page_of(&self.log, m, page) {
            Page::Resident { data, .. } => data.to_vec(),
            Page::Absent => return Step::Need(vec![page]),
            Page::Erased | Page::Torn | Page::Failed => {
                return Step::Done(Err(CellError::Read.into()));
            }
        };
        if self.log.room(m, Stream::Table, bytes, reserve).is_err() {
            return Step::Done(Ok(Background::Waiting));
        }
        let writer = self.log.begin(m, Stream::Table, bytes);
        let to = PageAddr(writer.log_addr().0 / u64::from(bytes));
        self.log.put(m, &writer, 0, &copy);
        self.log.commit(m, writer);
        self.add_page(to);
        self.rename_page(page, to);
        w.work(Unit::CopyByte, u64::from(bytes));
        w.work(Unit::ChecksumByte, u64::from(bytes));
        self.own.stats.table_pages_moved += 1;
        Step::Done(Ok(Background::Worked))
    }

    fn rename_page(&mut self, from: PageAddr, to: PageAddr) {
        self.own.leaving.dying.push(from);
        let mut jobs = self.own.flush.iter_mut().chain(&mut self.own.compactions);
        if jobs.any(|job| job.rename_page(from, to)) {
            return;
        }
        let table = self.own.levels.owner_of(from).expect("some table has this page");
        Arc::make_mut(table).replace_page(from, to);
        let moved = table.clone();
        self.own.compactions.iter_mut().for_each(|job| job.refresh(&moved));
    }

    /// Empties the segment of tables with the fewest pages in use. `Idle`: none is worth it.
    pub(super) fn collect_tables<M: SegmentStore, W: Meter>(
        &mut self,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<Background, KvError>> {
        let Some(victim) = self.table_victim(m) else { return Step::Done(Ok(Background::Idle)) };
        let first = self.log.geometry().page(victim, 0);
        let end = PageAddr(first.0 + u64::from(self.log.segment(victim).next_page));
        match self.first_used(first..end) {
            Some(page) => {
                let reserve = FOR_MOVES.with_segments(self.manifest_left());
                self.relocate(page, reserve, m, w)
            }
            None => {
                let wants = !self.manifest.wanted && !self.manifest.is_running();
                self.manifest.wanted |= wants;
                // Its turn in this quantum is over: without values in tables it is due by then, whatever it frees.
                let has_found = wants && self.settings.has_inside();
                Step::Done(Ok(if has_found { Background::Worked } else { Background::Idle }))
            }
        }
    }

    /// The closed segment with the fewest pages in use, and not only waiting for a manifest: at least half of it is not used, or
    /// there is nothing else to do and a segment less would do for all tables.
    pub(super) fn table_victim<M: SegmentStore>(&self, m: &M) -> Option<SegmentId> {
        let is_victim = |id: &SegmentId| {
            let s = self.log.segment(*id);
            let closed = s.state == SegmentState::Closed && s.stream() == Stream::Table;
            closed && s.live_bytes > 0 && s.in_flight == 0 && !s.has_failed()
        };
        let all = (0..self.log.geometry().segments).map(SegmentId).filter(is_victim);
        let live = |id: &SegmentId| self.log.segment(*id).live_bytes;
        let half = self.log.geometry().segment_bytes() / 2;
        all.min_by_key(live).filter(|id| live(id) <= half || self.must_pack_tables(m))
    }

    /// Whether tables must lie closer, and can: all else is done or waits for segments.
    fn must_pack_tables<M: SegmentStore>(&self, m: &M) -> bool {
        let is_done = self.reveal.is_done_at(self.version) && self.own.compactions.is_empty();
        let is_short = self.settings.has_inside() && self.is_pressed(m);
        (is_done || is_short || m.free_segments() <= self.kept_from_merges(m)) && self.unused_in_tables() > 0
    }

    /// Whether emptying a segment of tables gains more than a collection of that one of records would. Where values are in tables these are
    /// most of what there is.
    pub(super) fn collects_tables_before<M: SegmentStore>(&self, records: SegmentId, m: &M) -> bool {
        let lost = self.lost_by(self.log.segment(records));
        let gain = self.log.gain(records).saturating_sub(lost + self.entered_anew(lost));
        let is_more = |id| self.log.gain(id) > gain;
        self.settings.has_inside() && self.is_pressed(m) && self.table_victim(m).is_some_and(is_more)
    }

    /// Whole segments that tables would not need if they lay one behind the other.
    fn unused_in_tables(&self) -> u64 {
        let segments = (0..self.log.geometry().segments).map(|n| self.log.segment(SegmentId(n)));
        let is_held = |state| matches!(state, SegmentState::Open | SegmentState::Closed);
        let held = segments.filter(|s| is_held(s.state) && s.stream() == Stream::Table).count() as u64;
        held - self.structure_live.div_ceil(self.log.geometry().segment_bytes()).min(held)
    }
}
