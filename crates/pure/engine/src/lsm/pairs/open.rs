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

use super::{APART, GONE, INSIDE, KIND_SHIFT, OFFSET_BYTES, pair_bytes};
use crate::ordered::block::{self, HEAD, Kind};
use crate::ordered::key::Entry;

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

/// Entries on their way into a block.
#[derive(Clone, Debug, Default)]
pub struct Open {
    content: Vec<u8>,
    begins: Vec<u16>,
}

impl Open {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.begins.is_empty()
    }

    /// Bytes of the block so far.
    pub fn bytes(&self) -> usize {
        HEAD + self.content.len() + OFFSET_BYTES * self.begins.len()
    }

    /// Whether one more makes a block of at most so many bytes.
    pub fn has_room(&self, e: &Entry, bytes: usize) -> bool {
        self.bytes() + pair_bytes(e) + OFFSET_BYTES <= bytes
    }

    /// Adds the next entry; of one with its value beside it that is `value`.
    pub fn push(&mut self, e: &Entry, value: &[u8]) {
        self.begins.push(self.content.len() as u16);
        encode(e, value, &mut self.content);
    }

    /// The block behind what is in a page already. There are no entries any more.
    pub fn close(&mut self, table: u64, index: u32, page: &mut Vec<u8>) {
        self.begins.iter().for_each(|at| self.content.extend(at.to_le_bytes()));
        let (start, count) = (page.len(), self.begins.len() as u16);
        page.resize(start + HEAD + self.content.len(), 0);
        if let Some(out) = page.get_mut(start..) {
            block::put(Kind::Pairs, table, index, count, 0, &self.content, out);
        }
        self.content.clear();
        self.begins.clear();
    }
}

/// The block of one long pair.
pub fn long(e: &Entry, value: &[u8], table: u64, index: u32) -> Vec<u8> {
    let mut content = Vec::with_capacity(pair_bytes(e));
    encode(e, value, &mut content);
    let mut out = vec![0; HEAD + content.len()];
    block::put(Kind::Long, table, index, 1, 0, &content, &mut out);
    out
}
