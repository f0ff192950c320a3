// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The memtable: entries of the newest writes, in order. They are in the value log too, so it is never written for
//! safety's sake.

use super::filter::Filter;
use super::inside::Inside;
use super::key::{Entry, Key};
use super::leaves::{self, Leaves, Near};
use super::refs::{Births, Refs, referred};
use saker_log::{Log, ensure};
use saker_sim::Meter;
use saker_value_log::RecordAddr;
use std::collections::BTreeMap;
use std::collections::btree_map::Range;
use std::iter::Peekable;
use std::ops::Bound::{self, Included, Unbounded};

/// Modelled bytes of an entry: the words of its key, version, place, stamp, and half as much for gaps in nodes.
pub const ENTRY_BYTES: u64 = 72;

#[derive(Clone, Copy, Debug)]
struct Slot {
    version: u64,
    addr: RecordAddr,
    stamp: u64,
}

/// Sorted entries, one for each key; older ones aside while a snapshot wants them. Entries lie in leaves, so that no
/// pair has an allocation of its own.
#[derive(Clone, Debug, Default)]
pub struct Memtable {
    newest: Leaves<Slot>,
    /// By key and falling version.
    older: BTreeMap<(Key, u64), Slot>,
    /// Spares most searches that find nothing; without words it spares none.
    filter: Filter,
    /// Values beside their keys. What replaced ones took goes with the memtable, as in RocksDB's arena.
    values: Vec<u8>,
    inside: Inside,
    /// What its entries refer to in the value log.
    pub refs: Refs,
}

fn entry(key: Key, slot: &Slot) -> Entry {
    Entry { key, version: slot.version, addr: slot.addr, stamp: slot.stamp }
}

/// Values begin at multiples of it, so that where they begin fits 32 bits for any size of a memtable.
const VALUE_UNIT: usize = 8;

/// Bytes of a line of the processor's cache.
const LINE_BYTES: usize = 64;
/// Lines of a value that are asked for: what follows them the processor guesses.
const LINES_AHEAD: usize = 4;

/// Bits of the filter for an entry: a part of what is reckoned for gaps.
const FILTER_BITS: u32 = 8;
/// Larger memtables have denser filters.
const FILTER_ENTRIES_MAX: u64 = 1 << 22;

impl Memtable {
    /// An empty one that will have about so many modelled bytes, in the memory of one that was as large: what the system gives anew it clears
    /// first, page by page.
    pub fn with_bytes(bytes: u64, used: Option<Self>) -> Self {
        let filter = Filter::open((bytes / ENTRY_BYTES).min(FILTER_ENTRIES_MAX), FILTER_BITS);
        // What grows by doubling has up to twice as much; one from before a change of settings may have far more.
        let Some(used) = used.filter(|used| used.values.capacity() as u64 <= 2 * bytes) else {
            return Self { filter, ..Self::default() };
        };
        let (mut newest, mut values) = (used.newest, used.values);
        newest.clear();
        values.clear();
        Self { filter, newest, values, ..Self::default() }
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.newest.len() + self.older.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.newest.is_empty()
    }

    /// Modelled memory.
    pub fn bytes(&self) -> u64 {
        self.len() as u64 * ENTRY_BYTES + self.values.len() as u64
    }

    /// Its entries whose values are beside them.
    pub fn inside(&self) -> Inside {
        self.inside
    }

    /// Takes the value that `append` appends; the stamp of the entry that has it.
    pub fn take_value(&mut self, append: impl FnOnce(&mut Vec<u8>)) -> u64 {
        let at = self.values.len();
        append(&mut self.values);
        self.values.resize(self.values.len().next_multiple_of(VALUE_UNIT), 0);
        (at / VALUE_UNIT) as u64
    }

    /// The value that is beside an entry of this memtable.
    pub fn value(&self, e: &Entry) -> &[u8] {
        let at = e.stamp as u32 as usize * VALUE_UNIT;
        self.values.get(at..at + e.addr.value_bytes_inside() as usize).unwrap_or_default()
    }

    /// Asks for the value that is beside an entry of this memtable: the lines at its beginning.
    #[inline]
    pub fn touch_value<W: Meter>(&self, e: &Entry, w: &mut W) {
        if e.is_inside() {
            let lines = self.value(e).chunks(LINE_BYTES).take(LINES_AHEAD);
            lines.for_each(|line| line.first().into_iter().for_each(|byte| w.touch(byte)));
        }
    }

    /// Asks for the value of the next entry of those ahead of a scan.
    #[inline]
    pub fn touch_next<W: Meter>(&self, ahead: &mut Ahead<'_>, w: &mut W) {
        if let Some((key, slot)) = ahead.0.next() {
            self.touch_value(&entry(*key, slot), w);
        }
    }

    /// Says what contradicts itself: the order of its keys, entries that are not older than the newest of their key, keys that the
    /// filter does not know, references that are not those of its entries.
    pub fn check(&self, log: &Log, births: &Births) -> Result<(), String> {
        self.newest.check()?;
        for ((key, version), slot) in &self.older {
            let newest = self.newest.get(key).map(|newest| newest.version);
            let is_older = *version == !slot.version && newest.is_some_and(|newest| newest > slot.version);
            ensure(is_older, || format!("version {} is kept behind {newest:?}", slot.version))?;
        }
        let mut refs = Refs::default();
        for e in self.range(Position::Start) {
            ensure(self.filter.may_contain(e.key.hash()), || format!("the filter has no {:?}", e.key))?;
            if let Some((id, bytes)) = referred(log, births, &e) {
                refs.add(id, e.stamp, bytes, births);
            }
        }
        let alive = |refs: &Refs| -> Vec<_> {
            let alive = refs.iter().filter(|(id, r)| births.is_alive(log, *id, r.stamp));
            alive.map(|(id, r)| (id, r.bytes)).collect()
        };
        let (found, noted) = (alive(&refs), alive(&self.refs));
        ensure(found == noted, || format!("entries refer to {found:?}, noted: {noted:?}"))
    }

    /// Enters a write that is not older than any here; gives back the one it replaces.
    pub fn insert(&mut self, e: Entry) -> Option<Entry> {
        let slot = self.told(&e);
        let old = self.newest.insert(e.key, slot);
        self.replaced(&e, old)
    }

    /// The same of a key that was [near](Self::touch_leaf) there, before others were entered.
    pub fn insert_near(&mut self, e: Entry, near: Near) -> Option<Entry> {
        let slot = self.told(&e);
        let old = self.newest.insert_near(near, e.key, slot);
        self.replaced(&e, old)
    }

    #[inline]
    fn told(&mut self, e: &Entry) -> Slot {
        self.filter.add(e.key.hash());
        if e.is_inside() {
            self.inside = self.inside.and(Inside::of_entry(e));
        }
        Slot { version: e.version, addr: e.addr, stamp: e.stamp }
    }

    #[inline]
    fn replaced(&mut self, e: &Entry, old: Option<Slot>) -> Option<Entry> {
        let old = old?;
        debug_assert!(old.version <= e.version);
        let old = entry(e.key, &old);
        if old.is_inside() {
            self.inside = self.inside.without(Inside::of_entry(&old));
        }
        Some(old)
    }

    /// Keeps a replaced entry for a snapshot.
    pub fn keep(&mut self, e: Entry) {
        self.inside = self.inside.and(Inside::of_entry(&e));
        self.older.insert((e.key, !e.version), Slot { version: e.version, addr: e.addr, stamp: e.stamp });
    }

    /// The newest entry of a key.
    #[inline]
    pub fn newest(&self, key: &Key) -> Option<Entry> {
        self.newest.get(key).map(|slot| entry(*key, slot))
    }

    /// The newest entry of a key that is not newer than `version`.
    #[inline]
    pub fn get(&self, key: &Key, version: u64) -> Option<Entry> {
        let newest = self.newest.get(key)?;
        if newest.version <= version {
            return Some(entry(*key, newest));
        }
        let mut older = self.older.range((*key, !version)..=(*key, u64::MAX));
        older.next().map(|((key, _), slot)| entry(*key, slot))
    }

    /// What a search for a key with that hash looks at first.
    #[inline]
    pub fn touch<W: Meter>(&self, hash: u64, w: &mut W) {
        self.filter.touch(hash, w);
    }

    /// What it looks at then, and where.
    #[inline]
    pub fn touch_leaf<W: Meter>(&self, key: &Key, w: &mut W) -> Near {
        self.newest.touch_leaf(key, w)
    }

    /// What it looks at last.
    #[inline]
    pub fn touch_place<W: Meter>(&self, key: &Key, near: Near, w: &mut W) {
        self.newest.touch_place(key, near, w);
    }

    /// The same, of a key whose hash is known.
    #[inline]
    pub fn get_hashed(&self, key: &Key, hash: u64, version: u64) -> Option<Entry> {
        if self.filter.may_contain(hash) { self.get(key, version) } else { None }
    }

    /// All entries in order from a position on.
    pub fn range(&self, from: Position) -> Entries<'_> {
        let (new_from, old_from): (Bound<Key>, Bound<(Key, u64)>) = match from {
            Position::Start => (Unbounded, Unbounded),
            Position::At(key) => (Included(key), Included((key, 0))),
            Position::Behind(key, version) => (Bound::Excluded(key), Bound::Excluded((key, !version))),
        };
        Entries {
            new: self.newest.range(new_from).peekable(),
            old: self.older.range((old_from, Unbounded)).peekable(),
        }
    }

    /// The last key before the end of a range that begins at the first.
    pub fn last_key(&self, end: Bound<Key>) -> Option<Key> {
        self.newest.last_key(end)
    }
}

/// Entries of a memtable in order.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    new: Peekable<leaves::Range<'a, Slot>>,
    old: Peekable<Range<'a, (Key, u64), Slot>>,
}

/// Newest entries ahead of a scan: their values lie in the order in which they were written, not in that of their keys.
#[derive(Clone, Debug)]
pub struct Ahead<'a>(Peekable<leaves::Range<'a, Slot>>);

impl<'a> Entries<'a> {
    /// Those that come next.
    pub fn ahead(&self) -> Ahead<'a> {
        Ahead(self.new.clone())
    }
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    #[inline]
    fn next(&mut self) -> Option<Entry> {
        // Only snapshots make older ones be kept.
        if self.old.peek().is_none() {
            return self.new.next().map(|(key, slot)| entry(*key, slot));
        }
        let is_new = match (self.new.peek(), self.old.peek()) {
            (Some((new, _)), Some(((old, _), _))) => *new <= old,
            (new, _) => new.is_some(),
        };
        if is_new {
            self.new.next().map(|(key, slot)| entry(*key, slot))
        } else {
            self.old.next().map(|((key, _), slot)| entry(*key, slot))
        }
    }
}

/// A place in the order of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Before everything.
    Start,
    /// Before the newest entry of a key.
    At(Key),
    /// Behind the entry of a key with that version.
    Behind(Key, u64),
}

#[cfg(test)]
mod tests;
