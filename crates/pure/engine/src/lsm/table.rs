// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sorted tables: pages of blocks, and a description that is kept in memory and, behind the blocks, on flash.
//!
//! The description (little-endian): references `u32`, blocks `u32`, filter words `u32`, probes `u8`; for each reference
//! segment `u32`, stamp `u64`, bytes `u64`; for each block its first key (16 bytes, length `u8`) and version `u64`; the
//! filter's words. If blocks are packed ([`Layout::Packed`]) there is, behind the probes, how many entries have their values beside
//! them `u64` and what these count with `u64`, and behind each block's version where it begins `u32`.

use super::block_index::BlockIndex;
use super::marked::Kept;
use crate::ordered::filter::Filter;
use crate::ordered::inside::Inside;
use crate::ordered::key::Key;
use crate::ordered::refs::Refs;
use crate::ordered::search::Share;
use saker_segment_store::PageAddr;

/// How blocks lie in tables. All tables of a store have one layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Blocks have places in pages ([`crate::ordered::block::span`]), and entries have places only.
    Slots,
    /// Blocks follow each other and have lengths of their own ([`super::pairs`]): about so many bytes.
    Packed(u32),
}

/// A table. Its pages may be moved; what they hold never changes.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its number; younger tables have higher ones.
    pub id: u64,
    /// Its entries.
    pub entries: u64,
    /// Its first key.
    pub first: Key,
    /// Its last key.
    pub last: Key,
    /// The newest version in it.
    pub version_max: u64,
    /// Pages of blocks, in order.
    pub pages: Vec<PageAddr>,
    /// Pages of its description, in order.
    pub meta_pages: Vec<PageAddr>,
    /// Bytes of the description.
    pub meta_bytes: u32,
    /// The first key and version of each block.
    pub index: BlockIndex,
    /// Its Bloom filter.
    pub filter: Filter,
    /// What its entries refer to.
    pub refs: Refs,
    /// Its entries whose values are beside them.
    pub inside: Inside,
    /// What something in it is kept for, if its level is the deepest.
    pub kept: Kept,
    /// Its pages, if its level is pinned.
    pub pinned: Vec<Vec<u8>>,
    /// It ended because the next entry found no room. Of those of an earlier life it is not known.
    pub is_full: bool,
    /// It goes on where the table before it ends: one merge within level 0 wrote both.
    pub joins: bool,
}

impl Table {
    /// All its pages.
    pub fn all_pages(&self) -> impl Iterator<Item = PageAddr> + '_ {
        self.pages.iter().chain(&self.meta_pages).copied()
    }

    /// Number of pages.
    pub fn pages_total(&self) -> u64 {
        (self.pages.len() + self.meta_pages.len()) as u64
    }

    /// Whether a key lies between its first and its last.
    #[inline]
    pub fn covers(&self, key: &Key) -> bool {
        self.first <= *key && *key <= self.last
    }

    /// Whether its keys lie between others.
    pub fn overlaps(&self, first: &Key, last: &Key) -> bool {
        self.first <= *last && *first <= self.last
    }

    /// The block in which an entry of `key` at `version` or the next one would be.
    #[inline]
    pub fn block_of(&self, key: &Key, version: u64) -> usize {
        self.index.block_of(key, version)
    }

    /// Where in a block a key is likely to be, if keys are spread evenly between the block's first and the next one's.
    #[inline]
    pub fn share(&self, block: usize, key: &Key) -> Option<Share> {
        self.index.share(block, key.word(), self.last.word())
    }

    /// Replaces one of its pages.
    pub fn replace_page(&mut self, old: PageAddr, new: PageAddr) {
        let slot = self.pages.iter_mut().chain(&mut self.meta_pages).find(|p| **p == old);
        *slot.expect("the table has this page") = new;
    }

    /// Modelled memory: description and pinned pages.
    pub fn memory_bytes(&self) -> u64 {
        u64::from(self.meta_bytes) + 8 * self.pages_total() + self.pinned_bytes()
    }

    /// Modelled memory of its pages, if its level is pinned.
    pub fn pinned_bytes(&self) -> u64 {
        self.pinned.iter().map(|page| page.len() as u64).sum()
    }

    /// The description.
    pub fn encode_meta(&self) -> Vec<u8> {
        let refs: Vec<_> = self.refs.iter().collect();
        let mut out = Vec::new();
        for n in [refs.len(), self.index.len(), self.filter.words().len()] {
            out.extend((n as u32).to_le_bytes());
        }
        out.push(self.filter.probes());
        if self.index.has_starts() {
            out.extend(self.inside.entries.to_le_bytes());
            out.extend(self.inside.bytes.to_le_bytes());
        }
        for (id, r) in refs {
            out.extend(id.0.to_le_bytes());
            out.extend(r.stamp.to_le_bytes());
            out.extend(r.bytes.to_le_bytes());
        }
        for (n, (key, version)) in self.index.iter().enumerate() {
            out.extend(key.padded());
            out.push(key.len() as u8);
            out.extend(version.to_le_bytes());
            if let Some((start, _)) = self.index.span(n, 0) {
                out.extend(start.to_le_bytes());
            }
        }
        self.filter.words().iter().for_each(|w| out.extend(w.to_le_bytes()));
        out
    }
}
