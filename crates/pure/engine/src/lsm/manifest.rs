// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a manifest says of an LSM tree: which tables there are.
//!
//! Chunks (little-endian): kind `u8`; 1, first: next table's number `u64`, bytes of the longest record `u32`, and 1 if
//! a table of the deepest level keeps what only a snapshot needs, else 0 `u8`; 2: tables, each level `u8`, number,
//! entries, newest version `u64`, first and last key (16 bytes and length `u8` each), bytes of the description, pages,
//! pages of the description `u32`, and the addresses of all pages `u64`.

use super::LsmStore;
use super::table::Table;
use saker_segment_store::PageAddr;
use std::collections::VecDeque;

/// Bytes of a table's entry before its addresses.
pub const TABLE_BYTES: u64 = 1 + 3 * 8 + 2 * 17 + 3 * 4;
pub(super) const KIND_HEAD: u8 = 1;
pub(super) const KIND_TABLES: u8 = 2;

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
        let pages = (self.buffered() * 64 + self.buffered_inside().bytes) / self.page_bytes() + 4;
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
            if open.len() > 1 && open.len() as u64 + table_bytes(table) > most {
                chunks.push_back(std::mem::replace(&mut open, vec![KIND_TABLES]));
            }
            encode_table(level, table, &mut open);
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

/// Bytes of a table's entry.
fn table_bytes(table: &Table) -> u64 {
    TABLE_BYTES + 8 * table.pages_total()
}

fn encode_table(level: usize, table: &Table, out: &mut Vec<u8>) {
    let behind = out.len() as u64 + table_bytes(table);
    out.push(level as u8);
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
    debug_assert_eq!(out.len() as u64, behind, "an entry is as long as it was said to be");
}

#[cfg(test)]
mod tests {
    use super::super::parse::{Chunk, decode_chunk};
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
