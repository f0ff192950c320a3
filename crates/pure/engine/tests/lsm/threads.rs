// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Several compactions at once, memtables that wait for each other, and levels in memory.

use crate::ordered::Ordered;
use crate::ordered::bench::scale;
use crate::ordered::cuts::{history_with, recovers_cut};
use crate::ordered::histories::history;
use saker_engine::{LsmConfig, LsmStore};
use saker_flash::FaultPlan;
use saker_sim::Chance;

fn busy(compaction_threads: u32, max_write_buffer_number: u32, ring_lasts: bool) -> LsmConfig {
    LsmConfig {
        compaction_threads,
        max_write_buffer_number,
        target_file_pages: 2,
        max_bytes_for_level_base: 2 << 10,
        ..LsmStore::small(ring_lasts)
    }
}

#[test]
fn with_threads_and_more_memtables() {
    for seed in 400..400 + scale(4) {
        let busy = busy(1 + (seed % 4) as u32, 4, seed % 2 == 0);
        let plan = FaultPlan { seed, program: Chance::one_in(200), ..FaultPlan::default() };
        let faults = if seed % 3 == 0 { plan } else { FaultPlan::default() };
        let together = history::<LsmStore>(seed, busy, faults);
        let several = together > 1 || seed % 4 == 0;
        assert!(together <= busy.compaction_threads as usize && several, "{together}");
    }
}

#[test]
fn power_cuts_at_every_event_of_several_compactions() {
    for seed in 7..7 + scale(1) {
        let bench = history_with::<LsmStore>(seed, busy(3, 3, true), recovers_cut, 1200);
        let ([flushes, compactions, ..], together) = (bench.done(), bench.together);
        assert!(flushes > 3 && compactions > 3 && together > 1, "{:?} {together}", bench.done());
    }
}

#[test]
fn with_pinned_levels_instead_of_filters() {
    for seed in 300..300 + scale(2) {
        let small = LsmStore::small(seed % 2 == 0);
        let pinned = LsmConfig { pinned_levels: 2, bloom_bits_per_key: 0, ..small };
        history::<LsmStore>(seed, pinned, FaultPlan::default());
    }
}
