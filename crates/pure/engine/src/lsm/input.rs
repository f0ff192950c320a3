// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the entries of a merge come from: a memtable, or tables that follow each other.

use super::table::Table;
use crate::ordered::key::Entry;
use crate::ordered::memtable::{Memtable, Position};
use std::sync::Arc;

/// Entries of a memtable that are taken out at once.
const RUN_ENTRIES: usize = 256;

/// Entries in order, some of which are at hand.
#[derive(Clone, Debug)]
pub struct Input {
    from: From,
    run: Vec<Entry>,
    at: usize,
    /// Of a table's block: the bytes that values beside their keys are in, and where they begin in the table.
    values: (Vec<u8>, u32),
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
        let run = table.range(Position::Start).take(RUN_ENTRIES).collect();
        Self { from: From::Memtable(table), run, at: 0, values: (Vec::new(), 0) }
    }

    /// All of tables whose keys follow each other.
    pub fn tables(mut tables: Vec<Arc<Table>>) -> Self {
        tables.reverse();
        let from = From::Tables { tables, next: 0 };
        Self { from, run: Vec::new(), at: 0, values: (Vec::new(), 0) }
    }

    /// The entry it stands at.
    #[inline]
    pub fn head(&self) -> Option<&Entry> {
        self.run.get(self.at)
    }

    /// The value that is beside its head; none if that has a place.
    pub fn value(&self) -> &[u8] {
        let Some(e) = self.head().filter(|e| e.is_inside()) else { return &[] };
        match &self.from {
            From::Memtable(table) => table.value(e),
            From::Tables { .. } => {
                let (bytes, base) = &self.values;
                let at = (e.stamp as u32 - base) as usize;
                &bytes[at..at + e.addr.value_bytes_inside() as usize]
            }
        }
    }

    /// Goes on behind its head.
    #[inline]
    pub fn advance(&mut self) {
        self.at += 1;
        if self.at == self.run.len() {
            self.drive();
        }
    }

    fn drive(&mut self) {
        if let (From::Memtable(table), Some(last)) = (&self.from, self.run.last()) {
            let behind = Position::Behind(last.key, last.version);
            self.run = table.range(behind).take(RUN_ENTRIES).collect();
            self.at = 0;
        }
    }

    /// The table and the block it goes on with, if it has come to the end of one.
    #[inline]
    pub fn wants(&self) -> Option<(&Arc<Table>, usize)> {
        match &self.from {
            From::Tables { tables, next } if self.at == self.run.len() => Some((tables.last()?, *next)),
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

    /// The block it wants, decoded, and the bytes with its values.
    pub fn opened(&mut self, block: Vec<Entry>, values: (Vec<u8>, u32)) {
        let From::Tables { tables, next } = &mut self.from else { return };
        (self.run, self.at, self.values, *next) = (block, 0, values, *next + 1);
        if tables.last().is_some_and(|table| *next >= table.index.len()) {
            (_, *next) = (tables.pop(), 0);
        }
    }

    /// The pages of a table were moved.
    pub fn refresh(&mut self, moved: &Arc<Table>) {
        if let From::Tables { tables, .. } = &mut self.from {
            tables.iter_mut().filter(|table| table.id == moved.id).for_each(|table| *table = moved.clone());
        }
    }
}
