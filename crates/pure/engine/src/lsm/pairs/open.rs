// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writing blocks of pairs.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it writes what is read from images"
    )
)]

use super::{APART, GONE, INSIDE, KIND_SHIFT, OFFSET_BYTES, WORDS, pair_bytes};
use crate::ordered::block::{self, HEAD, Kind};
use crate::ordered::key::Entry;

/// What comes with an entry on its way into a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum With<'a> {
    /// Its value, or nothing of one that has none beside it.
    Value(&'a [u8]),
    /// All of it as it is in the block that it comes from, its value at the end: entries do not change when they are merged.
    Encoded(&'a [u8]),
}

impl<'a> With<'a> {
    /// Nothing: a tombstone, or an entry with a place.
    pub const NOTHING: Self = Self::Value(&[]);

    /// The value.
    pub fn value(self, e: &Entry) -> &'a [u8] {
        match self {
            Self::Value(value) => value,
            Self::Encoded(bytes) => bytes.get(WORDS + e.key.len()..).unwrap_or_default(),
        }
    }
}

fn encode(e: &Entry, value: &[u8], out: &mut Vec<u8>) {
    e.encode_place(out);
    let (kind, length) = match (e.is_tombstone(), e.is_inside()) {
        (true, _) => (GONE, 0),
        (_, true) => (INSIDE, value.len() as u32),
        _ => (APART, 0),
    };
    out.extend((kind << KIND_SHIFT | length).to_le_bytes());
    if kind == APART {
        e.encode_loc(out);
    }
    out.extend_from_slice(value);
}

/// A block at the end of a page on its way: where it begins in it, and where its entries do, behind its head.
#[derive(Clone, Debug, Default)]
pub struct Open {
    start: usize,
    begins: Vec<u16>,
}

impl Open {
    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.begins.is_empty()
    }

    /// Where it begins in the page; behind what is there if it has no entries.
    pub fn start(&self, page: &[u8]) -> usize {
        if self.is_empty() { page.len() } else { self.start }
    }

    /// Bytes of the block so far, which end the page.
    pub fn bytes(&self, page: &[u8]) -> usize {
        let behind_head = (page.len() - self.start(page)).max(HEAD);
        behind_head + OFFSET_BYTES * self.begins.len()
    }

    /// Whether one more makes a block of at most so many bytes.
    pub fn has_room(&self, e: &Entry, bytes: usize, page: &[u8]) -> bool {
        self.bytes(page) + pair_bytes(e) + OFFSET_BYTES <= bytes
    }

    /// Adds the next entry.
    pub fn push(&mut self, e: &Entry, with: With<'_>, page: &mut Vec<u8>) {
        if self.is_empty() {
            self.start = page.len();
            page.resize(self.start + HEAD, 0);
        }
        let begin = page.len();
        self.begins.push((begin - self.start - HEAD) as u16);
        match with {
            With::Encoded(bytes) => page.extend_from_slice(bytes),
            With::Value(value) => encode(e, value, page),
        }
        debug_assert_eq!(page.len() - begin, pair_bytes(e), "an entry is as long as it was said to be");
    }

    /// Ends the block. There are no entries any more.
    pub fn close(&mut self, table: u64, index: u32, page: &mut Vec<u8>) {
        self.begins.iter().for_each(|at| page.extend_from_slice(&at.to_le_bytes()));
        let count = self.begins.len() as u16;
        if let Some(block) = page.get_mut(self.start..) {
            block::seal(Kind::Pairs, (table, index), (count, 0), block);
        }
        self.begins.clear();
    }
}

/// The block of one long pair.
pub fn long(e: &Entry, value: &[u8], table: u64, index: u32) -> Vec<u8> {
    let mut block = Vec::with_capacity(HEAD + pair_bytes(e));
    block.resize(HEAD, 0);
    encode(e, value, &mut block);
    block::seal(Kind::Long, (table, index), (1, 0), &mut block);
    block
}
