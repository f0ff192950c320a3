// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Puts a table together, page by page.

use super::block_index::BlockIndex;
use super::marked::Kept;
use super::pairs::{self, With};
use super::table::{Layout, Table};
use crate::ordered::block::{self, Kind};
use crate::ordered::filter::Filter;
use crate::ordered::inside::Inside;
use crate::ordered::key::{Entry, Key};
use crate::ordered::refs::Refs;
use saker_segment_store::PageAddr;

/// Part of a page at its end that may stay empty: what is longer than that crosses into the next page.
const EMPTY_PART: usize = 8;

/// The open block.
#[derive(Clone, Debug)]
enum Open {
    /// Its entries, and its key field's width.
    Slots { entries: Vec<Entry>, width: usize },
    /// Its entries, how long it may become, and how long blocks are.
    Packed { pairs: pairs::Open, most: usize, block_bytes: usize },
}

/// A table on its way.
#[derive(Clone, Debug)]
pub struct Builder {
    table: Table,
    page_bytes: usize,
    open: Open,
    page: Vec<u8>,
    hashes: Vec<u64>,
    bits_per_key: u32,
    /// Pages that are full and were not taken, in order.
    out: Vec<Vec<u8>>,
    /// Pages that are full, those that were taken too.
    closed: usize,
    /// Memory of pages that were written.
    spare: Vec<Vec<u8>>,
    data_pages: usize,
    is_sealed: bool,
}

/// Memory that builders hand on: for hashes of keys, and for pages.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// For a table's hashes.
    pub hashes: Vec<u64>,
    /// For pages.
    pub pages: Vec<Vec<u8>>,
}

impl Builder {
    /// A new table.
    pub fn new(id: u64, first: Key, page_bytes: u32, bits_per_key: u32, layout: Layout) -> Self {
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
            inside: Inside::NONE,
            kept: Kept::default(),
            pinned: Vec::new(),
            is_full: false,
            joins: false,
        };
        let open = match layout {
            Layout::Slots => Open::Slots { entries: Vec::new(), width: 0 },
            Layout::Packed(bytes) => {
                Open::Packed { pairs: pairs::Open::default(), most: 0, block_bytes: bytes as usize }
            }
        };
        Self {
            table,
            page_bytes: page_bytes as usize,
            open,
            page: Vec::new(),
            hashes: Vec::new(),
            bits_per_key,
            out: Vec::new(),
            closed: 0,
            spare: Vec::new(),
            data_pages: 0,
            is_sealed: false,
        }
    }

    /// The same, with memory that another builder had.
    pub fn with_memory(self, memory: Memory) -> Self {
        let Memory { mut hashes, pages } = memory;
        hashes.clear();
        Self { hashes, spare: pages, ..self }
    }

    /// Bytes of the block that begins where this page's bytes end, where blocks have places of their own.
    fn block_bytes(&self) -> usize {
        block::bytes_at(self.page_bytes as u32, self.page.len() as u32) as usize
    }

    /// The references of the table so far.
    pub fn refs_mut(&mut self) -> &mut Refs {
        &mut self.table.refs
    }

    /// What its entries are kept for.
    pub fn kept_mut(&mut self) -> &mut Kept {
        &mut self.table.kept
    }

    /// Adds the next entry, with what comes with it.
    pub fn push(&mut self, e: Entry, with: With<'_>) {
        if !self.fits_open_block(&e) {
            self.close_block();
        }
        match &mut self.open {
            Open::Slots { entries, width } => {
                *width = (*width).max(e.key.len());
                if entries.is_empty() {
                    self.table.index.push(e.key, e.version);
                }
                entries.push(e);
            }
            Open::Packed { pairs, .. } if !pairs.is_empty() => pairs.push(&e, with, &mut self.page),
            Open::Packed { .. } => self.begin_packed(&e, with),
        }
        if self.hashes.is_empty() || self.table.last != e.key {
            self.hashes.push(e.key.hash());
        }
        self.table.entries += 1;
        self.table.inside = self.table.inside.and(Inside::of_entry(&e));
        self.table.last = e.key;
        self.table.version_max = self.table.version_max.max(e.version);
    }

    fn fits_open_block(&self, e: &Entry) -> bool {
        match &self.open {
            Open::Slots { entries, width } => {
                let width = (*width).max(e.key.len());
                block::HEAD + (entries.len() + 1) * (width + Entry::FIXED_BYTES) <= self.block_bytes()
            }
            Open::Packed { pairs, most, .. } => pairs.is_empty() || pairs.has_room(e, *most, &self.page),
        }
    }

    /// A block begins with that entry: in this page if it fits, behind its end if little stays empty, else across it.
    fn begin_packed(&mut self, e: &Entry, with: With<'_>) {
        let need = pairs::alone_bytes(e);
        let most_empty = (self.page_bytes / EMPTY_PART).max(pairs::PLACED_BYTES_MAX);
        if need > self.page_bytes - self.page.len() && need <= most_empty {
            self.close_page();
        }
        let aligned = self.align(need);
        let (left, start) = (self.page_bytes - self.page.len(), self.position() as u32);
        self.table.index.push_at(e.key, e.version, start);
        if need > left {
            return self.add_long(e, with.value(e));
        }
        let Open::Packed { pairs, most, block_bytes } = &mut self.open else { return };
        *most = left.min(aligned.unwrap_or(*block_bytes)).max(need);
        pairs.push(e, with, &mut self.page);
    }

    /// A block that begins with a short pair lies between two multiples of the block's length, so that over a block namespace it is in
    /// as few blocks as can be; RocksDB's `block_align` (facebook/rocksdb, `include/rocksdb/table.h`), where that costs little. How long it
    /// may become.
    fn align(&mut self, need: usize) -> Option<usize> {
        let Open::Packed { block_bytes, .. } = self.open else { return None };
        if need > block_bytes / EMPTY_PART {
            return None;
        }
        let left = block_bytes - self.page.len() % block_bytes;
        if need <= left {
            return Some(left);
        }
        self.page.resize((self.page.len() + left).min(self.page_bytes), 0);
        self.close_page_if_full();
        Some(block_bytes)
    }

    fn add_long(&mut self, e: &Entry, value: &[u8]) {
        let block = pairs::long(e, value, self.table.id, self.table.index.len() as u32 - 1);
        let mut rest = &block[..];
        while !rest.is_empty() {
            let (here, behind) = rest.split_at(rest.len().min(self.page_bytes - self.page.len()));
            self.page.extend_from_slice(here);
            rest = behind;
            self.close_page_if_full();
        }
        self.data_pages = self.data_pages.max(self.out_pages());
    }

    /// Bytes of the table, without the open block.
    fn position(&self) -> usize {
        let here = match &self.open {
            Open::Packed { pairs, .. } => pairs.start(&self.page),
            Open::Slots { .. } => self.page.len(),
        };
        self.closed * self.page_bytes + here
    }

    /// The next entry has no room in it.
    pub fn note_full(&mut self) {
        self.table.is_full = true;
    }

    /// Bytes of its blocks, without the open one.
    pub fn bytes(&self) -> usize {
        self.position()
    }

    /// Whether an entry would begin a page of blocks behind so many.
    pub fn is_full(&self, e: &Entry, pages: u32) -> bool {
        let closed = self.closed;
        match &self.open {
            Open::Slots { .. } => {
                let last_is_full = self.page.len() + self.block_bytes() >= self.page_bytes;
                closed + usize::from(last_is_full && !self.fits_open_block(e)) >= pages as usize
            }
            Open::Packed { pairs, .. } => {
                let open = if pairs.is_empty() { 0 } else { pairs.bytes(&self.page) };
                self.table.entries > 0
                    && self.position() + open + pairs::alone_bytes(e) > pages as usize * self.page_bytes
            }
        }
    }

    fn close_block(&mut self) {
        match &mut self.open {
            Open::Slots { entries, width } => {
                let (entries, width) = (std::mem::take(entries), std::mem::take(width));
                let mut content = Vec::with_capacity(self.block_bytes());
                entries.iter().for_each(|e| e.encode(width, &mut content));
                let index = self.table.index.len() as u32 - 1;
                self.add_block(Kind::Entries, index, entries.len() as u16, width as u8, &content);
            }
            Open::Packed { pairs, .. } => {
                if !pairs.is_empty() {
                    pairs.close(self.table.id, self.table.index.len() as u32 - 1, &mut self.page);
                }
                self.close_page_if_full();
            }
        }
        self.data_pages = self.data_pages.max(self.out_pages());
    }

    fn out_pages(&self) -> usize {
        self.closed + usize::from(!self.page.is_empty())
    }

    fn add_block(&mut self, kind: Kind, index: u32, count: u16, width: u8, content: &[u8]) {
        let start = self.page.len();
        self.page.resize(start + self.block_bytes(), 0);
        block::put(kind, self.table.id, index, count, width, content, &mut self.page[start..]);
        self.close_page_if_full();
    }

    fn close_page_if_full(&mut self) {
        if self.page.len() == self.page_bytes {
            self.close_page();
        }
    }

    fn close_page(&mut self) {
        self.page.resize(self.page_bytes, 0);
        let mut next = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(self.page_bytes));
        next.clear();
        self.out.push(std::mem::replace(&mut self.page, next));
        self.closed += 1;
    }

    /// There are no more entries: the description follows.
    pub fn seal(&mut self) {
        self.close_block();
        if !self.page.is_empty() {
            self.close_page();
        }
        self.data_pages = self.closed;
        self.table.filter = Filter::new(&self.hashes, self.bits_per_key);
        let meta = self.table.encode_meta();
        self.table.meta_bytes = meta.len() as u32;
        let (mut rest, mut n) = (&meta[..], 0);
        while !rest.is_empty() {
            let part;
            (part, rest) = rest.split_at(rest.len().min(self.block_bytes() - block::HEAD));
            self.add_block(Kind::Meta, n, 0, 0, part);
            n += 1;
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

    /// The table so far, without its pages.
    #[cfg(test)]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Takes pages that are full, in order.
    pub fn take_pages(&mut self) -> impl Iterator<Item = Vec<u8>> + '_ {
        self.out.drain(..)
    }

    /// Full pages that were not taken.
    pub fn pages_out(&self) -> usize {
        self.out.len()
    }

    /// Memory for pages to come.
    pub fn spare(&mut self) -> &mut Vec<Vec<u8>> {
        &mut self.spare
    }

    /// The table whose pages were written there, once all are, and memory for the next builder. The table's pages stay in memory if the level
    /// is pinned: then they come along.
    pub fn finish(self, written: Written) -> (Table, Memory) {
        debug_assert!(self.is_sealed && self.out.is_empty() && written.pages.len() == self.closed);
        let mut table = self.table;
        table.pages = written.pages;
        table.meta_pages = table.pages.split_off(self.data_pages);
        table.pinned = written.pinned;
        table.pinned.truncate(self.data_pages);
        (table, Memory { hashes: self.hashes, pages: self.spare })
    }
}

/// Where pages of a table on its way were written, and what they hold if that stays in memory.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// In order.
    pub pages: Vec<PageAddr>,
    /// Of a pinned level.
    pub pinned: Vec<Vec<u8>>,
}

#[cfg(test)]
mod tests;
