// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocks of sorted tables.
//!
//! | bytes | field |
//! |---|---|
//! | 0-3 | CRC32C of everything after it that is used; of pairs the sum of [`super::sum`] |
//! | 4-11 | number of the table |
//! | 12-15 | index of the block in the table |
//! | 16-19 | bytes used after the head |
//! | 20-21 | entries |
//! | 22 | bytes of a key field |
//! | 23 | kind: 1 entries, 2 part of the table's description, 3 pairs, 4 one long pair |
//! | 24- | entries in order, or bytes |
//!
//! All little-endian. Entries of a block have one length, so that a search needs no restart points. Pairs, which have values, are
//! the LSM store's (`lsm/pairs.rs`).
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

use super::key::{Entry, Key};
use super::parts::CheckedPart;
use super::search::{Share, first_after, first_after_near};
use super::sum::Sum;
use saker_segment_store::header::crc32c;
use saker_sim::Meter;
use std::ops::Range;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes before the content.
pub const HEAD: usize = 24;
/// Bytes of a block; a page holds several if it is longer.
pub const BLOCK_BYTES: u32 = 4096;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Entries.
    Entries = 1,
    /// A part of the table's description.
    Meta = 2,
    /// Pairs with values among them.
    Pairs = 3,
    /// One pair, which may cross pages.
    Long = 4,
}

/// Blocks of a page of so many bytes. The last one ends with the page: over a block namespace it is shorter than the others by the
/// out-of-band bytes, and each block is in one block of the namespace.
pub fn blocks_per_page(page_bytes: u32) -> u32 {
    (page_bytes.saturating_add(BLOCK_BYTES / 2) / BLOCK_BYTES).max(1)
}

/// Where in its page the block of that number there begins and ends.
pub fn span(page_bytes: u32, n: u32) -> Range<u32> {
    let start = n.saturating_mul(BLOCK_BYTES);
    if n + 1 >= blocks_per_page(page_bytes) { start..page_bytes } else { start..start + BLOCK_BYTES }
}

/// Bytes of the block that begins behind so many bytes of a page.
pub fn bytes_at(page_bytes: u32, start: u32) -> u32 {
    let span = span(page_bytes, start / BLOCK_BYTES);
    span.end.saturating_sub(span.start)
}

/// Writes a block: head, content, zeros.
pub fn put(kind: Kind, table: u64, index: u32, count: u16, width: u8, content: &[u8], out: &mut [u8]) {
    let (block, zeros) = out.split_at_mut(HEAD + content.len());
    let (_, to) = block.split_at_mut(HEAD);
    to.copy_from_slice(content);
    zeros.fill(0);
    seal(kind, (table, index), (count, width), block);
}

/// Writes the head of a block whose content is behind it.
pub fn seal(kind: Kind, (table, index): (u64, u32), (count, width): (u16, u8), block: &mut [u8]) {
    let (first, content) = block.split_at_mut(HEAD);
    let used = content.len() as u32;
    let (crc, table, index) = (U32::ZERO, table.into(), index.into());
    let mut head =
        Head { crc, table, index, used: used.into(), count: count.into(), width, kind: kind as u8 };
    first.copy_from_slice(head.as_bytes());
    head.crc = checksum(kind, block.get(4..).unwrap_or_default()).into();
    let (first, _) = block.split_at_mut(HEAD);
    first.copy_from_slice(head.as_bytes());
}

/// What covers a block of that kind.
fn checksum(kind: Kind, covered: &[u8]) -> u32 {
    match kind {
        Kind::Entries | Kind::Meta => crc32c(covered),
        Kind::Pairs | Kind::Long => Sum::of(covered),
    }
}

/// The content of a sound block: entries, width of a key field, bytes.
pub fn open(bytes: &[u8], kind: Kind, table: u64, index: u32) -> Option<(u16, u8, &[u8])> {
    let (head, content) = Head::of(bytes)?;
    let covered = bytes.get(4..HEAD.checked_add(content.len())?)?;
    let is_it = head.is(table, index) && head.kind == kind as u8;
    let right = is_it && head.crc.get() == checksum(kind, covered);
    right.then_some((head.count.get(), head.width, content))
}

/// The same of a block whose checksum was looked at before, while its page's bytes were in memory.
#[inline]
pub fn trusted(bytes: &[u8], kind: Kind, table: u64, index: u32) -> Option<(u16, u8, &[u8])> {
    let (head, content) = Head::of(bytes)?;
    let is_it = head.is(table, index) && head.kind == kind as u8;
    is_it.then_some((head.count.get(), head.width, content))
}

/// Checksum of a block of which only the head is here, and bytes behind that; the head's own part of what the checksum covers begins
/// at byte 4.
pub fn open_head(bytes: &[u8], kind: Kind, table: u64, index: u32) -> Option<(u32, u32)> {
    let (head, _) = Head::ref_from_prefix(bytes).ok()?;
    let right = head.is(table, index) && head.kind == kind as u8;
    right.then_some((head.crc.get(), head.used.get()))
}

/// What the head of a block says: its table and its index.
pub fn name_of(bytes: &[u8]) -> Option<(u64, u32)> {
    let (head, _) = Head::ref_from_prefix(bytes).ok()?;
    Some((head.table.get(), head.index.get()))
}

/// The bytes before the content.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy)]
#[repr(C)]
struct Head {
    crc: U32,
    table: U64,
    index: U32,
    used: U32,
    count: U16,
    width: u8,
    kind: u8,
}

const _: () = assert!(size_of::<Head>() == HEAD);

impl Head {
    /// The head and the content of a block.
    #[inline]
    fn of(bytes: &[u8]) -> Option<(&Self, &[u8])> {
        let (head, rest) = Self::ref_from_prefix(bytes).ok()?;
        Some((head, rest.get(..head.used.get() as usize)?))
    }

    #[inline]
    fn is(&self, table: u64, index: u32) -> bool {
        self.table.get() == table && self.index.get() == index
    }
}

/// Entries of a block.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    content: &'a [u8],
    count: usize,
    width: usize,
}

impl<'a> Block<'a> {
    /// A block of entries; `None` if it is not as it was written.
    pub fn open(bytes: &'a [u8], table: u64, index: u32) -> Option<Self> {
        let (count, width, content) = open(bytes, Kind::Entries, table, index)?;
        Self::of(content, count, width)
    }

    #[inline]
    fn of(content: &'a [u8], count: u16, width: u8) -> Option<Self> {
        let block = Self { content, count: usize::from(count), width: usize::from(width) };
        (block.width <= 16 && block.count * block.stride() == content.len()).then_some(block)
    }

    /// The same, of a block that has a part of its page: the checksum is looked at once while the page's bytes are in memory.
    #[inline]
    pub fn open_once(bytes: &'a [u8], table: u64, index: u32, of: CheckedPart<'_>) -> Option<Self> {
        if of.is_checked() {
            debug_assert!(Self::open(bytes, table, index).is_some(), "what was checked has changed");
            return Self::trusted(bytes, table, index);
        }
        Self::open(bytes, table, index).inspect(|_| of.note())
    }

    /// The same for bytes that were checked when they were read.
    pub fn trusted(bytes: &'a [u8], table: u64, index: u32) -> Option<Self> {
        let (head, content) = Head::of(bytes)?;
        Self::of(content, head.count.get(), head.width).filter(|_| head.is(table, index))
    }

    fn stride(&self) -> usize {
        self.width + Entry::FIXED_BYTES
    }

    /// Number of entries.
    pub fn count(&self) -> usize {
        self.count
    }

    /// An entry.
    #[inline]
    pub fn get(&self, n: usize) -> Option<Entry> {
        Entry::decode(self.content.get(n * self.stride()..(n + 1) * self.stride())?, self.width)
    }

    /// What a comparison with an entry looks at first.
    #[inline]
    pub fn touch<W: Meter>(&self, n: usize, w: &mut W) {
        self.content.get(n * self.stride()).into_iter().for_each(|byte| w.touch(byte));
    }

    /// Whether an entry is before `key` at `version`. Most are told by their first eight bytes.
    #[inline]
    fn is_before(&self, n: usize, key: &Key, version: u64) -> bool {
        let Some(bytes) = self.content.get(n * self.stride()..(n + 1) * self.stride()) else { return false };
        if self.width >= 8
            && let Some(word) = bytes.first_chunk().map(|word| u64::from_be_bytes(*word))
            && word != key.word()
        {
            return word < key.word();
        }
        Entry::decode_place(bytes, self.width).is_some_and(|(k, v)| (k, version) < (*key, v))
    }

    /// The first entry that is not before `key` at `version`.
    #[inline]
    pub fn lower_bound(&self, key: &Key, version: u64) -> usize {
        first_after(0, self.count, |n| self.is_before(n, key, version))
    }

    /// The same, which is likely to be near such a share of the entries.
    #[inline]
    pub fn lower_bound_near(&self, key: &Key, version: u64, share: Share) -> usize {
        first_after_near(self.count, share.of(self.count), |n| self.is_before(n, key, version))
    }
}

/// A search of [`Block::lower_bound`] that goes on step by step.
#[derive(Clone, Copy, Debug)]
pub struct Narrow {
    low: usize,
    high: usize,
    version: u64,
}

impl Narrow {
    /// At its begin.
    pub fn new(block: &Block<'_>, version: u64) -> Self {
        Self { low: 0, high: block.count, version }
    }

    /// The entry that the next step looks at.
    #[inline]
    pub fn middle(&self) -> usize {
        self.low.midpoint(self.high)
    }

    /// What was looked for, once no step is left.
    #[inline]
    pub fn low(&self) -> usize {
        self.low
    }

    /// Whether steps are left behind this one.
    #[inline]
    pub fn step(&mut self, block: &Block<'_>, key: &Key) -> bool {
        if self.low < self.high {
            let middle = self.middle();
            if block.is_before(middle, key, self.version) {
                self.low = middle + 1
            } else {
                self.high = middle
            }
        }
        self.low < self.high
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_value_log::RecordAddr;

    fn block(entries: &[Entry]) -> Vec<u8> {
        let mut content = Vec::new();
        entries.iter().for_each(|e| e.encode(4, &mut content));
        let mut out = vec![0xff; 512];
        put(Kind::Entries, 7, 3, entries.len() as u16, 4, &content, &mut out);
        out
    }

    fn entry(key: &[u8], version: u64) -> Entry {
        Entry {
            key: Key::new(key).unwrap(),
            version,
            addr: RecordAddr::new(8 * version, 32, 1),
            stamp: version,
        }
    }

    #[test]
    fn blocks_of_a_page_are_behind_each_other_and_end_with_it() {
        let blocks = |page| (0..blocks_per_page(page)).map(|n| span(page, n)).collect::<Vec<_>>();
        assert_eq!(blocks(8192), [0..4096, 4096..8192]);
        assert_eq!(blocks(16320), [0..4096, 4096..8192, 8192..12288, 12288..16320], "less out-of-band bytes");
        for page in [512, 4032, 5000] {
            assert_eq!((blocks_per_page(page), span(page, 0)), (1, 0..page));
        }
        assert_eq!((bytes_at(16320, 8192), bytes_at(16320, 12288), bytes_at(512, 0)), (4096, 4032, 512));
    }

    #[test]
    fn searches_find_the_version_that_was_asked_for() {
        let entries = [entry(b"a", 9), entry(b"a", 4), entry(b"b", 7), entry(b"d", 1)];
        let bytes = block(&entries);
        let block = Block::open(&bytes, 7, 3).unwrap();
        let found = |key: &[u8], version| block.lower_bound(&Key::new(key).unwrap(), version);
        assert_eq!((found(b"a", u64::MAX), found(b"a", 9), found(b"a", 8), found(b"a", 3)), (0, 0, 1, 2));
        assert_eq!((found(b"b", 8), found(b"c", 8), found(b"d", 0), found(b"A", 0)), (2, 3, 4, 0));
        assert_eq!((0..4).map(|n| block.get(n).unwrap()).collect::<Vec<_>>(), entries);
        assert_eq!(block.get(4), None);
    }

    #[test]
    fn another_place_and_any_flipped_bit_are_seen() {
        let bytes = block(&[entry(b"a", 9), entry(b"b", 4)]);
        assert!(Block::open(&bytes, 8, 3).is_none() && Block::open(&bytes, 7, 4).is_none());
        for bit in 0..(HEAD + 2 * 25) * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(Block::open(&bad, 7, 3).is_none(), "bit {bit}");
        }
    }
}
