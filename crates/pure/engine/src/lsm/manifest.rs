//! What a manifest says of an LSM tree: which tables there are.
//!
//! Chunks (little-endian): kind `u8`; 1, first: next table's number `u64`, bytes of the longest record `u32`, and 1 if
//! a table of the deepest level keeps what only a snapshot needs, else 0 `u8`; 2: tables, each level `u8`, number,
//! entries, newest version `u64`, first and last key (16 bytes and length `u8` each), bytes of the description, pages,
//! pages of the description `u32`, and the addresses of all pages `u64`.

use super::LsmStore;
use super::block_index::BlockIndex;
use super::levels::LEVELS;
use super::marked::Kept;
use super::table::{Cursor, Table};
use crate::ordered::filter::Filter;
use crate::ordered::refs::Refs;
use saker_medium::PageAddr;
use std::collections::VecDeque;

/// Bytes of a table's entry before its addresses.
pub const TABLE_BYTES: u64 = 1 + 3 * 8 + 2 * 17 + 3 * 4;
const KIND_HEAD: u8 = 1;
const KIND_TABLES: u8 = 2;

/// What manifests keep from going.
#[derive(Clone, Debug, Default)]
pub struct Leaving {
    /// Flushes after which tables have everything before the running manifest's cut.
    pub flushes: u64,
    /// Pages that tables left since the running manifest looked, or since the last one did.
    pub dying: Vec<PageAddr>,
    /// Pages that the running manifest does not name.
    pub leaving: Vec<PageAddr>,
}

impl Leaving {
    /// Whether the last complete manifest could name a page that is no longer used.
    pub fn may_name(&self, page: PageAddr) -> bool {
        self.dying.contains(&page) || self.leaving.contains(&page)
    }

    /// Pages that a next manifest frees.
    pub fn pages(&self) -> u64 {
        (self.dying.len() + self.leaving.len()) as u64
    }
}

impl LsmStore {
    /// Bytes of a manifest.
    pub(super) fn manifest_bytes(&self) -> u64 {
        let tables = self.own.sizes.tables * TABLE_BYTES + 8 * self.own.sizes.pages;
        // What the memtables will be: at most so many pages.
        let pages = self.buffered() * 64 / self.page_bytes() + 4;
        tables + 16 + TABLE_BYTES * 4 + 8 * pages
    }

    /// The tables as they are now.
    pub(super) fn describe(&mut self, most: u64) -> VecDeque<Vec<u8>> {
        let levels = &self.own.levels;
        let keeps = levels.level(levels.deepest()).iter().any(|t| !t.kept.is_nothing());
        let head = Head { next_table: self.own.next_table, longest: self.longest.at_cut(), keeps };
        let mut chunks = VecDeque::from([encode_head(&head)]);
        let mut open = vec![KIND_TABLES];
        for (level, table) in self.own.levels.all() {
            let entry = encode_table(level, table);
            if open.len() > 1 && (open.len() + entry.len()) as u64 > most {
                chunks.push_back(std::mem::replace(&mut open, vec![KIND_TABLES]));
            }
            open.extend(entry);
        }
        if open.len() > 1 {
            chunks.push_back(open);
        }
        let Leaving { dying, leaving, .. } = &mut self.own.leaving;
        leaving.append(dying);
        chunks
    }
}

/// What the first chunk says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The next table's number.
    pub next_table: u64,
    /// Bytes of the longest record at most; earlier manifests did not tell, 0.
    pub longest: u32,
    /// Whether a table of the deepest level keeps what only a snapshot needs; earlier manifests did not tell, so it
    /// may.
    pub keeps: bool,
}

fn encode_head(head: &Head) -> Vec<u8> {
    let (next_table, longest) = (head.next_table.to_le_bytes(), head.longest.to_le_bytes());
    [&[KIND_HEAD][..], &next_table, &longest, &[u8::from(head.keeps)]].concat()
}

fn decode_head(at: &mut Cursor<'_>) -> Option<Head> {
    let (next_table, longest) = (at.u64()?, at.u32().unwrap_or(0));
    let keeps = at.take(1).is_none_or(|told| told[0] != 0);
    Some(Head { next_table, longest, keeps })
}

fn encode_table(level: usize, table: &Table) -> Vec<u8> {
    let mut out = vec![level as u8];
    for n in [table.id, table.entries, table.version_max] {
        out.extend(n.to_le_bytes());
    }
    for key in [table.first, table.last] {
        out.extend(key.padded());
        out.push(key.len() as u8);
    }
    for n in [table.meta_bytes, table.pages.len() as u32, table.meta_pages.len() as u32] {
        out.extend(n.to_le_bytes());
    }
    table.all_pages().for_each(|p| out.extend(p.0.to_le_bytes()));
    out
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
    match at.take(1)?[0] {
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

fn decode_table(at: &mut Cursor<'_>) -> Option<(usize, Table)> {
    let level = usize::from(at.take(1)?[0]);
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
        kept: Kept::unknown(),
        pinned: Vec::new(),
    };
    (level < LEVELS && first <= last).then_some((level, table))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head_of(chunk: &[u8]) -> Head {
        match decode_chunk(chunk) {
            Some(Chunk::Head(head)) => head,
            other => panic!("{other:?}"),
        }
    }

    /// What earlier manifests did not tell may be.
    #[test]
    fn heads_of_all_ages_are_read() {
        let head = Head { next_table: 0x0201, longest: 0x0403, keeps: false };
        let chunk = encode_head(&head);
        assert_eq!(chunk, [1, 1, 2, 0, 0, 0, 0, 0, 0, 3, 4, 0, 0, 0]);
        assert_eq!(head_of(&chunk), head);
        assert_eq!(head_of(&encode_head(&Head { keeps: true, ..head })), Head { keeps: true, ..head });
        assert_eq!(head_of(&chunk[..13]), Head { keeps: true, ..head });
        assert_eq!(head_of(&chunk[..9]), Head { keeps: true, longest: 0, ..head });
        assert!(decode_chunk(&chunk[..8]).is_none());
    }
}
