// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocks of tables that have values beside their keys.
//!
//! A table is a row of bytes over pages of flash, and its blocks follow each other in it. A block of pairs lies in one page and is about
//! as long as `block_size` says; a pair that is longer than what is left of a page may cross pages, and is then a block of its own. So a
//! search looks at one page unless the pair itself is longer.
//!
//! A pair (little-endian): version and key length `u64`, as in [`crate::ordered::key`]; the key; a word `u32`, whose two highest bits
//! say what follows: 0 nothing (the key was deleted), 1 the place of its record `u64` and its stamp (5 bytes), 2 the value, of which
//! the other bits have the length. Behind the pairs of a block: where each begins, behind the head, `u16`.
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

mod open;

pub use open::{Open, With, long};

use crate::ordered::block::{self, HEAD, Kind};
use crate::ordered::key::{Entry, Key};
use crate::ordered::parts::CheckedPart;
use crate::ordered::search::{Share, first_after, first_after_near};
use saker_value_log::RecordAddr;

const KIND_SHIFT: u32 = 30;
const LENGTH_MASK: u32 = (1 << KIND_SHIFT) - 1;
const GONE: u32 = 0;
const APART: u32 = 1;
const INSIDE: u32 = 2;
/// Bytes of the version and the key length, and of the word.
pub const WORDS: usize = 8 + 4;
/// Bytes of a place and its stamp.
const PLACE_BYTES: usize = 8 + 5;
/// Bytes of where a pair begins.
const OFFSET_BYTES: usize = 2;
/// Bytes from the beginning of a long pair's block in which everything but its value is.
pub const LONG_HEAD: usize = HEAD + WORDS + 16;
/// The longest block of pairs that can be asked for: where they begin has two bytes.
pub const BLOCK_BYTES_MAX: u32 = 1 << (8 * OFFSET_BYTES);
/// The shortest one: what is before a value takes a small part of it.
pub const BLOCK_BYTES_MIN: u32 = 512;
/// The longest block of one entry without a value: none such crosses pages.
pub const PLACED_BYTES_MAX: usize = HEAD + WORDS + 16 + PLACE_BYTES + OFFSET_BYTES;
/// The shortest page.
pub const PAGE_BYTES_MIN: u32 = 512;
const _: () = {
    assert!(LONG_HEAD <= PLACED_BYTES_MAX, "what crosses pages is longer than what is read of it at first");
    assert!(4 * PLACED_BYTES_MAX <= PAGE_BYTES_MIN as usize, "little of a page stays empty");
};

/// Bytes of an entry in a block, without where it begins.
pub fn pair_bytes(e: &Entry) -> usize {
    let rest = match (e.is_tombstone(), e.is_inside()) {
        (true, _) => 0,
        (_, true) => e.addr.value_bytes_inside() as usize,
        _ => PLACE_BYTES,
    };
    WORDS + e.key.len() + rest
}

/// Bytes of a block with one entry.
pub fn alone_bytes(e: &Entry) -> usize {
    HEAD + pair_bytes(e) + OFFSET_BYTES
}

/// A pair that begins somewhere. What comes back second is where its value begins.
#[inline]
fn decode(bytes: &[u8]) -> Option<(Entry, usize)> {
    let (key, version) = Entry::decode_key_of_own_length(bytes)?;
    let at = 8 + key.len();
    let word = u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
    let behind = at + 4;
    let (addr, stamp) = match word >> KIND_SHIFT {
        GONE => (RecordAddr::NONE, 0),
        APART => Entry::decode_loc(bytes.get(behind..)?).filter(|(addr, _)| !addr.is_none())?,
        INSIDE => (RecordAddr::inside(key.len() as u8, word & LENGTH_MASK), 0),
        _ => return None,
    };
    Some((Entry { key, version, addr, stamp }, behind))
}

/// Entries of a block of pairs.
#[derive(Clone, Copy, Debug)]
pub struct Pairs<'a> {
    content: &'a [u8],
    begins: &'a [u8],
    /// Where the content begins in the table.
    base: u32,
}

impl<'a> Pairs<'a> {
    /// The block that begins at byte `start` of a table; `None` if it is not as it was written.
    pub fn open(bytes: &'a [u8], table: u64, index: u32, start: u32) -> Option<Self> {
        Self::of(block::open(bytes, Kind::Pairs, table, index)?, start)
    }

    /// The same, of a block that has a part of its page: the checksum is looked at once while the page's bytes are in memory.
    #[inline]
    pub fn open_once(
        bytes: &'a [u8],
        (table, index): (u64, u32),
        start: u32,
        of: CheckedPart<'_>,
    ) -> Option<Self> {
        if of.is_checked() {
            debug_assert!(Self::open(bytes, table, index, start).is_some(), "what was checked has changed");
            return Self::of(block::trusted(bytes, Kind::Pairs, table, index)?, start);
        }
        Self::open(bytes, table, index, start).inspect(|_| of.note())
    }

    fn of((count, _, all): (u16, u8, &'a [u8]), start: u32) -> Option<Self> {
        let split = all.len().checked_sub(OFFSET_BYTES * usize::from(count))?;
        let (content, begins) = all.split_at_checked(split)?;
        Some(Self { content, begins, base: start + HEAD as u32 })
    }

    /// Number of entries.
    pub fn count(&self) -> usize {
        self.begins.len() / OFFSET_BYTES
    }

    /// Bytes of the block.
    pub fn bytes(&self) -> usize {
        HEAD + self.content.len() + self.begins.len()
    }

    #[inline]
    fn at(&self, n: usize) -> Option<&'a [u8]> {
        let begin = u16::from_le_bytes(*self.begins.get(OFFSET_BYTES * n..)?.first_chunk()?);
        self.content.get(usize::from(begin)..)
    }

    /// An entry. The stamp of one whose value is here says where in the table that begins.
    #[inline]
    pub fn get(&self, n: usize) -> Option<Entry> {
        let bytes = self.at(n)?;
        let (mut e, value) = decode(bytes)?;
        if e.is_inside() {
            bytes.get(value..value.checked_add(e.addr.value_bytes_inside() as usize)?)?;
            e.stamp = u64::from(self.base) + (self.content.len() - bytes.len() + value) as u64;
        }
        Some(e)
    }

    /// The value of one of its entries which has it here.
    #[inline]
    pub fn value(&self, e: &Entry) -> &'a [u8] {
        let begin = (e.stamp as u32).wrapping_sub(self.base) as usize;
        let behind = begin.saturating_add(e.addr.value_bytes_inside() as usize);
        self.content.get(begin..behind).unwrap_or_default()
    }

    /// The first entry that is not before `key` at `version`.
    #[inline]
    pub fn lower_bound(&self, key: &Key, version: u64) -> usize {
        first_after(0, self.count(), |n| self.is_before(n, key, version))
    }

    /// The same, which is likely to be near such a share of the entries.
    #[inline]
    pub fn lower_bound_near(&self, key: &Key, version: u64, share: Share) -> usize {
        let count = self.count();
        first_after_near(count, share.of(count), |n| self.is_before(n, key, version))
    }

    #[inline]
    fn is_before(&self, n: usize, key: &Key, version: u64) -> bool {
        let at = self.at(n).and_then(Entry::decode_key_of_own_length);
        at.is_some_and(|(k, v)| (k, version) < (*key, v))
    }

    /// The bytes that its entries' values are in, and where they begin in the table.
    pub fn values(&self) -> (&'a [u8], u32) {
        (self.content, self.base)
    }
}

/// What the beginning of a long pair's block says: the entry, whose stamp says where in the table its value begins, and the checksum
/// and the length of the whole block. The rest is not looked at.
pub fn open_long(bytes: &[u8], table: u64, index: u32, start: u32) -> Option<(Entry, u32, u32)> {
    let (crc, used) = block::open_head(bytes, Kind::Long, table, index)?;
    let (mut e, value) = decode(bytes.get(HEAD..)?)?;
    let whole = value.checked_add(e.addr.value_bytes_inside() as usize)? == used as usize;
    e.stamp = u64::from(start) + (HEAD + value) as u64;
    (e.is_inside() && whole).then_some((e, crc, HEAD as u32 + used))
}

#[cfg(test)]
mod tests;
