// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the entries of a merge come from: a memtable, or tables that follow each other.

use super::pairs::{WORDS, With};
use super::stretch::Stretch;
use super::table::Table;
use crate::ordered::key::Entry;
use crate::ordered::memtable::{Memtable, Position};
use saker_sim::Meter;
use std::collections::VecDeque;
use std::sync::Arc;

/// Entries of a memtable that are taken out at once.
const RUN_ENTRIES: usize = 256;
/// Entries of a memtable between one that is merged or shown and the one whose value is asked for: so many take longer than memory does.
pub(super) const AHEAD: usize = 8;

/// Entries in order, some of which are at hand.
#[derive(Clone, Debug)]
pub struct Input {
    from: From,
    run: Run,
    at: usize,
    /// Blocks that were loaded ahead: the first of them is being read.
    ahead: VecDeque<Stretch>,
    /// Memory of those that were read.
    spare: Vec<Vec<u8>>,
    /// A block that was loaded ahead is not as it was written.
    is_corrupt: bool,
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
        Self { run: Run { entries, ..Run::default() }, ..Self::new(From::Memtable(table)) }
    }

    /// All of tables whose keys follow each other.
    pub fn tables(mut tables: Vec<Arc<Table>>) -> Self {
        tables.reverse();
        Self::new(From::Tables { tables, next: 0 })
    }

    fn new(from: From) -> Self {
        let (ahead, spare) = (VecDeque::new(), Vec::new());
        Self { from, run: Run::default(), at: 0, ahead, spare, is_corrupt: false }
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

    /// Entries that are at hand without a look at the medium, in the place of those that were.
    fn drive(&mut self) {
        match &self.from {
            From::Memtable(table) => {
                let Some(last) = self.run.entries.last() else { return };
                let behind = Position::Behind(last.key, last.version);
                self.run.entries.clear();
                self.run.entries.extend(table.range(behind).take(RUN_ENTRIES));
                self.at = 0;
            }
            From::Tables { .. } => self.open_ahead(),
        }
    }

    /// Goes on with a block that was loaded ahead, if there is one.
    fn open_ahead(&mut self) {
        while self.ahead.front().is_some_and(|stretch| stretch.blocks.is_empty()) {
            self.ahead.pop_front();
            self.spare.push(std::mem::take(&mut self.run.bytes));
        }
        let Some(stretch) = self.ahead.front_mut() else { return };
        if !stretch.bytes.is_empty() {
            (self.run.bytes, self.run.base) = (std::mem::take(&mut stretch.bytes), stretch.base);
        }
        self.run.entries.clear();
        self.at = 0;
        let next = stretch.blocks.next();
        if next.is_none_or(|n| stretch.decode(n, &mut self.run).is_none()) {
            (self.is_corrupt, stretch.blocks) = (true, 0..0);
            self.run.entries.clear();
        }
    }

    /// Whether a block was not as it was written.
    pub fn is_corrupt(&self) -> bool {
        self.is_corrupt
    }

    /// Tables of which it has not loaded everything.
    pub fn tables_left(&self) -> &[Arc<Table>] {
        if let From::Tables { tables, .. } = &self.from { tables } else { &[] }
    }

    /// Bytes that were loaded ahead and not read, but for those of the page that is being read.
    pub fn bytes_ahead(&self) -> usize {
        self.ahead.iter().map(|stretch| stretch.bytes.len()).sum()
    }

    /// Whether there is anything to be loaded.
    pub fn has_more(&self) -> bool {
        matches!(&self.from, From::Tables { tables, .. } if !tables.is_empty())
    }

    /// Memory for a stretch.
    pub fn memory(&mut self) -> Vec<u8> {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes
    }

    /// Blocks that it goes on with when it has come to the end of those at hand.
    pub fn load_ahead(&mut self, stretch: Stretch) {
        let From::Tables { tables, next } = &mut self.from else { return };
        debug_assert_eq!(stretch.blocks.start, *next, "blocks follow each other");
        *next = stretch.blocks.end;
        if tables.last().is_some_and(|table| *next >= table.index.len()) {
            (_, *next) = (tables.pop(), 0);
        }
        self.ahead.push_back(stretch);
        if self.at == self.run.entries.len() {
            self.open_ahead();
        }
    }

    /// The table and the block it goes on with, if it has come to the end of what was loaded.
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
