// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bytes of tables that flushes and compactions read and write, by the level that the tables go to: what RocksDB's statistics call
//! `flush.write.bytes`, `compact.read.bytes` and `compact.write.bytes`, and a level's `ReadGB`, `WriteGB` and `MovedGB`.

use super::levels::LEVELS;

/// Bytes of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelBytes {
    /// Of tables that compactions into it merged.
    pub read: u64,
    /// Of pages that were written for it.
    pub written: u64,
    /// Of tables that went down to it as they were.
    pub moved: u64,
}

/// Those of all levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// By level.
    pub levels: [LevelBytes; LEVELS],
    /// Of what was written for level 0 so much was not flushed, but written anew.
    pub(super) rewritten: u64,
}

const READ: [&str; LEVELS] = [
    "l0_read_bytes",
    "l1_read_bytes",
    "l2_read_bytes",
    "l3_read_bytes",
    "l4_read_bytes",
    "l5_read_bytes",
    "l6_read_bytes",
];
const WRITTEN: [&str; LEVELS] = [
    "l0_write_bytes",
    "l1_write_bytes",
    "l2_write_bytes",
    "l3_write_bytes",
    "l4_write_bytes",
    "l5_write_bytes",
    "l6_write_bytes",
];
const MOVED: [&str; LEVELS] = [
    "l0_moved_bytes",
    "l1_moved_bytes",
    "l2_moved_bytes",
    "l3_moved_bytes",
    "l4_moved_bytes",
    "l5_moved_bytes",
    "l6_moved_bytes",
];

impl Traffic {
    /// A page was written for a level.
    pub(super) fn wrote(&mut self, level: usize, bytes: u64, is_flush: bool) {
        self.levels[level].written += bytes;
        self.rewritten += if level == 0 && !is_flush { bytes } else { 0 };
    }

    /// Bytes that flushes wrote.
    pub fn flush_write_bytes(&self) -> u64 {
        self.levels[0].written - self.rewritten
    }

    /// Bytes of tables that compactions merged.
    pub fn compact_read_bytes(&self) -> u64 {
        self.levels.iter().map(|level| level.read).sum()
    }

    /// Bytes that compactions wrote.
    pub fn compact_write_bytes(&self) -> u64 {
        self.levels.iter().map(|level| level.written).sum::<u64>() - self.flush_write_bytes()
    }

    /// By name: those of all levels, and of each to which anything went.
    pub(super) fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut counters = vec![
            ("flush_write_bytes", self.flush_write_bytes()),
            ("compact_read_bytes", self.compact_read_bytes()),
            ("compact_write_bytes", self.compact_write_bytes()),
        ];
        for (n, level) in self.levels.iter().enumerate().filter(|(_, level)| **level != LevelBytes::default())
        {
            counters.extend([(READ[n], level.read), (WRITTEN[n], level.written), (MOVED[n], level.moved)]);
        }
        counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_is_none_of_what_compactions_write() {
        let mut traffic = Traffic::default();
        traffic.wrote(0, 100, true);
        traffic.wrote(0, 20, false);
        traffic.wrote(1, 7, false);
        traffic.levels[1].read = 9;
        let expected = [
            ("flush_write_bytes", 100),
            ("compact_read_bytes", 9),
            ("compact_write_bytes", 27),
            ("l0_read_bytes", 0),
            ("l0_write_bytes", 120),
            ("l0_moved_bytes", 0),
            ("l1_read_bytes", 9),
            ("l1_write_bytes", 7),
            ("l1_moved_bytes", 0),
        ];
        assert_eq!(traffic.counters(), expected);
    }
}
