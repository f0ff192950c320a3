//! Sorted tables: pages of blocks, and a description that is kept in memory and, behind the blocks, on flash.
//!
//! The description (little-endian): references `u32`, blocks `u32`, filter words `u32`, probes `u8`; for each reference
//! segment `u32`, stamp `u64`, bytes `u64`; for each block its first key (16 bytes, length `u8`) and version `u64`; the
//! filter's words.

use super::block_index::BlockIndex;
use super::marked::Kept;
use crate::ordered::block::{self, Kind};
use crate::ordered::filter::Filter;
use crate::ordered::key::{Entry, Key};
use crate::ordered::refs::Refs;
use saker_segment_store::PageAddr;

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
    /// What something in it is kept for, if its level is the deepest.
    pub kept: Kept,
    /// Its pages, if its level is pinned.
    pub pinned: Vec<Vec<u8>>,
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
        for (id, r) in refs {
            out.extend(id.0.to_le_bytes());
            out.extend(r.stamp.to_le_bytes());
            out.extend(r.bytes.to_le_bytes());
        }
        for (key, version) in self.index.iter() {
            out.extend(key.padded());
            out.push(key.len() as u8);
            out.extend(version.to_le_bytes());
        }
        self.filter.words().iter().for_each(|w| out.extend(w.to_le_bytes()));
        out
    }
}

/// Puts a table together, page by page.
#[derive(Clone, Debug)]
pub struct Builder {
    table: Table,
    page_bytes: usize,
    /// Entries of the open block, its encoding and its key field's width.
    open: Vec<Entry>,
    width: usize,
    page: Vec<u8>,
    hashes: Vec<u64>,
    bits_per_key: u32,
    /// Pages that are to be written next, in order.
    out: Vec<Vec<u8>>,
    data_pages: usize,
    is_sealed: bool,
}

impl Builder {
    /// A new table.
    pub fn new(id: u64, first: Key, page_bytes: u32, bits_per_key: u32) -> Self {
        let table = Table {
            id,
            entries: 0,
            first,
            last: first,
            version_max: 0,
            pages: Vec::new(),
            meta_pages: Vec::new(),
            meta_bytes: 0,
            index: BlockIndex::default(),
            filter: Filter::default(),
            refs: Refs::default(),
            kept: Kept::default(),
            pinned: Vec::new(),
        };
        Self {
            table,
            page_bytes: page_bytes as usize,
            open: Vec::new(),
            width: 0,
            page: Vec::new(),
            hashes: Vec::new(),
            bits_per_key,
            out: Vec::new(),
            data_pages: 0,
            is_sealed: false,
        }
    }

    fn block_bytes(&self) -> usize {
        block::block_bytes(self.page_bytes as u32) as usize
    }

    /// The references of the table so far.
    pub fn refs_mut(&mut self) -> &mut Refs {
        &mut self.table.refs
    }

    /// What its entries are kept for.
    pub fn kept_mut(&mut self) -> &mut Kept {
        &mut self.table.kept
    }

    /// Adds the next entry.
    pub fn push(&mut self, e: Entry) {
        if !self.fits_open_block(&e.key) {
            self.close_block();
        }
        self.width = self.width.max(e.key.len());
        if self.open.is_empty() {
            self.table.index.push(e.key, e.version);
        }
        if self.hashes.is_empty() || self.table.last != e.key {
            self.hashes.push(e.key.hash());
        }
        self.open.push(e);
        self.table.entries += 1;
        self.table.last = e.key;
        self.table.version_max = self.table.version_max.max(e.version);
    }

    fn fits_open_block(&self, key: &Key) -> bool {
        let width = self.width.max(key.len());
        block::HEAD + (self.open.len() + 1) * (width + Entry::FIXED_BYTES) <= self.block_bytes()
    }

    /// Whether an entry of `key` would begin a page of blocks behind so many.
    pub fn is_full(&self, key: &Key, pages: u32) -> bool {
        let closed = self.table.pages.len() + self.out.len();
        let last_is_full = self.page.len() + self.block_bytes() >= self.page_bytes;
        let full = closed + usize::from(last_is_full && !self.fits_open_block(key));
        full >= pages as usize
    }

    fn close_block(&mut self) {
        let mut content = Vec::with_capacity(self.block_bytes());
        self.open.iter().for_each(|e| e.encode(self.width, &mut content));
        let (count, width) = (self.open.len() as u16, self.width as u8);
        self.add_block(Kind::Entries, self.table.index.len() as u32 - 1, count, width, &content);
        (self.width, self.data_pages) = (0, self.data_pages.max(self.out_pages()));
        self.open.clear();
    }

    fn out_pages(&self) -> usize {
        self.table.pages.len() + self.out.len() + usize::from(!self.page.is_empty())
    }

    fn add_block(&mut self, kind: Kind, index: u32, count: u16, width: u8, content: &[u8]) {
        let start = self.page.len();
        self.page.resize(start + self.block_bytes(), 0);
        block::put(kind, self.table.id, index, count, width, content, &mut self.page[start..]);
        if self.page.len() == self.page_bytes {
            self.close_page();
        }
    }

    fn close_page(&mut self) {
        self.page.resize(self.page_bytes, 0);
        self.out.push(std::mem::take(&mut self.page));
    }

    /// There are no more entries: the description follows.
    pub fn seal(&mut self) {
        self.close_block();
        if !self.page.is_empty() {
            self.close_page();
        }
        self.data_pages = self.table.pages.len() + self.out.len();
        self.table.filter = Filter::new(&std::mem::take(&mut self.hashes), self.bits_per_key);
        let meta = self.table.encode_meta();
        self.table.meta_bytes = meta.len() as u32;
        for (n, part) in meta.chunks(self.block_bytes() - block::HEAD).enumerate() {
            self.add_block(Kind::Meta, n as u32, 0, 0, part);
        }
        if !self.page.is_empty() {
            self.close_page();
        }
        self.is_sealed = true;
    }

    /// Whether all entries are in.
    pub fn is_sealed(&self) -> bool {
        self.is_sealed
    }

    /// The next page to be written.
    pub fn next_page(&self) -> Option<&[u8]> {
        self.out.first().map(Vec::as_slice)
    }

    /// It was written there.
    pub fn page_written(&mut self, at: PageAddr, pin: bool) {
        let page = self.out.remove(0);
        if self.table.pages.len() < self.data_pages {
            self.table.pages.push(at);
            if pin {
                self.table.pinned.push(page);
            }
        } else {
            self.table.meta_pages.push(at);
        }
    }

    /// The pages written so far.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// A page written already was moved.
    pub fn table_mut(&mut self) -> &mut Table {
        &mut self.table
    }

    /// The table, once everything is written.
    pub fn finish(self) -> Table {
        debug_assert!(self.is_sealed && self.out.is_empty());
        self.table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_value_log::RecordAddr;

    /// Pages of blocks of the fullest table of so many pages.
    fn filled(page_bytes: u32, pages: u32) -> (Table, u64) {
        let entry = |n: u64| Entry {
            key: Key::new(&n.to_be_bytes()).unwrap(),
            version: n,
            addr: RecordAddr::new(64, 32, 8),
            stamp: 1,
        };
        let mut builder = Builder::new(1, entry(0).key, page_bytes, 10);
        let full = (0..).find(|n| {
            let is_full = builder.is_full(&entry(*n).key, pages);
            if !is_full {
                builder.push(entry(*n));
            }
            is_full
        });
        builder.seal();
        while builder.next_page().is_some() {
            builder.page_written(PageAddr(7), false);
        }
        (builder.finish(), full.unwrap())
    }

    #[test]
    fn a_table_fills_all_blocks_of_its_pages() {
        let in_block = |bytes: usize| (bytes - block::HEAD) / (8 + Entry::FIXED_BYTES);
        for (page_bytes, pages, blocks, block_bytes) in
            [(16 << 10, 1, 4, 4096), (16 << 10, 3, 12, 4096), (4096, 2, 2, 4096), (512, 3, 3, 512)]
        {
            let (table, entries) = filled(page_bytes, pages);
            assert_eq!((table.pages.len(), table.index.len()), (pages as usize, blocks));
            assert_eq!((entries, table.entries), ((blocks * in_block(block_bytes)) as u64, entries));
        }
    }
}
