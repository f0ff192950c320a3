// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which lengths of values are beside their keys, if the store decides by itself (`min_blob_size=auto`).
//!
//! A class of lengths goes where the medium reads and writes fewer bytes for it. For each put of a value of `n` bytes:
//!
//! - beside its key, flushes and merges read and write it again: `a (n - 13)` bytes, where 13 bytes are the place that an entry has
//!   otherwise. `a` is 1 for the flush, and for each level of the tree what merges read and write for a byte. The tree has as many levels
//!   as its tables take with values of that class;
//! - in the value log, collections copy its record: `g (n + 40)` bytes with its head and key, where `g` is what they read and write for
//!   each byte that was put there. Each time that the pair is read, by a get or a scan, it is a page of `P` bytes more. Merges wait for
//!   each page that they read, and reads are on their way together: it is assumed that eight are. So `r` reads for each put cost as
//!   much as `r P / 8` bytes that merges move.
//!
//! So a class is beside its keys if `a (n - 13) <= g (n + 40) + r P / 8`. What flushes, merges and collections do is measured, what is put
//! and read is counted, and nothing else is asked: no clock, no price of a page. Reads that come after the last put of a pair are not
//! foreseen.

use super::LsmStore;
use crate::ordered::placement::{CLASSES, Inside, Use, by_turns};

/// Bytes of the place and the stamp that an entry has if its value is in the log.
const PLACE_BYTES: u64 = 13;
/// Bytes of a record beside its value: its head and a key of 16 bytes.
const HEAD_BYTES: u64 = 40;
/// Reads that are on their way at once: what a page costs merges is divided among them.
const READS_AT_ONCE: u64 = 8;
/// Factors are multiples of this part.
const UNIT: i128 = 1 << 8;
/// What is measured is that of so many memtables, and half of what was before, and so on.
const WINDOW_MEMTABLES: u64 = 16;

/// Two numbers that rise, as they were lately.
#[derive(Clone, Copy, Debug, Default)]
struct Lately {
    all: [u64; 2],
    lately: [u64; 2],
}

impl Lately {
    /// They have risen. If the first was more than `window` lately, both count half.
    fn note(&mut self, all: [u64; 2], window: u64) {
        for ((lately, all), before) in self.lately.iter_mut().zip(all).zip(self.all) {
            *lately += all - before;
        }
        self.all = all;
        if self.lately[0] > window {
            self.lately = self.lately.map(|n| n / 2);
        }
    }
}

/// What background work did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    /// Bytes that flushes wrote, and that merges read and wrote.
    merges: Lately,
    /// Bytes that puts wrote to the value log to stay there, and that collections read and wrote.
    collections: Lately,
}

/// What a byte costs, in parts of [`UNIT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Costs {
    /// That is flushed and merged.
    inside: i128,
    /// That is collected.
    apart: i128,
    /// Bytes that a read of a pair costs as much as.
    read: i128,
}

impl Costs {
    /// Whether a class is cheaper beside its keys.
    fn prefer_inside(&self, used: &Use) -> bool {
        let [puts, bytes, reads] = [used.puts, used.bytes, used.reads].map(i128::from);
        let inside = self.inside * (bytes - puts * i128::from(PLACE_BYTES));
        let apart = self.apart * (bytes + puts * i128::from(HEAD_BYTES)) + UNIT * reads * self.read;
        inside <= apart
    }
}

/// What merges read and write in a level for a byte that they bring there, at worst: the byte, and half of `multiplier` times as much that is
/// there.
fn merged_at_worst(multiplier: u64) -> u64 {
    2 + multiplier
}

/// Levels behind level 0 of a tree of so many bytes, at least one.
fn levels(bytes: u64, base: u64, multiplier: u64) -> u64 {
    let (mut levels, mut level, mut room) = (1, base.max(1), base.max(1));
    while room < bytes {
        level = level.saturating_mul(multiplier.max(2));
        (levels, room) = (levels + 1, room.saturating_add(level));
    }
    levels
}

impl LsmStore {
    /// Which classes of lengths go beside their keys from now on.
    pub(super) fn decided(&mut self) -> Inside {
        self.note_work();
        if self.settings.places_by_turns() {
            return by_turns(self.placement.decisions);
        }
        let puts: u64 = self.placement.uses().iter().map(|used| used.puts).sum();
        let (tables, entries) = (self.table_bytes(), self.entries_at_most());
        let before = self.placement.inside();
        (0..CLASSES).fold(Inside::NONE, |inside, class| {
            let used = &self.placement.uses()[class];
            if used.puts == 0 {
                return if before.has(class) { inside.with(class) } else { inside };
            }
            let more = if before.has(class) { 0 } else { share(entries, (used.bytes, puts)) };
            let is_cheaper = self.costs(tables + more).prefer_inside(used);
            if is_cheaper { inside.with(class) } else { inside }
        })
    }

    /// What background work did since the last time is known.
    fn note_work(&mut self) {
        let (traffic, window) = (self.own.stats.traffic, WINDOW_MEMTABLES * self.settings.write_buffer_size);
        let merged = traffic.compact_read_bytes() + traffic.compact_write_bytes();
        self.own.work.merges.note([traffic.flush_write_bytes(), merged], window);
        let logged = self.placement.apart_bytes + self.kv.gc_bytes_copied;
        self.own.work.collections.note([logged, 2 * self.kv.gc_bytes_copied], window);
    }

    /// What bytes cost with tables of so many bytes.
    fn costs(&self, tables: u64) -> Costs {
        let (base, multiplier) = (self.config.level_base_bytes(), self.config.max_bytes_for_level_multiplier);
        let now = levels(self.table_bytes(), base, multiplier);
        // Before merges have told, one memtable counts as if it had been merged at worst.
        let (known, worst) = (self.settings.write_buffer_size, merged_at_worst(multiplier));
        let [flushed, merged] = self.own.work.merges.lately;
        let merged = i128::from(merged) + i128::from(known) * i128::from(worst * now);
        let each = UNIT * merged / (i128::from(flushed + known) * i128::from(now));
        let [logged, collected] = self.own.work.collections.lately.map(i128::from);
        Costs {
            inside: UNIT + each * i128::from(levels(tables, base, multiplier)),
            apart: UNIT * collected / logged.max(1),
            read: (self.page_bytes() / READS_AT_ONCE).into(),
        }
    }
}

/// Bytes of the values of all entries that are like some of so many puts.
fn share(entries: u64, (bytes, puts): (u64, u64)) -> u64 {
    (u128::from(entries) * u128::from(bytes) / u128::from(puts.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_as_many_levels_as_its_bytes_take() {
        assert_eq!([0, 100, 101, 1100, 1101].map(|bytes| levels(bytes, 100, 10)), [1, 1, 2, 2, 3]);
        assert_eq!(levels(u64::MAX, 1, 2), 64);
    }

    #[test]
    fn what_was_long_ago_counts_half() {
        let mut work = Lately::default();
        work.note([100, 300], 100);
        assert_eq!(work.lately, [100, 300]);
        work.note([200, 300], 100);
        assert_eq!(work.lately, [100, 150]);
        work.note([200, 350], 100);
        assert_eq!(work.lately, [100, 200]);
    }

    /// The formula, with numbers that were worked out by hand: `a` = 5, `g` = 1/2, a read as dear as 4096 bytes.
    #[test]
    fn a_class_goes_where_fewer_bytes_are_read_and_written() {
        let costs = Costs { inside: 5 * UNIT, apart: UNIT / 2, read: 4096 };
        let used = |n: u64, reads: u64| Use { puts: 100, bytes: 100 * n, reads };
        // 5 (n - 13) <= (n + 40) / 2 up to 18 bytes.
        assert_eq!([18, 19].map(|n| costs.prefer_inside(&used(n, 0))), [true, false]);
        // A read for ten puts: 409.6 bytes for each, so up to 109 bytes.
        assert_eq!([109, 110].map(|n| costs.prefer_inside(&used(n, 10))), [true, false]);
        // A read for each put: up to 929 bytes.
        assert_eq!([928, 930].map(|n| costs.prefer_inside(&used(n, 100))), [true, false]);
    }
}
