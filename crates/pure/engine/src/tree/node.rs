// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Nodes: pages of one block each, in the LSM store's format (`lsm/block.rs`). The block's table is the node's birth, its index
//! the node's level, so that a parent's link tells whether a page is what it was. Entries of a leaf are those of the LSM store; a
//! link is an entry without a place, with the child's first key, its birth as version and its page as stamp.

use crate::ordered::block::{HEAD, Kind, put};
use crate::ordered::key::{Entry, Key};
use saker_segment_store::PageAddr;
use saker_value_log::RecordAddr;

/// A node as its parent names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// Where it is.
    pub page: PageAddr,
    /// The root it was written for.
    pub birth: u64,
}

impl Child {
    /// The child of a link.
    pub fn of(link: &Entry) -> Self {
        Self { page: PageAddr(link.stamp), birth: link.version }
    }

    /// The link to a child that begins with a key.
    pub fn link(self, key: Key) -> Entry {
        Entry { key, version: self.birth, addr: RecordAddr::NONE, stamp: self.page.0 }
    }
}

fn width(entries: &[Entry]) -> usize {
    entries.iter().map(|e| e.key.len()).max().unwrap_or(0)
}

/// Bytes of entries in a node.
pub fn bytes(entries: &[Entry]) -> usize {
    entries.len() * (width(entries) + Entry::FIXED_BYTES)
}

/// Bytes of entries that a node holds.
pub fn room(page_bytes: u32) -> usize {
    page_bytes as usize - HEAD
}

/// Divides entries evenly among as few nodes as hold them.
pub fn split(entries: &[Entry], page_bytes: u32) -> impl Iterator<Item = &[Entry]> {
    let per_node = room(page_bytes) / (width(entries) + Entry::FIXED_BYTES);
    let nodes = entries.len().div_ceil(per_node.max(1)).max(1);
    let end = move |n| entries.len() * n / nodes;
    (0..nodes).map(move |n| &entries[end(n)..end(n + 1)]).filter(|part| !part.is_empty())
}

/// A node's page.
pub fn encode(birth: u64, level: u32, entries: &[Entry], page_bytes: u32) -> Vec<u8> {
    let (width, mut content) = (width(entries), Vec::with_capacity(page_bytes as usize));
    entries.iter().for_each(|e| e.encode(width, &mut content));
    let mut page = vec![0; page_bytes as usize];
    put(Kind::Entries, birth, level, entries.len() as u16, width as u8, &content, &mut page);
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ordered::block::Block;

    fn link(n: u64) -> Entry {
        Child { page: PageAddr(0x0102 + n), birth: 7 }.link(Key::new(&n.to_be_bytes()).expect("8 bytes"))
    }

    #[test]
    fn golden_node() {
        let page = encode(9, 1, &[link(1), link(2)], 512);
        assert_eq!(page[4..24], [9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 58, 0, 0, 0, 2, 0, 8, 1]);
        assert_eq!(page[24..32], [0, 0, 0, 0, 0, 0, 0, 1], "the first key");
        assert_eq!(page[32..40], [7, 0, 0, 0, 0, 0, 0, 8], "birth and length of the key");
        assert_eq!(page[40..53], [0, 0, 0, 0, 0, 0, 0, 0, 3, 1, 0, 0, 0], "no place; the page");
        let block = Block::open(&page, 9, 1).expect("as it was written");
        assert_eq!(block.get(1).as_ref().map(Child::of), Some(Child { page: PageAddr(0x0104), birth: 7 }));
        assert!(Block::open(&page, 8, 1).is_none() && Block::open(&page, 9, 0).is_none());
        assert!(Block::trusted(&page, 8, 1).is_none() && Block::trusted(&page, 9, 0).is_none());
    }

    #[test]
    fn parts_are_even_and_complete() {
        let entries: Vec<_> = (0..100).map(link).collect();
        for n in 1..=entries.len() {
            let parts: Vec<_> = split(&entries[..n], 512).collect();
            assert_eq!(parts.concat(), entries[..n]);
            assert!(parts.iter().all(|part| bytes(part) <= room(512)));
            let sizes = || parts.iter().map(|part| part.len());
            assert!(sizes().max().unwrap() - sizes().min().unwrap() <= 1);
            assert_eq!(parts.len(), n.div_ceil(room(512) / 29));
        }
        assert_eq!(split(&[], 512).count(), 0);
    }
}
