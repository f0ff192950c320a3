// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The entries of a queue, as arrays of atomic words in the arena.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use super::{ENTRIES, RingError};
use crate::dma::{DmaSpace, ForeignMemory, copy};
use crate::prefetch::prefetch;
use crate::sync::{AtomicU64, Ordering};

/// A view of `entries` entries of `N` words. Any number of views may overlap: everything in it is atomic.
///
/// Invariant: `first` points to `entries` entries inside the arena of `space`, whose words never move and live as long
/// as the space, or inside `foreign`, which is kept alive. The pointer saves the bounds arithmetic on every entry.
pub(crate) struct RingMemory<const N: usize> {
    first: NonNull<[AtomicU64; N]>,
    entries: u32,
    iova: u64,
    writes: bool,
    foreign: Option<Arc<ForeignMemory>>,
    space: Arc<DmaSpace>,
}

// SAFETY: a view is a shared reference to atomics together with the Arc that keeps them alive.
unsafe impl<const N: usize> Send for RingMemory<N> {}
// SAFETY: as for Send; all access is atomic.
unsafe impl<const N: usize> Sync for RingMemory<N> {}

impl<const N: usize> RingMemory<N> {
    /// The queue of `entries` entries at `iova`, which is written to if `writes` says so.
    ///
    /// # Errors
    /// [`RingError`] unless the count is possible, `iova` is page-aligned and the queue lies within the arena, or within
    /// one region of another process's memory.
    pub(crate) fn new(
        space: &Arc<DmaSpace>,
        iova: u64,
        entries: u32,
        writes: bool,
    ) -> Result<Self, RingError> {
        let bytes = Self::bytes(entries)?;
        let found = space.ring_words(iova, bytes, writes);
        let (words, foreign) = found.ok_or(RingError::Memory { iova, bytes })?;
        Ok(Self { first: words.cast(), entries, iova, writes, foreign, space: Arc::clone(space) })
    }

    /// Looks where the queue is now, after memory of another process was mapped or unmapped. False if it is nowhere: it
    /// stays where it was then.
    pub(crate) fn follow(&mut self) -> bool {
        if self.foreign.is_none() {
            return true;
        }
        let bytes = self.entries as usize * N * 8;
        let Some((words, foreign)) = self.space.ring_words(self.iova, bytes, self.writes) else {
            return false;
        };
        (self.first, self.foreign) = (words.cast(), foreign);
        true
    }

    /// Bytes of a queue of `entries` entries.
    pub(crate) fn bytes(entries: u32) -> Result<usize, RingError> {
        if ENTRIES.contains(&entries) {
            Ok(entries as usize * N * 8)
        } else {
            Err(RingError::EntryCount(entries))
        }
    }

    #[inline]
    pub(crate) fn entries(&self) -> u32 {
        self.entries
    }

    #[inline]
    fn entry(&self, index: u32) -> &[AtomicU64; N] {
        assert!(index < self.entries, "ring indices stay in the ring");
        // SAFETY: `index` is below `entries`; see the invariant of the type.
        unsafe { self.first.add(index as usize).as_ref() }
    }

    /// Copies an entry out, word by word; the caller has synchronised with its writer.
    #[inline]
    pub(crate) fn load(&self, index: u32) -> [u64; N] {
        let entry = self.entry(index);
        std::array::from_fn(|word| entry[word].load(Ordering::Relaxed))
    }

    /// Copies an entry in; a later release publishes it.
    #[inline]
    pub(crate) fn store(&self, index: u32, words: [u64; N]) {
        let entry = self.entry(index);
        // By number: an iterator over both is not unrolled.
        for n in 0..N {
            entry[n].store(words[n], Ordering::Relaxed);
        }
    }

    /// Word `word` of an entry, and everything that happened before its [`publish`](Self::publish).
    #[inline]
    pub(crate) fn acquire(&self, index: u32, word: usize) -> u64 {
        self.entry(index)[word].load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn load_word(&self, index: u32, word: usize) -> u64 {
        self.entry(index)[word].load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn store_word(&self, index: u32, word: usize, value: u64) {
        self.entry(index)[word].store(value, Ordering::Relaxed);
    }

    /// Asks for the cache line of an entry ahead of its use.
    #[inline]
    pub(crate) fn prefetch(&self, index: u32) {
        prefetch(self.entry(index));
    }

    /// Copies the bytes from byte `skip` of an entry on to `into`, which ends within the entry.
    #[inline]
    pub(crate) fn read_bytes(&self, index: u32, skip: usize, into: &mut [u8]) {
        copy::load(&self.entry(index)[skip / 8..], skip % 8, into);
    }

    /// Stores word `word` of an entry after everything before.
    #[inline]
    pub(crate) fn publish(&self, index: u32, word: usize, value: u64) {
        self.entry(index)[word].store(value, Ordering::Release);
    }
}

impl<const N: usize> fmt::Debug for RingMemory<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RingMemory({} entries of {} bytes)", self.entries, N * 8)
    }
}
