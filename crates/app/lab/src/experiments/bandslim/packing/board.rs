// SPDX-License-Identifier: Apache-2.0 OR MIT
//! BandSlim's write path as the authors' public firmware has it, one store after another. Values are in the value log without heads; a page
//! of the buffer that is evicted is waited for; keys are in an LSM tree whose memtable is flushed, and whose tables are merged, within the
//! command that makes it necessary, on the one core there is.
//!
//! What is public: lass-lab/bandslim at 64d6b10, `firmware/nvme_io_cmd.c` (the value log; it leaves the tree out), and lass-lab/LSM-KV-SSD at
//! 525b4b9, `firmware/src` (`memtable/memtable.h`: entries of a memtable; `sstable/sstable.h`: 4 B of a key and 8 B of a place for each
//! entry; `sstable/super.h`: tables of each level; `nvme/nvme_io_cmd.c`: 30 hashes for a key in a filter, one table less as the
//! threshold, and compactions behind each put until none is due; `memory_map.h`: buffers of two tables that are merged, of tables that
//! double from level to level, and of a filter of a page for each memtable). Which bodies `CompactMemTable` and `DoCompaction` have is not
//! in that commit; that they read without filters and write with them is how the sizes are used here.

use saker_profile::{Media, Profile};
use serde::Deserialize;
use std::collections::VecDeque;

/// What the firmware's tree is made of.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// Entries of a memtable.
    pub memtable_entries: u64,
    /// Tables of each level at which the oldest two are merged, from the first on; the last is never merged.
    pub merged_at: Vec<u64>,
    /// Bytes of an entry in the pages of keys, and in those of places.
    pub entry_bytes: [u64; 2],
    /// Pages of a filter for each memtable in a table.
    pub filter_pages: u64,
    /// Bits that a key sets in a filter.
    pub filter_hashes: u64,
}

/// What the tree costs a pair.
#[derive(Clone, Copy, Debug, Default)]
pub struct TreeCost {
    /// NAND pages of tables.
    pub pages: f64,
    /// Nanoseconds of the core.
    pub core_ns: f64,
    /// Nanoseconds of reads, which are waited for.
    pub read_ns: f64,
    /// Nanoseconds of programs, which the next eviction waits for.
    pub program_ns: f64,
}

impl TreeCost {
    /// Nanoseconds a pair, without programs that are not waited for.
    pub fn ns(&self, waits: bool) -> f64 {
        self.core_ns + self.read_ns + if waits { self.program_ns } else { 0.0 }
    }

    /// Bytes of tables.
    pub fn bytes(&self, page_bytes: u32) -> f64 {
        self.pages * f64::from(page_bytes)
    }
}

/// A table: memtables in it.
type Table = u64;

/// Times of the flash and prices of the core.
#[derive(Clone, Copy, Debug)]
struct Prices {
    read_ns: f64,
    program_ns: f64,
    transfer_ns: f64,
    channels: u64,
    dies: u64,
    page_bytes: u64,
    probe_ns: f64,
    step_ns: f64,
    move_ns: f64,
}

impl Prices {
    fn of(profile: &Profile) -> Self {
        let Media::Nand(nand) = &profile.media else { unreachable!("the plan names a profile of NAND") };
        let page_bytes = u64::from(profile.geometry.page_bytes.value);
        let cpu = &profile.firmware.cpu;
        let ns = |ps: u64| ps as f64 / 1000.0;
        Self {
            read_ns: nand.read_ns.value.iter().copied().max().unwrap_or(0) as f64,
            program_ns: nand.program_ns.value as f64,
            transfer_ns: page_bytes as f64 * 1e9 / nand.channel_bandwidth_bytes_per_s.value as f64,
            channels: u64::from(profile.geometry.channels.value),
            dies: u64::from(profile.geometry.luns()),
            page_bytes,
            probe_ns: ns(cpu.probe_ps.value),
            step_ns: ns(cpu.compare_ps.value),
            move_ns: ns(cpu.move_ps.value),
        }
    }

    /// Pages one after the other over channels, side by side on dies.
    fn batch(&self, pages: u64, array_ns: f64) -> f64 {
        array_ns * pages.div_ceil(self.dies) as f64 + self.transfer_ns * pages.div_ceil(self.channels) as f64
    }
}

impl Tree {
    /// What the tree costs each of so many pairs in random order.
    pub fn cost(&self, profile: &Profile, pairs: u64) -> TreeCost {
        let prices = Prices::of(profile);
        let mut run = Run {
            tree: self,
            prices,
            levels: vec![VecDeque::new(); self.merged_at.len() + 1],
            cost: TreeCost::default(),
        };
        for _ in 0..pairs / self.memtable_entries {
            run.flush();
            while let Some(level) = run.due() {
                run.merge(level);
            }
        }
        // A skip list's search looks at twice the binary logarithm of its entries, half of that on average while it fills.
        let probes = f64::from(self.memtable_entries.ilog2());
        let of = |sum: f64| sum / pairs.max(1) as f64;
        TreeCost {
            pages: of(run.cost.pages),
            core_ns: of(run.cost.core_ns) + probes * prices.probe_ns,
            read_ns: of(run.cost.read_ns),
            program_ns: of(run.cost.program_ns),
        }
    }
}

struct Run<'a> {
    tree: &'a Tree,
    prices: Prices,
    levels: Vec<VecDeque<Table>>,
    cost: TreeCost,
}

impl Run<'_> {
    /// Pages of the entries of a table: of keys, and of places.
    fn entry_pages(&self, table: Table) -> u64 {
        let entries = table * self.tree.memtable_entries;
        self.tree.entry_bytes.iter().map(|bytes| (entries * bytes).div_ceil(self.prices.page_bytes)).sum()
    }

    fn write(&mut self, table: Table) {
        let entries = (table * self.tree.memtable_entries) as f64;
        let pages = self.entry_pages(table) + table * self.tree.filter_pages;
        self.cost.pages += pages as f64;
        self.cost.program_ns += self.prices.batch(pages, self.prices.program_ns);
        self.cost.core_ns +=
            entries * (self.tree.filter_hashes as f64 * self.prices.step_ns + self.prices.move_ns);
    }

    fn flush(&mut self) {
        self.write(1);
        self.levels[0].push_back(1);
    }

    /// The level whose tables are to be merged, the lowest first.
    fn due(&self) -> Option<usize> {
        let is_due = |level: &usize| self.levels[*level].len() as u64 >= self.tree.merged_at[*level].max(2);
        (0..self.tree.merged_at.len()).rev().find(is_due)
    }

    fn merge(&mut self, level: usize) {
        let two: Vec<Table> = self.levels[level].drain(..2).collect();
        let read = two.iter().map(|table| self.entry_pages(*table)).sum();
        self.cost.read_ns += self.prices.batch(read, self.prices.read_ns);
        let merged = two.iter().sum();
        self.cost.core_ns += (merged * self.tree.memtable_entries) as f64 * self.prices.step_ns;
        self.write(merged);
        self.levels[level + 1].push_back(merged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        Tree {
            memtable_entries: 4096,
            merged_at: vec![3, 15, 127],
            entry_bytes: [4, 8],
            filter_pages: 1,
            filter_hashes: 30,
        }
    }

    /// A memtable has a page of filter, one of keys and two of places. The third and the fifth make the oldest two one.
    #[test]
    fn tables_are_counted_by_hand() {
        let profile = Profile::builtin("cosmos-plus").expect("built in");
        let pages =
            |memtables: u64| tree().cost(&profile, memtables * 4096).pages * (memtables * 4096) as f64;
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b}");
        near(pages(2), 8.0);
        near(pages(3), 12.0 + 8.0);
        near(pages(5), 20.0 + 2.0 * 8.0);
        // 31 memtables fill the second level with fifteen tables, of which two become one of sixteen pages.
        near(pages(31), 31.0 * 4.0 + 15.0 * 8.0 + 16.0);
    }

    #[test]
    fn programs_of_tables_count_only_where_they_are_waited_for() {
        let profile = Profile::builtin("cosmos-plus").expect("built in");
        let cost = tree().cost(&profile, 1_000_000);
        assert!(cost.program_ns > 0.0 && (cost.ns(true) - cost.ns(false) - cost.program_ns).abs() < 1e-6);
    }
}
