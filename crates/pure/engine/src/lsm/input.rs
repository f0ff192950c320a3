// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the entries of a merge come from: a memtable, or tables that follow each other.

use super::pairs::{WORDS, With};
use super::table::Table;
use crate::ordered::key::Entry;
use crate::ordered::memtable::{Memtable, Position};
use saker_sim::Meter;
use std::sync::Arc;

/// Entries of a memtable that are taken out at once.
const RUN_ENTRIES: usize = 256;
/// Entries between one that is merged and the one whose value is asked for: so many take longer than memory does.
const AHEAD: usize = 8;

/// Entries in order, some of which are at hand.
#[derive(Clone, Debug)]
pub struct Input {
    from: From,
    run: Run,
    at: usize,
}

/// Entries at hand.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// In order.
    pub entries: Vec<Entry>,
    /// Of a table's block: the bytes that entries with their values beside them are in, or one such value.
    pub bytes: Vec<u8>,
    /// Where these bytes begin in the table.
    pub base: u32,
}

#[derive(Clone, Debug)]
enum From {
    Memtable(Arc<Memtable>),
    /// Block `next` of the first of them is the next to be decoded.
    Tables {
        tables: Vec<Arc<Table>>,
        next: usize,
    },
}

impl Input {
    /// All of a memtable.
    pub fn memtable(table: Arc<Memtable>) -> Self {
        let entries = table.range(Position::Start).take(RUN_ENTRIES).collect();
        Self { from: From::Memtable(table), run: Run { entries, ..Run::default() }, at: 0 }
    }

    /// All of tables whose keys follow each other.
    pub fn tables(mut tables: Vec<Arc<Table>>) -> Self {
        tables.reverse();
        let from = From::Tables { tables, next: 0 };
        Self { from, run: Run::default(), at: 0 }
    }

    /// The entry it stands at.
    #[inline]
    pub fn head(&self) -> Option<&Entry> {
        self.run.entries.get(self.at)
    }

    /// What comes with its head.
    #[inline]
    pub fn with(&self) -> With<'_> {
        let Some(e) = self.head().filter(|e| e.is_inside()) else { return With::NOTHING };
        let From::Tables { .. } = &self.from else { return With::Value(self.value_of_memtable(e)) };
        let at = (e.stamp as u32 - self.run.base) as usize;
        let end = at + e.addr.value_bytes_inside() as usize;
        match at.checked_sub(WORDS + e.key.len()) {
            Some(begin) => With::Encoded(&self.run.bytes[begin..end]),
            None => With::Value(&self.run.bytes[at..end]),
        }
    }

    /// Asks for what will soon come with its head: values of a memtable lie in the order in which they were written.
    #[inline]
    pub fn touch_ahead<W: Meter>(&self, w: &mut W) {
        if let (From::Memtable(table), Some(e)) = (&self.from, self.run.entries.get(self.at + AHEAD)) {
            table.touch_value(e, w);
        }
    }

    fn value_of_memtable(&self, e: &Entry) -> &[u8] {
        match &self.from {
            From::Memtable(table) => table.value(e),
            From::Tables { .. } => &[],
        }
    }

    /// Goes on behind its head.
    #[inline]
    pub fn advance(&mut self) {
        self.at += 1;
        if self.at == self.run.entries.len() {
            self.drive();
        }
    }

    fn drive(&mut self) {
        if let (From::Memtable(table), Some(last)) = (&self.from, self.run.entries.last()) {
            let behind = Position::Behind(last.key, last.version);
            self.run.entries.clear();
            self.run.entries.extend(table.range(behind).take(RUN_ENTRIES));
            self.at = 0;
        }
    }

    /// The table and the block it goes on with, if it has come to the end of one.
    #[inline]
    pub fn wants(&self) -> Option<(&Arc<Table>, usize)> {
        match &self.from {
            From::Tables { tables, next } if self.at == self.run.entries.len() => {
                Some((tables.last()?, *next))
            }
            _ => None,
        }
    }

    /// The table and the block that it decodes next, now or later.
    pub fn next(&self) -> Option<(&Arc<Table>, usize)> {
        match &self.from {
            From::Tables { tables, next } => Some((tables.last()?, *next)),
            From::Memtable(_) => None,
        }
    }

    /// Takes the block it wants: `decode` puts that in the place of what was at hand. Nothing is if it says `None`.
    pub fn open(&mut self, decode: impl FnOnce(&mut Run) -> Option<()>) -> Option<&Run> {
        let From::Tables { tables, next } = &mut self.from else { return None };
        self.at = 0;
        self.run.entries.clear();
        self.run.bytes.clear();
        if decode(&mut self.run).is_none() {
            self.run.entries.clear();
            return None;
        }
        *next += 1;
        if tables.last().is_some_and(|table| *next >= table.index.len()) {
            (_, *next) = (tables.pop(), 0);
        }
        Some(&self.run)
    }

    /// The pages of a table were moved.
    pub fn refresh(&mut self, moved: &Arc<Table>) {
        if let From::Tables { tables, .. } = &mut self.from {
            tables.iter_mut().filter(|table| table.id == moved.id).for_each(|table| *table = moved.clone());
        }
    }
}
