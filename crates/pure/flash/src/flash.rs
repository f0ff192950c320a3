// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The flash of one device: cells, page buffer, pool, time and faults joined.
//!
//! Without a timing model (timing `off`) every operation is finished when its submission returns, and every
//! page is resident. With one, operations take effect at their completion, and a page must be brought
//! (read and pinned) before an engine can look at it.

mod cut;
mod erasure;
mod fork;
mod held;
mod jobs;
mod ordered;
mod pin_table;
mod power_on;
mod reads;
mod syncs;
mod view;

pub use reads::{Pinned, ReadBatch};
pub use syncs::SyncNumber;
pub use view::NamespaceSegments;

use crate::ftl::Superblocks;
use crate::nand::{AnyCells, Cell, Cells, Faults, Shape, TimingModel, Timings};
use held::Held;
use jobs::Jobs;
use ordered::Ordered;
use reads::ReadPins;
use saker_segment_store::{CellError, Completion, Io, PageAddr, PageBuffer, SegmentId, Tag};
use saker_sim::{Class, Instant};
use std::collections::{BTreeSet, VecDeque};
use syncs::Syncs;

/// Counters of the media.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashStats {
    /// Pages programmed, failed ones included.
    pub pages_programmed: u64,
    /// Pages read from the array.
    pub pages_read: u64,
    /// Segments erased.
    pub segments_erased: u64,
    /// Programs, erases and reads that failed.
    pub failures: u64,
}

/// All flash of a device.
#[derive(Clone, Debug)]
pub struct Flash {
    media: AnyCells,
    page_buffer: PageBuffer,
    shape: Shape,
    pool: Superblocks,
    model: Option<TimingModel>,
    faults: Faults,
    now: Instant,
    next_tag: u64,
    outstanding: BTreeSet<Tag>,
    completions: VecDeque<(u16, Completion)>,
    jobs: Jobs,
    held: Held,
    ordered: Ordered,
    syncs: Syncs,
    reads: ReadPins,
    /// The last page programmed in each LUN of each segment, plus one: the order rule.
    programmed: Vec<u16>,
    powered: bool,
    /// False: pages stay in the controller's memory, without time and uncounted.
    nand: bool,
    class: Class,
    stats: FlashStats,
    /// See [`Flash::unclaimed`].
    unclaimed: Vec<PageAddr>,
}

impl Flash {
    /// The flash with its NAND switched off: pages stay in the controller's memory, programs, reads and erases take no
    /// time and are not counted. Stores and retrieves still work. For transfers alone (BandSlim, ICPP'24, section 4.2).
    #[must_use]
    pub fn without_nand(mut self) -> Self {
        self.model = self.model.map(|_| TimingModel::new(Timings::FREE, self.shape));
        self.nand = false;
        self
    }

    /// Segments with programmed pages of which none has a sound header, by their first such page: damage of an
    /// owner that nobody can name.
    pub fn unclaimed(&self) -> &[PageAddr] {
        &self.unclaimed
    }

    fn order_index(&self, at: PageAddr) -> usize {
        (self.shape.geometry.segment_of(at).0 * self.shape.luns + self.shape.lun(at)) as usize
    }

    /// The shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The pool of superblocks.
    pub fn pool_mut(&mut self) -> &mut Superblocks {
        &mut self.pool
    }

    /// The pool of superblocks.
    pub fn pool(&self) -> &Superblocks {
        &self.pool
    }

    /// The cells.
    pub fn media(&self) -> &AnyCells {
        &self.media
    }

    /// The cells.
    pub fn media_mut(&mut self) -> &mut AnyCells {
        &mut self.media
    }

    /// The page buffer.
    pub fn page_buffer(&self) -> &PageBuffer {
        &self.page_buffer
    }

    /// Counters.
    pub fn stats(&self) -> FlashStats {
        self.stats
    }

    /// Media operations (programs and erases) since power-on.
    pub fn operations(&self) -> u64 {
        self.faults.operations()
    }

    /// Whether power is on. A planned cut turns it off; nothing is programmed or answered afterwards.
    pub fn is_powered(&self) -> bool {
        self.powered
    }

    /// Whether operations take time.
    pub fn is_timed(&self) -> bool {
        self.model.is_some()
    }

    /// An owner's view, at the current time. `class`: who waits for what is submitted through it.
    #[inline]
    pub fn view(&mut self, owner: u16, class: Class) -> NamespaceSegments<'_> {
        self.class = class;
        NamespaceSegments { flash: self, owner, waits_for_syncs: false }
    }

    /// Sets the current time for what is submitted next.
    #[inline]
    pub fn set_now(&mut self, now: Instant) {
        self.now = now;
    }

    /// The time that was set last.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Whether no operation and no sync is on its way and no completion waits to be taken. What the host's file refused is not on
    /// its way, and neither is what waits for nothing else.
    pub fn is_quiet(&self) -> bool {
        self.outstanding.len() == self.held.len() + self.ordered.waiting()
            && self.completions.is_empty()
            && self.syncs.is_idle()
    }

    /// The last operation submitted.
    #[inline]
    pub fn submitted(&self) -> Tag {
        Tag(self.next_tag)
    }

    /// Everything up to this tag has completed.
    #[inline]
    pub fn finished(&self) -> Tag {
        match self.outstanding.first() {
            None => Tag(self.next_tag),
            Some(first) => Tag(first.0 - 1),
        }
    }

    /// The next completion to hand to its owner. An erased segment is free from here on, not earlier: its
    /// owner must know first.
    #[inline]
    pub fn take_completion(&mut self) -> Option<(u16, Completion)> {
        let (owner, done) = self.completions.pop_front()?;
        if let Io::Erase(segment) = done.io {
            self.settle_erase(segment, done.result);
        }
        Some((owner, done))
    }

    fn settle_erase(&mut self, segment: SegmentId, result: Result<(), CellError>) {
        match result {
            Ok(()) => self.pool.add_free(segment, self.media.epoch(segment)),
            // Its owner is erased as a whole, and will be again: until then the segment stays the owner's.
            Err(error) if error.is_of_host() => {}
            Err(_) => self.pool.retire(segment),
        }
    }

    /// When something happens next.
    pub fn next_at(&self) -> Option<Instant> {
        self.model.as_ref()?.next_at()
    }

    /// Handles one event at or before `now`. Returns its time.
    pub fn step(&mut self, now: Instant) -> Option<Instant> {
        if !self.powered {
            return None;
        }
        let (at, job) = self.model.as_mut()?.step(now)?;
        self.now = at;
        if let Some(job) = job {
            let kind = self.jobs.remove(job);
            self.finish(kind);
        }
        Some(at)
    }

    fn tag(&mut self) -> Tag {
        self.next_tag += 1;
        if self.model.is_some() {
            self.outstanding.insert(Tag(self.next_tag));
        }
        Tag(self.next_tag)
    }

    /// Whether a fault keeps a page from being read.
    #[inline]
    fn is_unreadable(&self, at: PageAddr) -> bool {
        let epoch = || self.media.epoch(self.shape.geometry.segment_of(at));
        self.faults.reads_fail() && self.faults.is_unreadable(at, epoch())
    }

    /// Counts a media operation; a planned cut happens here.
    fn count_operation(&mut self) -> bool {
        if self.powered && self.faults.is_cut() {
            self.powered = false;
        }
        self.powered
    }

    /// Erase before program, and in order within a LUN's block: rules our own FTLs must keep.
    fn check_order(&mut self, at: PageAddr) {
        assert!(
            matches!(self.media.cell(at), Cell::Erased),
            "page {} is programmed twice without an erase",
            at.0
        );
        let row = (self.shape.geometry.index_of(at) / self.shape.luns) as u16 + 1;
        let n = self.order_index(at);
        assert!(row > self.programmed[n], "page {} is programmed out of order", at.0);
        self.programmed[n] = row;
    }
}
