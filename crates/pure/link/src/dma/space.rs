// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The space itself: arena and windows behind one address.

use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::arena::Arena;
use super::foreign::{Foreign, ForeignError, ForeignMemory};
use super::mapping::{self, Pane};
use super::pages::PageRuns;
use super::{ARENA_IOVA, ArenaFull, DmaError, DmaRegion, PAGE_BYTES, Placement, Window};
use crate::sync::{AtomicU64, Ordering};

/// The host's memory as the device sees it, addressed by IOVA. Addresses depend on the order of the calls only, so
/// that two runs of one program put the same bytes into their commands.
///
/// Device accesses ([`read`](Self::read), [`write`](Self::write), [`read_u64`](Self::read_u64)) take any address and
/// length and are safe from any thread. Copies into the arena are ordered by nothing: rings and doorbells publish
/// them. Copies through a window synchronise with its mapping and unmapping.
pub struct DmaSpace {
    arena: Arena,
    panes: Box<[Pane]>,
    placement: Placement,
    foreign: Foreign,
    book: Mutex<Book>,
}

/// Who owns what; only touched at set-up and tear-down.
struct Book {
    pages: PageRuns,
    /// Free windows, the next one to give out last.
    windows: Vec<u32>,
}

impl DmaSpace {
    /// A space with `arena_pages` pages (untouched ones cost no memory) and `windows` windows that keep a buffer's
    /// own offset within its page.
    pub fn new(arena_pages: u32, windows: u32) -> Arc<Self> {
        Self::with_placement(arena_pages, windows, Placement::Natural)
    }

    /// As [`new`](Self::new), with a choice of where mapped buffers appear.
    pub fn with_placement(arena_pages: u32, windows: u32, placement: Placement) -> Arc<Self> {
        Arc::new(Self {
            arena: Arena::new(arena_pages),
            panes: (0..windows).map(|_| Pane::new()).collect(),
            placement,
            foreign: Foreign::default(),
            book: Mutex::new(Book {
                pages: PageRuns::new(arena_pages),
                windows: (0..windows).rev().collect(),
            }),
        })
    }

    /// A space whose arena is memory that another process shares, and which has no windows: for a host whose device is in
    /// that process and sees the memory from [`ARENA_IOVA`] on. The memory is zeroed.
    ///
    /// # Panics
    /// For more pages than an arena can have.
    pub fn over(memory: Arc<ForeignMemory>) -> Arc<Self> {
        let pages = u32::try_from(memory.bytes() / PAGE_BYTES).expect("an arena has fewer than 2^32 pages");
        Arc::new(Self {
            arena: Arena::shared(memory),
            panes: Box::default(),
            placement: Placement::Natural,
            foreign: Foreign::default(),
            book: Mutex::new(Book { pages: PageRuns::new(pages), windows: Vec::new() }),
        })
    }

    /// Maps memory of another process from `iova` on, in a space without arena and windows. Without `memory` the range is
    /// known and cannot be reached. At most `max` regions are mapped at a time.
    ///
    /// # Errors
    /// [`ForeignError`]; nothing has changed then.
    pub fn map_foreign(
        &self,
        iova: u64,
        bytes: u64,
        memory: Option<Arc<ForeignMemory>>,
        max: usize,
    ) -> Result<(), ForeignError> {
        self.foreign.map((iova, bytes), memory, max)
    }

    /// Unmaps the regions that make up the range, waiting for copies that are going on. Rings that are in them keep the
    /// memory, until they are [looked at again](crate::DeviceSq::follow_memory).
    ///
    /// # Errors
    /// [`ForeignError`]; nothing has changed then.
    pub fn unmap_foreign(&self, iova: u64, bytes: u64) -> Result<(), ForeignError> {
        self.foreign.unmap(iova, bytes)
    }

    /// Unmaps all memory of another process.
    pub fn unmap_all_foreign(&self) {
        self.foreign.clear();
    }

    /// Puts memory of the device's own, such as a controller memory buffer, at an address in front of all memory of another process,
    /// or takes it away. False for addresses that cannot be; nothing is in front then. As with [`unmap_foreign`](Self::unmap_foreign)
    /// rings have to be looked at again.
    pub fn set_front(&self, front: Option<(u64, Arc<ForeignMemory>)>) -> bool {
        self.foreign.set_front(front)
    }

    /// Whether the other process has taken memory away that it had mapped.
    pub fn has_lost_foreign(&self) -> bool {
        self.foreign.is_lost()
    }

    /// Allocates `pages` contiguous zeroed pages (at least one). The region gives them back when dropped.
    ///
    /// # Errors
    /// [`ArenaFull`] if no free run is long enough.
    pub fn alloc_pages(self: &Arc<Self>, pages: u32) -> Result<DmaRegion, ArenaFull> {
        let pages = pages.max(1);
        let taken = self.book().pages.take(pages).ok_or(ArenaFull { pages })?;
        if taken.dirty {
            self.arena.zero_pages(taken.page, pages);
        }
        let iova = ARENA_IOVA + u64::from(taken.page) * PAGE_BYTES as u64;
        Ok(DmaRegion::new(Arc::clone(self), iova, pages))
    }

    /// Allocates the pages that hold `bytes` bytes.
    ///
    /// # Errors
    /// [`ArenaFull`] if no free run is long enough.
    pub fn alloc_bytes(self: &Arc<Self>, bytes: usize) -> Result<DmaRegion, ArenaFull> {
        self.alloc_pages(u32::try_from(bytes.div_ceil(PAGE_BYTES)).unwrap_or(u32::MAX))
    }

    /// A window of its own for the caller, or `None` if all are taken. Dropping it gives it back.
    pub fn window(self: &Arc<Self>) -> Option<Window> {
        let index = self.book().windows.pop()?;
        Some(Window::new(Arc::clone(self), index))
    }

    /// Free arena pages.
    pub fn free_pages(&self) -> u32 {
        self.book().pages.free_pages()
    }

    /// Device: copies bytes from `iova` on into `into`.
    ///
    /// # Errors
    /// [`DmaError`] unless the whole range is mapped; nothing is copied then. An empty range is always fine.
    #[inline]
    pub fn read(&self, iova: u64, into: &mut [u8]) -> Result<(), DmaError> {
        if let Some(offset) = self.arena.locate(iova, into.len()) {
            self.arena.read(offset, into);
            return Ok(());
        }
        let bytes = into.len();
        if bytes == 0 {
            return Ok(());
        }
        let copied = match mapping::locate(&self.panes, iova) {
            Ok((pane, at)) => pane.read(at, into),
            Err(_) => self.foreign.read(iova, into),
        };
        copied.map_err(|fault| fault.at(iova, bytes))
    }

    /// Device: copies `from` to `iova` on.
    ///
    /// # Errors
    /// [`DmaError`] unless the whole range is mapped for writing; nothing is copied then. An empty range is always
    /// fine.
    #[inline]
    pub fn write(&self, iova: u64, from: &[u8]) -> Result<(), DmaError> {
        if let Some(offset) = self.arena.locate(iova, from.len()) {
            self.arena.write(offset, from);
            return Ok(());
        }
        if from.is_empty() {
            return Ok(());
        }
        let copied = match mapping::locate(&self.panes, iova) {
            Ok((pane, at)) => pane.write(at, from),
            Err(_) => self.foreign.write(iova, from),
        };
        copied.map_err(|fault| fault.at(iova, from.len()))
    }

    /// Device: the little-endian u64 at `iova` (a PRP entry, for example).
    ///
    /// # Errors
    /// [`DmaError`] unless all eight bytes are mapped.
    #[inline]
    pub fn read_u64(&self, iova: u64) -> Result<u64, DmaError> {
        if iova.is_multiple_of(8)
            && let Some(offset) = self.arena.locate(iova, 8)
        {
            return Ok(u64::from_le(self.arena.words_from(offset)[0].load(Ordering::Relaxed)));
        }
        let mut bytes = [0; 8];
        self.read(iova, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Stores `value` in little-endian order at `iova`.
    ///
    /// # Errors
    /// [`DmaError`] unless all eight bytes are mapped for writing.
    #[inline]
    pub fn write_u64(&self, iova: u64, value: u64) -> Result<(), DmaError> {
        self.write(iova, &value.to_le_bytes())
    }

    /// The words of `bytes` bytes from `iova` on, if `iova` is page-aligned and all lie within the arena, or within one
    /// region of another process's memory, which comes along.
    pub(crate) fn ring_words(
        &self,
        iova: u64,
        bytes: usize,
        writes: bool,
    ) -> Option<(NonNull<AtomicU64>, Option<Arc<ForeignMemory>>)> {
        let first = |words: &[AtomicU64]| NonNull::from(words).cast();
        if let Some(offset) = self.arena.locate(iova, bytes) {
            let words = &self.arena.words_from(offset)[..bytes / 8];
            return offset.is_multiple_of(PAGE_BYTES).then(|| (first(words), None));
        }
        let (memory, offset) = self.foreign.ring(iova, bytes, writes)?;
        let words = first(&memory.words()[offset / 8..(offset + bytes) / 8]);
        Some((words, Some(memory)))
    }

    pub(super) fn pane(&self, index: u32) -> &Pane {
        &self.panes[index as usize]
    }

    pub(super) fn placement(&self) -> Placement {
        self.placement
    }

    pub(super) fn free_pages_at(&self, iova: u64, pages: u32) {
        let page = ((iova - ARENA_IOVA) / PAGE_BYTES as u64) as u32;
        self.book().pages.give_back(page, pages);
    }

    pub(super) fn free_window(&self, index: u32) {
        self.book().windows.push(index);
    }

    /// The book is consistent between any two of its operations, so a panic elsewhere does not spoil it.
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for DmaSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DmaSpace").field("windows", &self.panes.len()).finish_non_exhaustive()
    }
}
