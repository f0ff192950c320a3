// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Garbage collection of a block namespace, and its background work as a whole.

use super::PageMap;
use super::config::lost_in_segment;
use super::entry::{EntryKind, fill_from, sector};
use super::reserve::{FREE_SEGMENTS_LOW, FREE_SEGMENTS_PRESSED};
use saker_log::page_of;
use saker_log::recover::scan_page;
use saker_segment_store::{Completion, Io, Page, SegmentId, SegmentStore, Step, Stream, Tag, ready};
use saker_sim::{Meter, Unit};

const QUANTUM_PAGES: u32 = 4;

/// What a quantum did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing to do.
    Idle,
    /// Something was done.
    Worked,
    /// Outstanding I/O must complete first.
    Waiting,
}

/// A collection on its way.
#[derive(Clone, Copy, Debug)]
pub struct Cursor {
    segment: SegmentId,
    page: u32,
    pages: u32,
    /// Only what is on pages that failed is moved: so many there were at the start.
    repair: Option<usize>,
}

impl Cursor {
    /// The segment that it collects.
    pub(super) fn segment(&self) -> SegmentId {
        self.segment
    }

    /// Whether only what is on pages that failed is moved.
    pub(super) fn is_repair(&self) -> bool {
        self.repair.is_some()
    }
}

impl PageMap {
    /// One bounded piece of background work. `finished`: everything up to this tag has completed.
    pub fn background<M: SegmentStore, W: Meter>(
        &mut self,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Step<Progress> {
        self.log.pump(finished, m);
        if self.gc.is_some_and(|gc| gc.repair.is_none()) && self.log.must_evacuate() {
            // Nothing is erased before failed pages are repaired.
            self.gc = None;
        }
        if self.gc.is_none() {
            self.start_collection(m);
        }
        self.take_turns(finished, m, w)
    }

    /// Collections and checkpoints.
    pub(super) fn sectors_quantum<M: SegmentStore, W: Meter>(
        &mut self,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Step<Progress> {
        self.checkpoint.turn = !self.checkpoint.turn;
        if self.gc.is_some() && (self.checkpoint.turn || self.is_pressed(m)) {
            return self.collect(m, w);
        }
        if self.checkpoint_quantum(finished, m) == Progress::Worked {
            return Step::Done(Progress::Worked);
        }
        if self.gc.is_some() {
            return self.collect(m, w);
        }
        let waiting = self.log.releasing() > 0 || self.log.has_failures() || self.checkpoint.is_running();
        Step::Done(if waiting { Progress::Waiting } else { Progress::Idle })
    }

    /// Whether background work is due.
    pub fn has_debt<M: SegmentStore>(&self, m: &M) -> bool {
        self.gc.is_some()
            || self.checkpoint.is_running()
            || self.log.releasing() > 0
            || self.log.has_failures()
            || m.free_segments() <= self.free_low(m)
            || self.checkpoint_due()
            || self.has_translation_work()
    }

    /// Whether writes are close to waiting for background work.
    pub fn is_pressed<M: SegmentStore>(&self, m: &M) -> bool {
        m.free_segments() <= FREE_SEGMENTS_PRESSED + self.map_segments_left()
    }

    pub(super) fn free_low<M: SegmentStore>(&self, m: &M) -> u32 {
        let set_aside = self.checkpoint_segments_wanted() + self.map_segments_left();
        FREE_SEGMENTS_LOW + m.quota_segments() / 50 + set_aside
    }

    /// A collection must free more than it can lose in sealed pages, or collections would never come to an end.
    fn is_worth_it(&self, victim: SegmentId) -> bool {
        self.log.segment(victim).evacuate
            || self.log.gain(victim) > lost_in_segment(&self.log.geometry(), self.config.ring_lasts)
    }

    fn start_collection<M: SegmentStore>(&mut self, m: &M) {
        let short = m.free_segments() + self.log.releasing() as u32 <= self.free_low(m);
        if !short && !self.log.must_evacuate() {
            return;
        }
        let Some(victim) = self.log.victim() else { return };
        if self.is_worth_it(victim) {
            let segment = self.log.segment(victim);
            let repair = segment.evacuate.then(|| segment.failed_pages().len());
            self.gc = Some(Cursor { segment: victim, page: 0, pages: segment.next_page, repair });
        }
    }

    fn collect<M: SegmentStore, W: Meter>(&mut self, m: &mut M, w: &mut W) -> Step<Progress> {
        for _ in 0..QUANTUM_PAGES {
            let Some(cursor) = self.gc else { break };
            let dead = self.log.segment(cursor.segment).live_bytes == 0;
            if cursor.page >= cursor.pages || dead {
                match cursor.repair {
                    Some(pages) => self.end_of_repair(cursor.segment, pages, m),
                    None => self.end_of_segment(cursor.segment, m),
                }
                break;
            }
            if cursor.repair.is_none()
                || self.log.segment(cursor.segment).failed_pages().contains(&cursor.page)
            {
                ready!(self.collect_page(cursor, m, w));
            }
            if let Some(c) = &mut self.gc {
                c.page += 1;
            }
        }
        Step::Done(Progress::Worked)
    }

    /// What `pages` failed pages held was moved. If more have failed since, it begins again.
    fn end_of_repair<M: SegmentStore>(&mut self, id: SegmentId, pages: usize, m: &mut M) {
        self.gc = None;
        if self.log.segment(id).failed_pages().len() == pages {
            self.log.end_repair(id, m);
        }
    }

    fn end_of_segment<M: SegmentStore>(&mut self, id: SegmentId, m: &mut M) {
        self.gc = None;
        self.log.drop_until_checkpoint(id);
        if self.log.segment(id).live_bytes > 0 {
            self.log.set_damaged(id);
            return;
        }
        self.stats.gc_segments += 1;
        self.log.release(id, m);
    }

    /// Moves the live sectors of one page. With `Need` nothing was moved, nor with `Blocked` but in a repair.
    fn collect_page<M: SegmentStore, W: Meter>(&mut self, c: Cursor, m: &mut M, w: &mut W) -> Step<()> {
        let addr = self.log.geometry().page(c.segment, c.page);
        // A damaged page keeps its live sectors, and so its segment.
        let Ok(Some(_)) = ready!(scan_page(&self.log, m, addr)) else { return Step::Done(()) };
        let per_page = self.sectors_per_page();
        if c.repair.is_none()
            && let Err(stall) = self.room_for_copies(per_page as u32, m)
        {
            return Step::Blocked(stall);
        }
        for index in 0..per_page {
            // A repair has only what others left to it: it asks sector by sector. What was moved is not needed here again.
            if c.repair.is_some()
                && let Err(stall) = self.room_for(1, m)
            {
                return Step::Blocked(stall);
            }
            self.move_sector(addr.0 * per_page + index, m);
            w.work(Unit::Decode, 1);
            w.work(Unit::Move, 1);
        }
        Step::Done(())
    }

    fn move_sector<M: SegmentStore>(&mut self, position: u64, m: &mut M) {
        let index = (position % self.sectors_per_page()) as usize;
        let Page::Resident { data, oob } = page_of(&self.log, m, self.page_of_sector(position)) else {
            return;
        };
        let found = sector(data, oob, index, self.config.block_bytes as usize);
        let Some((bytes, e)) = found else { return };
        let needed = match e.kind {
            EntryKind::Data => self.is_mapped_at(e.lba, position),
            EntryKind::Trim => e.version >= self.checkpoint.version,
            EntryKind::Translation => return self.move_translation(position, m),
        };
        if !needed {
            return;
        }
        let copy = bytes.to_vec();
        if e.kind == EntryKind::Data {
            self.hold_moved(e.lba, position);
        }
        let filled =
            self.append_version(Stream::Gc, e.lba, e.kind, e.version, |out| fill_from(out, &copy), m);
        filled.expect("a copy comes from memory");
        self.stats.gc_blocks_copied += 1;
    }

    /// Takes note of a finished I/O.
    pub fn completed<M: SegmentStore>(&mut self, done: &Completion, m: &mut M) {
        let failed = self.log.completed(done, m);
        if matches!(done.io, Io::Erase(_)) {
            self.count_map_segments();
        }
        if done.io == Io::Sync && done.result.is_err() && self.checkpoint.is_running() {
            self.checkpoint_failed(m);
        }
        if let Io::Program { at, .. } = done.io
            && failed
            && self.log.segment(self.log.geometry().segment_of(at)).stream() == Stream::Checkpoint
        {
            self.checkpoint_failed(m);
        }
    }
}
