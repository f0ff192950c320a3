// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the entries of a scan come from: memtables, and tables that follow each other.

use super::LsmStore;
use super::data_block::DataBlock;
use super::input::AHEAD;
use super::inside::Whose;
use super::levels::LEVELS;
use super::table::Table;
use crate::ordered::key::{Entry, Key};
use crate::ordered::memtable::{Ahead, Entries, Memtable, Position};
use saker_segment_store::SegmentStore;
use saker_sim::Meter;
use std::sync::Arc;

/// A source of entries in order, and the one it stands at.
pub(super) struct Source<'a> {
    pub head: Option<Entry>,
    rest: Rest<'a>,
    pub whose: Whose,
}

enum Rest<'a> {
    /// A memtable, its entries from here on, and those whose values are asked for next, where asking does anything.
    Memtable(&'a Memtable, Entries<'a>, Option<Ahead<'a>>),
    Tables(Tables<'a>),
}

/// Tables of a level, or one of level 0: the next block to open, and the rest of the open one.
struct Tables<'a> {
    tables: &'a [Arc<Table>],
    next: usize,
    open: Option<(DataBlock<'a>, usize)>,
    /// The first entry of the scan was found: all behind it are of the scan, and are not searched for.
    has_begun: bool,
}

impl<'a> Source<'a> {
    fn memtable<W: Meter>(
        whose: Whose,
        (table, from, has_values): (&'a Memtable, Position, bool),
        w: &mut W,
    ) -> Self {
        let mut entries = table.range(from);
        let mut ahead = (has_values && w.touches()).then(|| entries.ahead());
        if let Some(ahead) = &mut ahead {
            (0..AHEAD).for_each(|_| table.touch_next(ahead, w));
        }
        Self { head: entries.next(), rest: Rest::Memtable(table, entries, ahead), whose }
    }

    #[inline]
    pub fn advance<W: Meter>(&mut self, w: &mut W) {
        self.head = match &mut self.rest {
            Rest::Memtable(table, entries, ahead) => {
                if let Some(ahead) = ahead {
                    table.touch_next(ahead, w);
                }
                entries.next()
            }
            Rest::Tables(tables) => tables.advance(),
        };
    }

    /// Whether it stands at an entry before that of the others.
    #[inline]
    pub fn is_before(&self, others: Option<&Entry>) -> bool {
        self.head.as_ref().is_some_and(|e| others.is_none_or(|other| e.order(other).is_lt()))
    }

    /// The value beside the key of the entry that it stands at, if it is at hand in one piece.
    #[inline]
    pub fn value(&self, head: &Entry) -> &'a [u8] {
        match (&self.rest, head.is_inside()) {
            (Rest::Memtable(table, ..), true) => table.value(head),
            (Rest::Tables(tables), true) => tables.open.map_or(&[], |(block, _)| block.value(head)),
            (_, false) => &[],
        }
    }

    /// The block it goes on with.
    pub fn wants(&mut self) -> Option<(&'a Table, usize)> {
        match &mut self.rest {
            Rest::Tables(tables) if self.head.is_none() => tables.wants(),
            _ => None,
        }
    }

    pub fn opened(&mut self, (table, n): (&Table, usize), block: DataBlock<'a>, from: Option<&Key>) {
        if let Rest::Tables(tables) = &mut self.rest {
            tables.next += 1;
            let at = match from.filter(|_| !tables.has_begun) {
                None => 0,
                Some(key) => match table.share(n, key) {
                    Some(share) => block.lower_bound_near(key, u64::MAX, share),
                    None => block.lower_bound(key, u64::MAX),
                },
            };
            tables.open = Some((block, at));
            self.head = block.get(at);
            tables.has_begun |= self.head.is_some();
        }
    }
}

impl<'a> Tables<'a> {
    fn new(tables: &'a [Arc<Table>], from: Option<&Key>) -> Self {
        let next = match (tables.first(), from) {
            (Some(table), Some(key)) => table.block_of(key, u64::MAX),
            _ => 0,
        };
        Self { tables, next, open: None, has_begun: false }
    }

    #[inline]
    fn advance(&mut self) -> Option<Entry> {
        let (block, at) = self.open.as_mut()?;
        *at += 1;
        block.get(*at)
    }

    fn wants(&mut self) -> Option<(&'a Table, usize)> {
        let mut here = self.tables.first()?;
        if self.next >= here.index.len() {
            (self.tables, self.next) = (&self.tables[1..], 0);
            here = self.tables.first()?;
        }
        Some((here, self.next))
    }
}

/// The source with the next entry, of equal ones the first, so the youngest; and where the others go on: until then it goes on alone.
#[inline]
pub(super) fn least(sources: &[Source<'_>]) -> Option<(usize, Option<Entry>)> {
    let (mut least, mut second): (Option<(usize, &Entry)>, Option<&Entry>) = (None, None);
    for (n, source) in sources.iter().enumerate() {
        let Some(e) = &source.head else { continue };
        match least {
            Some((_, first)) if e.order(first).is_ge() => {
                if second.is_none_or(|second| e.order(second).is_lt()) {
                    second = Some(e);
                }
            }
            first => (least, second) = (Some((n, e)), first.map(|(_, e)| e)),
        }
    }
    least.map(|(n, _)| (n, second.copied()))
}

impl LsmStore {
    /// The newest first. What each looks at to find its first entry is asked for before any looks: then their cache misses overlap.
    pub(super) fn sources<M: SegmentStore, W: Meter>(
        &self,
        (from, has_values): (Option<&Key>, bool),
        m: &M,
        w: &mut W,
    ) -> Vec<Source<'_>> {
        let frozen = || self.own.frozen.iter().enumerate().rev();
        if let Some(key) = from.filter(|_| w.touches()) {
            self.mem.touch_leaf(key, w);
            frozen().for_each(|(_, table)| _ = table.touch_leaf(key, w));
        }
        let tables = self.table_sources(from, m, w);
        let at = from.map_or(Position::Start, |key| Position::At(*key));
        let mut sources = Vec::with_capacity(1 + self.own.frozen.len() + tables.len());
        sources.push(Source::memtable(Whose::MEMTABLE, (&self.mem, at, has_values), w));
        sources.extend(
            frozen().map(|(n, table)| Source::memtable(Whose::frozen(n), (table, at, has_values), w)),
        );
        sources.extend(tables);
        sources
    }

    fn table_sources<M: SegmentStore, W: Meter>(
        &self,
        from: Option<&Key>,
        m: &M,
        w: &mut W,
    ) -> Vec<Source<'_>> {
        let level0 = self.own.levels.level(0);
        let mut sources = Vec::with_capacity(level0.len() + LEVELS);
        let mut add = |whose, tables| {
            let source = Tables::new(tables, from);
            if let (Some(key), Some(table)) = (from.filter(|_| w.touches()), tables.first()) {
                self.touch_block(table, source.next, table.share(source.next, key), m, w);
            }
            sources.push(Source { head: None, rest: Rest::Tables(source), whose });
        };
        let young = level0.iter().enumerate().filter(|(_, t)| from.is_none_or(|key| t.last >= *key));
        young.for_each(|(n, table)| add(Whose::table(0, n), std::slice::from_ref(table)));
        for level in 1..LEVELS {
            let tables = self.own.levels.level(level);
            let first = from.map_or(0, |key| self.own.levels.before(level, key));
            if first < tables.len() {
                add(Whose::table(level, 0), &tables[first..]);
            }
        }
        sources
    }
}
