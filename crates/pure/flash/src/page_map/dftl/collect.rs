// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Collections of translation pages. They have segments of their own, so many that the emptiest one is at most half needed when
//! room is short ([`super::super::reserve::map_segments`]): no data has to be moved for their sake.

use super::Dftl;
use crate::page_map::PageMap;
use crate::page_map::entry::{EntryKind, fill_from, sector};
use crate::page_map::gc::Progress;
use saker_log::page_of;
use saker_log::recover::scan_page;
use saker_segment_store::{Page, SegmentId, SegmentStore, Step, Stream};
use saker_sim::{Meter, Unit};

/// A collection on its way.
#[derive(Clone, Copy, Debug)]
pub struct Cursor {
    segment: SegmentId,
    page: u32,
}

impl Dftl {
    /// Nothing is erased before failed pages are repaired.
    pub(in crate::page_map) fn stop_collection(&mut self) {
        self.collection = None;
    }

    /// The segment that it collects.
    pub(super) fn collected(&self) -> Option<SegmentId> {
        self.collection.map(|cursor| cursor.segment)
    }
}

impl PageMap {
    /// Moves what is needed of one page. `None`: there is nothing to collect now.
    pub(super) fn collect_translations<M: SegmentStore, W: Meter>(
        &mut self,
        m: &mut M,
        w: &mut W,
    ) -> Option<Step<Progress>> {
        let running = self.dftl.as_ref()?.collection;
        let cursor = running.or_else(|| self.map_victim().map(|segment| Cursor { segment, page: 0 }))?;
        let segment = self.log.segment(cursor.segment);
        if segment.live_bytes == 0 || cursor.page >= segment.next_page {
            self.end_of_translations(cursor.segment, m);
            return Some(Step::Done(Progress::Worked));
        }
        match self.collect_translation_page(cursor, m, w) {
            Step::Done(()) => {
                self.dftl.as_mut()?.collection = Some(Cursor { page: cursor.page + 1, ..cursor });
                Some(Step::Done(Progress::Worked))
            }
            Step::Need(reads) => Some(Step::Need(reads)),
            Step::Blocked(_) => None,
        }
    }

    /// The closed segment with the fewest translation pages that are needed, if it is worth it.
    fn map_victim(&self) -> Option<SegmentId> {
        let lost = super::super::config::lost_of_map(&self.log.geometry(), self.config.ring_lasts);
        let victim = self.log.victim_of(Stream::Map)?;
        (self.log.gain(victim) > lost).then_some(victim)
    }

    fn end_of_translations<M: SegmentStore>(&mut self, id: SegmentId, m: &mut M) {
        if let Some(d) = &mut self.dftl {
            d.collection = None;
        }
        if self.log.segment(id).live_bytes > 0 {
            self.log.set_damaged(id);
            return;
        }
        if !self.config.ring_lasts {
            // Its copies are on the medium before it is erased.
            self.log.seal_stream(Stream::Map, m);
        }
        self.stats.gc_segments += 1;
        self.log.release(id, m);
    }

    fn collect_translation_page<M: SegmentStore, W: Meter>(
        &mut self,
        cursor: Cursor,
        m: &mut M,
        w: &mut W,
    ) -> Step<()> {
        let addr = self.log.geometry().page(cursor.segment, cursor.page);
        let Ok(Some(_)) = saker_segment_store::ready!(scan_page(&self.log, m, addr)) else {
            return Step::Done(());
        };
        let per_page = self.sectors_per_page();
        let needed: Vec<u64> = (addr.0 * per_page..(addr.0 + 1) * per_page)
            .filter(|at| self.needs_translation(*at, m))
            .collect();
        let bytes = needed.len() as u32 * self.config.block_bytes;
        if !needed.is_empty()
            && let Err(stall) = self.map_room_for(bytes, m)
        {
            return Step::Blocked(stall);
        }
        for position in needed {
            self.move_translation(position, m);
            w.work(Unit::Decode, 1);
            w.work(Unit::Move, 1);
        }
        Step::Done(())
    }

    /// Room for the copies of a page, which may end in another segment than they began.
    fn map_room_for<M: SegmentStore>(&self, bytes: u32, m: &M) -> Result<(), saker_segment_store::Stall> {
        if self.log.left_in_segment(Stream::Map) >= u64::from(bytes) {
            let reserve = super::super::reserve::FOR_EVICTIONS;
            return self.log.room(m, Stream::Map, bytes, reserve);
        }
        if self.map_segments_left() == 0 {
            return Err(saker_segment_store::Stall::NoSegment);
        }
        let reserve = super::super::reserve::FOR_EVICTIONS.with_segments(self.log.kept_for_repairs(false));
        self.log.room(m, Stream::Map, bytes, reserve)
    }

    fn needs_translation<M: SegmentStore>(&self, position: u64, m: &M) -> bool {
        let Some(d) = &self.dftl else { return false };
        let found = self.entry_at(position, m);
        found.is_some_and(|e| e.kind == EntryKind::Translation && d.directory.needs(e.lba as usize, position))
    }

    fn entry_at<M: SegmentStore>(&self, position: u64, m: &M) -> Option<crate::page_map::entry::Entry> {
        let index = (position % self.sectors_per_page()) as usize;
        let Page::Resident { data, oob } = page_of(&self.log, m, self.page_of_sector(position)) else {
            return None;
        };
        sector(data, oob, index, self.config.block_bytes as usize).map(|(_, e)| e)
    }

    /// Moves a translation page if it is needed: its version stays.
    pub(in crate::page_map) fn move_translation<M: SegmentStore>(&mut self, position: u64, m: &mut M) {
        if !self.needs_translation(position, m) {
            return;
        }
        let index = (position % self.sectors_per_page()) as usize;
        let Page::Resident { data, oob } = page_of(&self.log, m, self.page_of_sector(position)) else {
            return;
        };
        let Some((bytes, e)) = sector(data, oob, index, self.config.block_bytes as usize) else { return };
        let copy = bytes.to_vec();
        let to = self.append_version(
            Stream::Map,
            e.lba,
            EntryKind::Translation,
            e.version,
            |out| fill_from(out, &copy),
            m,
        );
        let to = to.expect("a copy comes from memory");
        self.count_map_segments();
        self.drop_translation(Some(position));
        if let Some(d) = &mut self.dftl {
            d.directory.moved(e.lba as usize, position, to);
            d.stats.translation_copies += 1;
        }
    }
}
