// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The arena: zeroed pages that only ever change by atomic word operations.

use std::sync::Arc;

use super::{ARENA_IOVA, ForeignMemory, PAGE_BYTES, copy};
use crate::sync::{AtomicU64, Ordering, zeroed_words};

const WORD_BYTES: usize = 8;
const PAGE_WORDS: usize = PAGE_BYTES / WORD_BYTES;

/// A fixed run of IOVAs from [`ARENA_IOVA`] on, backed by words.
pub(super) struct Arena {
    words: Words,
    /// Index of that word.
    first: usize,
    bytes: u64,
}

enum Words {
    /// One page more than there are, so that some word in the first page is page-aligned.
    Own(Box<[AtomicU64]>),
    Shared(Arc<ForeignMemory>),
}

impl Arena {
    pub(super) fn new(pages: u32) -> Self {
        let words = zeroed_words((pages as usize + 1) * PAGE_WORDS);
        let first = first_aligned(&words);
        Self { words: Words::Own(words), first, bytes: u64::from(pages) * PAGE_BYTES as u64 }
    }

    /// Backed by memory that another process shares.
    pub(super) fn shared(memory: Arc<ForeignMemory>) -> Self {
        let bytes = memory.bytes() as u64;
        Self { words: Words::Shared(memory), first: 0, bytes }
    }

    /// Offset of `iova` in the arena, if all of `bytes` bytes lie within.
    #[inline]
    pub(super) fn locate(&self, iova: u64, bytes: usize) -> Option<usize> {
        let offset = iova.wrapping_sub(ARENA_IOVA);
        // Two comparisons instead of a sum, which could wrap.
        let inside = offset < self.bytes && bytes as u64 <= self.bytes - offset;
        inside.then_some(offset as usize)
    }

    /// The words from byte `offset` on, rounded down to a word.
    #[inline]
    pub(super) fn words_from(&self, offset: usize) -> &[AtomicU64] {
        let words = match &self.words {
            Words::Own(words) => words,
            Words::Shared(memory) => memory.words(),
        };
        &words[self.first + offset / WORD_BYTES..]
    }

    #[inline]
    pub(super) fn read(&self, offset: usize, into: &mut [u8]) {
        copy::load(self.words_from(offset), offset % WORD_BYTES, into);
    }

    #[inline]
    pub(super) fn write(&self, offset: usize, from: &[u8]) {
        copy::store(self.words_from(offset), offset % WORD_BYTES, from);
    }

    pub(super) fn zero_pages(&self, page: u32, pages: u32) {
        let words = self.words_from(page as usize * PAGE_BYTES);
        for word in &words[..pages as usize * PAGE_WORDS] {
            word.store(0, Ordering::Relaxed);
        }
    }
}

/// Real page alignment keeps a ring entry within one cache line and a page within one translation.
#[cfg(not(loom))]
fn first_aligned(words: &[AtomicU64]) -> usize {
    let misaligned = words.as_ptr().addr() % PAGE_BYTES;
    (PAGE_BYTES - misaligned) % PAGE_BYTES / WORD_BYTES
}

#[cfg(loom)]
fn first_aligned(_: &[AtomicU64]) -> usize {
    0
}
