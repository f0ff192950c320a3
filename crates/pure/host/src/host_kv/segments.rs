// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A block namespace as a medium: extents are segments, whole groups of blocks are pages.
//!
//! A page's out-of-band part is the last bytes of its last block. The "page buffer" is ordinary host memory: what is
//! in it is lost with the process, which is why HostKV acknowledges volatile writes and flushes on demand.
//! Deallocated blocks read as zeros, so an all-zero page is an erased one. Where a power cut can undo a deallocation, Flushes go before
//! and behind it (`erases.rs`).
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

mod block_cache;
mod erases;
mod parts;
mod store;
mod survey;

use super::blocks::BlockQueue;
use super::held::{HeldPages, Parts, Reading};
use block_cache::BlockCache;
use erases::{Erase, Erases};
use saker_nvme::status::sct;
use saker_segment_store::{
    CellError, Completion, Geometry, Io, PageAddr, PageBuffer, SegmentId, SegmentView, SlotId, Tag,
};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub use block_cache::BlockCacheStats;
pub use parts::Whose;

/// Bytes of a page on the device, unless other pages are asked for.
pub const HOST_PAGE_BYTES: u32 = 16 << 10;
const OOB_BYTES: u32 = 64;
/// Slots of the write buffer (16 MiB).
const SLOTS: u16 = 1024;

/// Bytes of an extent, where a namespace has room for so many.
const EXTENT_BYTES: u64 = 8 << 20;
const EXTENTS_MIN: u64 = 24;
/// No extent is shorter: a device that is smaller still has fewer.
const EXTENT_BYTES_MIN: u64 = 128 << 10;

/// Bytes of an extent of a namespace with so many bytes: what is collected, and a log needs some of them at once.
pub fn extent_bytes(namespace_bytes: u64) -> u64 {
    let mut bytes = EXTENT_BYTES;
    while bytes > EXTENT_BYTES_MIN && namespace_bytes / bytes < EXTENTS_MIN {
        bytes /= 2;
    }
    bytes
}

/// Counters of the block commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentStats {
    /// Writes submitted.
    pub writes: u64,
    /// Reads submitted.
    pub reads: u64,
    /// Deallocations submitted.
    pub deallocations: u64,
    /// Flushes submitted.
    pub flushes: u64,
}

impl SegmentStats {
    /// All commands.
    pub fn commands(&self) -> u64 {
        self.writes + self.reads + self.deallocations + self.flushes
    }
}

#[derive(Clone, Copy, Debug)]
enum Request {
    Program {
        tag: Tag,
        at: PageAddr,
        slot: SlotId,
    },
    Erase(Erase),
    Sync {
        tag: Tag,
    },
    /// A Flush for erases.
    Cover,
    Read {
        at: PageAddr,
        reading: Reading,
        /// Into the block cache.
        fills: bool,
    },
}

/// A block namespace as a medium.
pub struct BlockSegments {
    queue: Box<dyn BlockQueue>,
    geometry: Geometry,
    page_blocks: u32,
    page_buffer: PageBuffer,
    free: BTreeSet<SegmentId>,
    found: Vec<SegmentView>,
    /// Pages of which a cut left only some blocks.
    torn: BTreeSet<PageAddr>,
    /// Pages programmed in each segment since it was allocated or found.
    written: Vec<u32>,
    pages: HeldPages,
    /// Parts of pages that were looked at and are not here.
    looked: RefCell<Vec<(PageAddr, Parts)>>,
    cache: BlockCache,
    on_way: BTreeMap<u64, Request>,
    /// Pages whose program has not completed, and where their bytes are.
    programmed: BTreeMap<PageAddr, SlotId>,
    backlog: VecDeque<Request>,
    erases: Erases,
    outstanding: BTreeSet<Tag>,
    completions: VecDeque<Completion>,
    next_tag: u64,
    /// It takes no writes any more.
    is_gone: bool,
    stats: SegmentStats,
}

impl BlockSegments {
    /// A medium over all blocks of a namespace, in extents of about `segment_bytes`.
    pub fn new(queue: impl BlockQueue, segment_bytes: u64) -> Self {
        Self::with_pages(queue, segment_bytes, HOST_PAGE_BYTES)
    }

    /// The same with pages of `page_bytes` bytes, a multiple of the block's: what one command reads or writes.
    pub fn with_pages(queue: impl BlockQueue, segment_bytes: u64, page_bytes: u32) -> Self {
        Self::over(Box::new(queue), segment_bytes, page_bytes)
    }

    fn over(queue: Box<dyn BlockQueue>, segment_bytes: u64, page_bytes: u32) -> Self {
        let page_bytes = page_bytes.max(queue.block_bytes());
        let page_blocks = page_bytes / queue.block_bytes();
        let part_bytes = page_blocks.div_ceil(Parts::MAX) * queue.block_bytes();
        let segment_pages = (segment_bytes / u64::from(page_bytes)).max(4) as u32;
        let pages = queue.blocks() * u64::from(queue.block_bytes()) / u64::from(page_bytes);
        let segments = (pages / u64::from(segment_pages)) as u32;
        let geometry =
            Geometry { page_bytes: page_bytes - OOB_BYTES, oob_bytes: OOB_BYTES, segment_pages, segments };
        Self {
            page_blocks,
            queue,
            geometry,
            page_buffer: PageBuffer::heap(SLOTS, geometry.page_bytes, OOB_BYTES),
            free: BTreeSet::new(),
            found: Vec::new(),
            torn: BTreeSet::new(),
            written: vec![0; segments as usize],
            pages: HeldPages::new(page_bytes as usize, part_bytes as usize),
            looked: RefCell::default(),
            cache: BlockCache::new(0),
            on_way: BTreeMap::new(),
            programmed: BTreeMap::new(),
            backlog: VecDeque::new(),
            erases: Erases::default(),
            outstanding: BTreeSet::new(),
            completions: VecDeque::new(),
            next_tag: 0,
            is_gone: false,
            stats: SegmentStats::default(),
        }
    }

    /// Counters.
    pub fn stats(&self) -> SegmentStats {
        self.stats
    }

    /// The queue below.
    pub fn queue(&self) -> &dyn BlockQueue {
        &*self.queue
    }

    /// The queue below.
    pub fn queue_mut(&mut self) -> &mut dyn BlockQueue {
        &mut *self.queue
    }

    /// Takes a namespace that is known to be empty, such as a new one.
    pub fn take_empty(&mut self) {
        self.free = (0..self.geometry.segments).map(SegmentId).collect();
    }

    /// Its namespace was emptied, and nothing is on its way: nothing is left of what it had.
    pub(super) fn begin_again(&mut self) {
        assert!(self.is_still(), "commands are on their way");
        let Geometry { page_bytes, .. } = self.geometry;
        self.page_buffer = PageBuffer::heap(SLOTS, page_bytes, OOB_BYTES);
        self.pages.keep_only(&[]);
        self.cache.forget(PageAddr(0)..=PageAddr(u64::MAX));
        self.written.fill(0);
        self.found.clear();
        self.torn.clear();
        self.looked.borrow_mut().clear();
        self.outstanding.clear();
        self.completions.clear();
        self.erases = Erases::default();
        self.is_gone = false;
        self.take_empty();
    }

    /// Whether no command is on its way, nor waits to be sent.
    pub fn is_still(&self) -> bool {
        self.on_way.is_empty() && self.backlog.is_empty()
    }

    fn note_written(&mut self, segment: SegmentId, pages: u32) {
        if let Some(written) = self.written.get_mut(segment.0 as usize) {
            *written = pages;
        }
    }

    /// Whether all of these pages are here.
    pub fn all_here(&self, pages: &[PageAddr]) -> bool {
        pages.iter().all(|at| self.pages.is_here(*at))
    }

    /// Lets go of pages.
    pub fn release_pages(&mut self, pages: &[PageAddr]) {
        pages.iter().for_each(|at| self.pages.release(*at));
    }

    /// Lets go of all pages but these.
    pub fn keep_only(&mut self, pages: &[PageAddr]) {
        self.pages.keep_only(pages);
    }

    /// Everything up to this tag has completed.
    pub fn finished(&self) -> Tag {
        match self.outstanding.first() {
            None => Tag(self.next_tag),
            Some(first) => Tag(first.0 - 1),
        }
    }

    /// The next completion for the engine.
    pub fn take_completion(&mut self) -> Option<Completion> {
        let done = self.completions.pop_front()?;
        if let (Io::Erase(segment), Ok(())) = (done.io, done.result) {
            self.set_free(segment);
        }
        Some(done)
    }

    fn set_free(&mut self, segment: SegmentId) {
        self.free.insert(segment);
        self.note_written(segment, 0);
        self.torn.retain(|at| self.geometry.segment_of(*at) != segment);
    }

    /// Whether the device has answered a write, a deallocation or a Flush with an error that is not of its media: other segments would
    /// fare no better.
    pub fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Takes completions from the queue. True if there were any.
    pub fn poll(&mut self) -> bool {
        let mut any = false;
        while let Some(done) = self.queue.poll() {
            any = true;
            let Some(request) = self.on_way.remove(&done.ticket) else { continue };
            let ok = done.status.is_success();
            let is_read = matches!(request, Request::Read { .. });
            self.is_gone |= !ok && !is_read && done.status.sct() != sct::MEDIA;
            match request {
                Request::Read { at, reading, fills } => {
                    let found = done.data.filter(|_| ok).ok_or(CellError::Read);
                    self.read_ended(at, reading, fills, found);
                }
                Request::Program { tag, at, slot } => {
                    self.programmed.remove(&at);
                    self.complete(tag, Io::Program { at, slot }, ok, CellError::Program)
                }
                Request::Erase(erase) if ok && self.queue.is_volatile() => self.erases.deallocated(erase),
                Request::Erase(erase) => self.end_erase(erase, ok),
                Request::Sync { tag } => self.complete(tag, Io::Sync, ok, CellError::HostIo),
                Request::Cover => self.cover_ended(ok),
            }
        }
        self.flush_for_erases();
        while let Some(request) = self.backlog.pop_front() {
            if !self.submit(request) {
                self.backlog.push_front(request);
                break;
            }
        }
        any
    }

    /// Erases a segment: at once, or when a Flush has covered what was written before.
    fn erase_for(&mut self, erase: Erase) {
        if self.queue.is_volatile() { self.erases.ask(erase) } else { self.start(Request::Erase(erase)) }
    }

    fn flush_for_erases(&mut self) {
        if self.erases.wants_flush() {
            self.start(Request::Cover);
        }
    }

    /// A Flush for erases has ended. What it should have covered is not used again if it failed.
    fn cover_ended(&mut self, ok: bool) {
        let covered = self.erases.flushed();
        covered.deallocated.into_iter().for_each(|erase| self.end_erase(erase, ok));
        for erase in covered.written {
            if ok { self.start(Request::Erase(erase)) } else { self.end_erase(erase, false) }
        }
    }

    fn end_erase(&mut self, Erase { tag, segment }: Erase, ok: bool) {
        match tag {
            Some(tag) => self.complete(tag, Io::Erase(segment), ok, CellError::Erase),
            None if ok => self.set_free(segment),
            None => {}
        }
    }

    fn complete(&mut self, tag: Tag, io: Io, ok: bool, error: CellError) {
        self.outstanding.remove(&tag);
        self.completions.push_back(Completion { tag, io, result: if ok { Ok(()) } else { Err(error) } });
    }

    fn start(&mut self, request: Request) {
        if !self.backlog.is_empty() || !self.submit(request) {
            self.backlog.push_back(request);
        }
    }

    fn submit(&mut self, request: Request) -> bool {
        let blocks = u64::from(self.page_blocks);
        let ticket = match request {
            Request::Read { at, reading, .. } => {
                let (first, count) = self.blocks_of(reading.parts);
                self.queue.read(at.0 * blocks + u64::from(first), count)
            }
            Request::Program { at, slot, .. } => {
                self.queue.write(at.0 * blocks, bytes_of(&self.page_buffer, slot)).ok()
            }
            Request::Erase(Erase { segment, .. }) => {
                let first = self.geometry.page(segment, 0).0 * blocks;
                self.queue.deallocate(first, u64::from(self.geometry.segment_pages) * blocks)
            }
            Request::Sync { .. } | Request::Cover => self.queue.flush(),
        };
        let Some(ticket) = ticket else { return false };
        match request {
            Request::Read { .. } => self.stats.reads += 1,
            Request::Program { .. } => self.stats.writes += 1,
            Request::Erase(_) => self.stats.deallocations += 1,
            Request::Sync { .. } | Request::Cover => self.stats.flushes += 1,
        }
        self.on_way.insert(ticket, request);
        true
    }

    /// The blocks of a page that parts are: the first, and how many.
    fn blocks_of(&self, parts: Parts) -> (u32, u32) {
        let part_blocks = self.page_blocks.div_ceil(Parts::MAX);
        let (first, count) = parts.bounds();
        let first = first * part_blocks;
        (first, (count * part_blocks).min(self.page_blocks - first))
    }

    fn tag(&mut self) -> Tag {
        self.next_tag += 1;
        self.outstanding.insert(Tag(self.next_tag));
        Tag(self.next_tag)
    }
}

/// A page as it is written: data and out-of-band bytes.
fn bytes_of(page_buffer: &PageBuffer, slot: SlotId) -> Vec<u8> {
    [page_buffer.data(slot), page_buffer.oob(slot)].concat()
}
