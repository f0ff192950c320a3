//! The flash of one device: cells, ring, pool, time and faults joined.
//!
//! Without a timing model (timing `off`) every operation is finished when its submission returns, and every
//! page is resident. With one, operations take effect at their completion, and a page must be brought
//! (read and pinned) before an engine can look at it.

mod view;

pub use view::NamespaceMedium;

use crate::ftl::Superblocks;
use crate::nand::timing::Work;
use crate::nand::{Cell, FaultPlan, Faults, Media, PowerCut, Shape, TimingModel, Timings};
use saker_medium::header::{HEADER_BYTES, page_crc};
use saker_medium::{
    Completion, Io, MediaError, PageAddr, PageHeader, PowerHistory, Ring, SegmentId, SlotId, SlotState, Tag,
};
use saker_sim::{Class, Instant, Seed};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

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

/// Names a set of pages that somebody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadBatch(pub u64);

#[derive(Clone, Copy, Debug)]
enum JobKind {
    Read(PageAddr),
    Program { tag: Tag, at: PageAddr, slot: SlotId, owner: u16 },
    Erase { tag: Tag, segment: SegmentId, owner: u16 },
}

#[derive(Clone, Debug, Default)]
struct Pin {
    holders: u32,
    here: bool,
    waiting: Vec<ReadBatch>,
}

#[derive(Clone, Debug, Default)]
struct Batch {
    missing: u32,
    pages: Vec<PageAddr>,
}

/// All flash of a device.
#[derive(Clone, Debug)]
pub struct Flash<M> {
    media: M,
    ring: Ring,
    shape: Shape,
    pool: Superblocks,
    model: Option<TimingModel>,
    faults: Faults,
    now: Instant,
    next_tag: u64,
    outstanding: BTreeSet<Tag>,
    completions: VecDeque<(u16, Completion)>,
    jobs: Vec<Option<JobKind>>,
    free_jobs: Vec<u32>,
    pins: BTreeMap<PageAddr, Pin>,
    batches: BTreeMap<ReadBatch, Batch>,
    next_batch: u64,
    ready: VecDeque<ReadBatch>,
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

impl<M: Media> Flash<M> {
    /// Powers flash on: looks at every superblock, gives it to its owner or to the pool, and completes from the
    /// ring what a killed process left unfinished.
    pub fn power_on(media: M, ring: Ring, timings: Option<Timings>, faults: FaultPlan) -> Self {
        let shape = media.shape();
        let mut flash = Self {
            pool: Superblocks::new(shape.geometry.segments),
            model: timings.map(|t| TimingModel::new(t, shape)),
            faults: Faults::new(faults),
            now: Instant::ZERO,
            next_tag: 0,
            outstanding: BTreeSet::new(),
            completions: VecDeque::new(),
            jobs: Vec::new(),
            free_jobs: Vec::new(),
            pins: BTreeMap::new(),
            batches: BTreeMap::new(),
            next_batch: 0,
            ready: VecDeque::new(),
            programmed: vec![0; (shape.geometry.segments * shape.luns) as usize],
            powered: true,
            nand: true,
            class: Class::Foreground,
            stats: FlashStats::default(),
            unclaimed: Vec::new(),
            media,
            ring,
            shape,
        };
        match flash.media.history() {
            PowerHistory::Clean => {}
            PowerHistory::Killed => flash.complete_from_ring(),
            PowerHistory::Cut { .. } if flash.media.tears_are_hidden() => flash.find_torn(),
            PowerHistory::Cut { .. } => {}
        }
        flash.find_owners();
        flash.ring.cover();
        flash
    }

    /// The flash with its NAND switched off: pages stay in the controller's memory, programs, reads and erases take no
    /// time and are not counted. Stores and retrieves still work. For transfers alone (BandSlim, ICPP'24, section 4.2).
    #[must_use]
    pub fn without_nand(mut self) -> Self {
        self.model = self.model.map(|_| TimingModel::new(Timings::FREE, self.shape));
        self.nand = false;
        self
    }

    /// The process died while programs ran; their slots are whole, so they are finished now.
    fn complete_from_ring(&mut self) {
        let Ok(slots) = self.ring.survey() else { return };
        for (slot, view) in slots {
            let segment = self.shape.geometry.segment_of(view.addr);
            let current = self.shape.geometry.contains(view.addr) && self.media.epoch(segment) == view.epoch;
            if view.state == SlotState::Sealed && current {
                // A failure shows as a page that is not whole, which recovery handles.
                let _ = self.media.program(view.addr, self.ring.data(slot), self.ring.oob(slot));
            }
        }
    }

    /// The operating system crashed: a page that is not whole was being written. It is marked, so that a later
    /// run can tell it from damage.
    fn find_torn(&mut self) {
        let geometry = self.shape.geometry;
        for n in 0..geometry.segments {
            for index in 0..self.media.written_pages(SegmentId(n)) {
                let at = geometry.page(SegmentId(n), index);
                let Cell::Programmed { data, oob } = self.media.cell(at) else { continue };
                let whole = |h: PageHeader| h.data_crc == page_crc(data, &oob[HEADER_BYTES..]);
                if !PageHeader::decode(oob, at).is_ok_and(|h| h.is_some_and(whole)) {
                    self.media.tear(at);
                }
            }
        }
    }

    fn find_owners(&mut self) {
        let mut by_slot = BTreeMap::new();
        for (_, view) in self.ring.survey().unwrap_or_default() {
            let segment = self.shape.geometry.segment_of(view.addr);
            if self.shape.geometry.contains(view.addr) && self.media.epoch(segment) == view.epoch {
                by_slot.insert(segment, view.owner);
            }
        }
        for n in 0..self.shape.geometry.segments {
            let id = SegmentId(n);
            let written = self.media.written_pages(id);
            let owner = self.header_owner(id, written).or(by_slot.get(&id).copied());
            match owner {
                Some(owner) => {
                    self.pool.adopt(id, owner);
                    self.note_written(id, written);
                }
                None if written == 0 => self.pool.add_free(id, self.media.epoch(id)),
                None => match self.first_programmed(id, written) {
                    // Somebody's data, whoever that is: nobody gets the segment.
                    Some(at) => self.unclaimed.push(at),
                    None => self.erase_again(id),
                },
            }
        }
    }

    /// A half-erased segment is erased again before anybody gets it.
    fn erase_again(&mut self, id: SegmentId) {
        match self.media.erase(id) {
            Ok(()) => self.pool.add_free(id, self.media.epoch(id)),
            Err(_) => self.pool.retire(id),
        }
    }

    fn first_programmed(&self, id: SegmentId, written: u32) -> Option<PageAddr> {
        let mut pages = (0..written).map(|n| self.shape.geometry.page(id, n));
        pages.find(|at| matches!(self.media.cell(*at), Cell::Programmed { .. }))
    }

    /// Segments with programmed pages of which none has a sound header, by their first such page: damage of an
    /// owner that nobody can name.
    pub fn unclaimed(&self) -> &[PageAddr] {
        &self.unclaimed
    }

    /// The owner named by the first readable page of a segment.
    fn header_owner(&self, id: SegmentId, written: u32) -> Option<u16> {
        (0..written).find_map(|n| {
            let at = self.shape.geometry.page(id, n);
            let Cell::Programmed { oob, .. } = self.media.cell(at) else { return None };
            PageHeader::decode(oob, at).ok().flatten().map(|h| h.owner)
        })
    }

    fn note_written(&mut self, id: SegmentId, written: u32) {
        for index in 0..written {
            let at = self.shape.geometry.page(id, index);
            if !matches!(self.media.cell(at), Cell::Erased) {
                let row = (index / self.shape.luns) as u16 + 1;
                let n = self.order_index(at);
                self.programmed[n] = self.programmed[n].max(row);
            }
        }
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
    pub fn media(&self) -> &M {
        &self.media
    }

    /// The cells.
    pub fn media_mut(&mut self) -> &mut M {
        &mut self.media
    }

    /// The ring.
    pub fn ring(&self) -> &Ring {
        &self.ring
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
    pub fn view(&mut self, owner: u16, class: Class) -> NamespaceMedium<'_, M> {
        self.class = class;
        NamespaceMedium { flash: self, owner }
    }

    /// Sets the current time for what is submitted next.
    #[inline]
    pub fn set_now(&mut self, now: Instant) {
        self.now = now;
    }

    /// Whether no operation is outstanding and no completion waits to be taken.
    pub fn is_quiet(&self) -> bool {
        self.outstanding.is_empty() && self.completions.is_empty()
    }

    /// Erases everything of an owner. Only when quiet.
    pub fn format(&mut self, owner: u16) -> Result<(), MediaError> {
        assert!(self.is_quiet(), "a namespace is formatted when nothing of it is outstanding");
        for slot in (0..self.ring.slots()).map(SlotId) {
            if self.ring.view(slot).is_ok_and(|v| v.is_some_and(|v| v.owner == owner)) {
                self.ring.release(slot);
            }
        }
        let held: Vec<_> = self.pool.of(owner).collect();
        let mut result = Ok(());
        for id in held {
            let erased = self.erase_cells(id);
            self.settle_erase(id, erased);
            result = result.and(erased);
        }
        result
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

    fn settle_erase(&mut self, segment: SegmentId, result: Result<(), MediaError>) {
        match result {
            Ok(()) => self.pool.add_free(segment, self.media.epoch(segment)),
            Err(_) => self.pool.retire(segment),
        }
    }

    /// Asks for pages; they are pinned until [`Flash::unpin`]. `None`: they are all here (always without a model).
    pub fn bring(&mut self, pages: &[PageAddr], class: Class) -> Option<ReadBatch> {
        self.model.as_ref()?;
        let id = ReadBatch(self.next_batch);
        let mut batch = Batch { missing: 0, pages: pages.to_vec() };
        for page in pages {
            let pin = self.pins.entry(*page).or_default();
            pin.holders += 1;
            if pin.here {
                continue;
            }
            batch.missing += 1;
            pin.waiting.push(id);
            if pin.waiting.len() == 1 && pin.holders == 1 {
                self.start(JobKind::Read(*page), Work::Read(*page), class);
            }
        }
        self.next_batch += 1;
        let missing = batch.missing;
        self.batches.insert(id, batch);
        if missing == 0 {
            self.ready.push_back(id);
        }
        Some(id)
    }

    /// A batch whose pages are all here.
    pub fn take_ready(&mut self) -> Option<ReadBatch> {
        self.ready.pop_front()
    }

    /// Lets go of a batch's pages.
    pub fn unpin(&mut self, id: ReadBatch) {
        let Some(batch) = self.batches.remove(&id) else { return };
        for page in batch.pages {
            let pin = self.pins.get_mut(&page).expect("a batch holds its pages");
            pin.holders -= 1;
            if pin.holders == 0 {
                self.pins.remove(&page);
            }
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
            let kind = self.jobs[job as usize].take().expect("a running job");
            self.free_jobs.push(job);
            self.finish(kind);
        }
        Some(at)
    }

    fn start(&mut self, kind: JobKind, work: Work, class: Class) {
        let extra = self.faults.spike();
        let job = self.free_jobs.pop().unwrap_or_else(|| {
            self.jobs.push(None);
            self.jobs.len() as u32 - 1
        });
        self.jobs[job as usize] = Some(kind);
        let model = self.model.as_mut().expect("jobs exist only with a model");
        model.submit(self.now, job, work, class, extra);
    }

    fn finish(&mut self, kind: JobKind) {
        match kind {
            JobKind::Read(page) => self.arrive(page),
            JobKind::Program { tag, at, slot, owner } => {
                let result = self.program_cells(at, slot);
                self.complete(owner, tag, Io::Program { at, slot }, result);
            }
            JobKind::Erase { tag, segment, owner } => {
                let result = self.erase_cells(segment);
                self.complete(owner, tag, Io::Erase(segment), result);
            }
        }
    }

    fn arrive(&mut self, page: PageAddr) {
        self.stats.pages_read += u64::from(self.nand);
        let pin = self.pins.get_mut(&page).expect("a page is read for its pins");
        pin.here = true;
        for id in std::mem::take(&mut pin.waiting) {
            let batch = self.batches.get_mut(&id).expect("waiting batches exist");
            batch.missing -= 1;
            if batch.missing == 0 {
                self.ready.push_back(id);
            }
        }
    }

    fn program_cells(&mut self, at: PageAddr, slot: SlotId) -> Result<(), MediaError> {
        self.stats.pages_programmed += u64::from(self.nand);
        if self.faults.program_fails() {
            self.media.tear(at);
            self.stats.failures += 1;
            return Err(MediaError::Program);
        }
        let result = self.media.program(at, self.ring.data(slot), self.ring.oob(slot));
        if result.is_err() {
            self.media.tear(at);
            self.stats.failures += 1;
        }
        result
    }

    fn erase_cells(&mut self, segment: SegmentId) -> Result<(), MediaError> {
        self.stats.segments_erased += u64::from(self.nand);
        let luns = self.shape.luns as usize;
        self.programmed[segment.0 as usize * luns..][..luns].fill(0);
        let result =
            if self.faults.erase_fails() { Err(MediaError::Erase) } else { self.media.erase(segment) };
        self.stats.failures += u64::from(result.is_err());
        result
    }

    fn complete(&mut self, owner: u16, tag: Tag, io: Io, result: Result<(), MediaError>) {
        self.outstanding.remove(&tag);
        self.completions.push_back((owner, Completion { tag, io, result }));
        if self.ring.free_slots() < usize::from(self.ring.slots()) / 4 && self.ring.cooling() > 0 {
            let _ = self.sync_media();
        }
    }

    fn sync_media(&mut self) -> Result<(), MediaError> {
        self.media.sync()?;
        self.ring.cooled();
        Ok(())
    }

    fn tag(&mut self) -> Tag {
        self.next_tag += 1;
        if self.model.is_some() {
            self.outstanding.insert(Tag(self.next_tag));
        }
        Tag(self.next_tag)
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

    /// What is left after power is cut now: each operation in flight is, independently, done, torn or undone;
    /// the ring is there only with a capacitor.
    pub fn cut(&self, cut: PowerCut) -> (M, Ring)
    where
        M: Clone,
    {
        let (mut media, mut ring) = (self.media.clone(), self.ring.clone());
        let mut rng = Seed(cut.seed).child("cut").rng();
        for (job, kind) in self.jobs.iter().enumerate() {
            let Some(kind) = kind else { continue };
            let started = self.model.as_ref().is_some_and(|m| m.has_started(job as u32));
            let fate = rng.below(3);
            match *kind {
                JobKind::Program { at, slot, .. } if started && fate == 0 => {
                    let _ = media.program(at, ring.data(slot), ring.oob(slot));
                }
                JobKind::Program { at, .. } if started && fate == 1 => media.tear(at),
                JobKind::Erase { segment, .. } if started && fate == 0 => {
                    let _ = media.erase(segment);
                }
                JobKind::Erase { segment, .. } if started && fate == 1 => {
                    tear_some(&mut media, segment, &mut rng)
                }
                _ => {}
            }
        }
        if !cut.ring_kept {
            ring.lose();
        }
        (media, ring)
    }
}

/// An interrupted erase leaves each page as it was or unreadable.
fn tear_some<M: Media>(media: &mut M, segment: SegmentId, rng: &mut saker_sim::Rng) {
    let geometry = media.shape().geometry;
    for index in 0..media.written_pages(segment) {
        if rng.below(2) == 0 {
            media.tear(geometry.page(segment, index));
        }
    }
}
