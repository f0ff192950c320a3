// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading manifests and descriptions of tables (see [`super::manifest`] and [`super::table`] for their layouts).
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

use super::block_index::BlockIndex;
use super::levels::{LEVELS, Levels};
use super::manifest::{Head, KIND_HEAD, KIND_TABLES};
use super::marked::Kept;
use super::table::Table;
use crate::ordered::filter::Filter;
use crate::ordered::inside::Inside;
use crate::ordered::key::Key;
use crate::ordered::refs::{Births, Refs};
use saker_segment_store::{PageAddr, SegmentId};
use std::collections::BTreeSet;

/// Numbers, versions and counts of entries end here: who counts on from one does not come to the end of numbers.
const NUMBER_MAX: u64 = 1 << 55;
/// No segment has more bytes that are referred to: sums of them stay numbers.
const BYTES_MAX: u64 = 1 << 48;
/// Entries that a page has at most, far above all limits: sizes that are worked out from them stay numbers.
const PAGE_ENTRIES_MAX: u64 = 1 << 16;

impl Table {
    /// Takes the description over; `None` if it is not one.
    pub fn decode_meta(&mut self, bytes: &[u8], segments: u32, is_packed: bool) -> Option<()> {
        let mut at = Cursor(bytes);
        let (refs, blocks, words) = (at.u32()?, at.u32()?, at.u32()?);
        let probes = at.u8()?;
        if is_packed {
            let (entries, bytes) = (at.u64()?, at.u64()?);
            if entries > self.entries || bytes > BYTES_MAX {
                return None;
            }
            self.inside = Inside::of(entries, bytes);
        }
        for _ in 0..refs {
            let (id, stamp, bytes) = (at.u32()?, at.u64()?, at.u64()?);
            if id >= segments || bytes > BYTES_MAX {
                return None;
            }
            self.refs.add(SegmentId(id), stamp, bytes, &Births::new(segments));
        }
        for _ in 0..blocks {
            let (key, version) = (at.key()?, at.u64()?);
            if is_packed {
                self.index.push_at(key, version, at.u32()?);
            } else {
                self.index.push(key, version);
            }
        }
        let words = (0..words).map(|_| at.u64()).collect::<Option<Vec<_>>>()?;
        self.filter = Filter::from_parts(words, probes)?;
        (at.0.is_empty() && !self.index.is_empty()).then_some(())
    }
}
/// Reads little-endian fields.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    /// The next bytes.
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    /// A byte.
    pub fn u8(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(*self.take(4)?.first_chunk()?))
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(*self.take(8)?.first_chunk()?))
    }

    /// Sixteen bytes and a length.
    pub fn key(&mut self) -> Option<Key> {
        let padded = self.take(16)?;
        let len = usize::from(self.u8()?);
        Key::new(padded.get(..len)?)
    }
}

/// What a chunk says.
#[derive(Debug)]
pub enum Chunk {
    /// The first one.
    Head(Head),
    /// Tables with their level, without their descriptions.
    Tables(Vec<(usize, Table)>),
}

/// Reads a chunk; `None` if it is not one.
pub fn decode_chunk(payload: &[u8]) -> Option<Chunk> {
    let mut at = Cursor(payload);
    match at.u8()? {
        KIND_HEAD => decode_head(&mut at).map(Chunk::Head),
        KIND_TABLES => {
            let mut tables = Vec::new();
            while !at.0.is_empty() {
                tables.push(decode_table(&mut at)?);
            }
            Some(Chunk::Tables(tables))
        }
        _ => None,
    }
}

fn decode_head(at: &mut Cursor<'_>) -> Option<Head> {
    let next_table = at.u64().filter(|n| *n <= NUMBER_MAX)?;
    let (longest, keeps) = (at.u32().unwrap_or(0), at.u8().is_none_or(|told| told != 0));
    Some(Head { next_table, longest, keeps })
}

fn decode_table(at: &mut Cursor<'_>) -> Option<(usize, Table)> {
    let level = usize::from(at.u8()?);
    let (id, entries, version_max) = (at.u64()?, at.u64()?, at.u64()?);
    let (first, last) = (at.key()?, at.key()?);
    let (meta_bytes, pages, meta_pages) = (at.u32()?, at.u32()?, at.u32()?);
    let mut addresses = |n: u32| (0..n).map(|_| at.u64().map(PageAddr)).collect::<Option<Vec<_>>>();
    let (pages, meta_pages) = (addresses(pages)?, addresses(meta_pages)?);
    let table = Table {
        id,
        entries,
        first,
        last,
        version_max,
        pages,
        meta_pages,
        meta_bytes,
        index: BlockIndex::default(),
        filter: Filter::default(),
        refs: Refs::default(),
        inside: Inside::NONE,
        kept: Kept::unknown(),
        pinned: Vec::new(),
        is_full: false,
        joins: false,
    };
    let pages_of_blocks = table.pages.len() as u64;
    let counts =
        id <= NUMBER_MAX && version_max <= NUMBER_MAX && entries <= PAGE_ENTRIES_MAX * pages_of_blocks;
    (level < LEVELS && first <= last && counts && !table.pages.is_empty()).then_some((level, table))
}

/// What no manifest that was written can name: a table or a page twice, tables behind level 0 that overlap.
pub fn contradiction(levels: &Levels) -> Option<&'static str> {
    let (mut ids, mut pages) = (BTreeSet::new(), BTreeSet::new());
    let mut before: Option<(usize, Key)> = None;
    for (level, table) in levels.all() {
        if !ids.insert(table.id) || !table.all_pages().all(|page| pages.insert(page)) {
            return Some("it names a table or a page twice");
        }
        if level > 0 && before.is_some_and(|(of, last)| of == level && table.first < last) {
            return Some("it names tables of a level that overlap");
        }
        before = Some((level, table.last));
    }
    None
}
