// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counters by name. Stalls have the names that RocksDB gives their causes (rocksdb.cfstats-no-file-histogram).

use super::LsmStore;
use super::levels::LEVELS;
use saker_engine_api::{Inspect, WriteStallCause};

/// Tables by level.
const LEVEL_TABLES: [&str; LEVELS] =
    ["l0_tables", "l1_tables", "l2_tables", "l3_tables", "l4_tables", "l5_tables", "l6_tables"];

impl LsmStore {
    /// Counters of the tree's own mechanisms, and what its structures take of modelled memory in bytes.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        let stats = self.lsm_stats();
        let (delays, stops) = (stats.stalls.delays, stats.stalls.stops);
        // Each is a sum over all tables.
        let (memory, description_bytes) = (self.memory(), self.description_bytes());
        let [memtable, level0, pending] = WriteStallCause::ALL.map(|cause| cause as usize);
        let mut counters = vec![
            ("memtable_limit_delays", delays[memtable]),
            ("memtable_limit_stops", stops[memtable]),
            ("l0_file_count_limit_delays", delays[level0]),
            ("l0_file_count_limit_stops", stops[level0]),
            ("pending_compaction_bytes_delays", delays[pending]),
            ("pending_compaction_bytes_stops", stops[pending]),
            ("estimate_pending_compaction_bytes", self.pending_compaction_bytes()),
            ("flushes", stats.flushes),
            ("num_immutable_mem_table", self.own.frozen.len() as u64),
            ("num_running_compactions", self.running_compactions() as u64),
            // As triggers count them: several tables of one memtable with values are one.
            ("num_files_at_level0", self.own.sizes.level0),
            ("compactions", stats.compactions),
            ("intra_l0_compactions", stats.picks.within_level0),
            ("table_pages_written", stats.table_pages_written),
            ("table_pages_moved", stats.table_pages_moved),
            ("table_segments_released", stats.table_segments_released),
            ("num_snapshots", self.own.snapshots.len() as u64),
            ("memtable_bytes", memory.index_bytes),
            ("table_description_bytes", description_bytes),
            ("pinned_level_bytes", memory.directory_bytes - description_bytes),
        ];
        let packing = self.packing_stats();
        counters.extend([
            ("memcpy_bytes", packing.memcpy_bytes),
            ("gap_bytes", packing.gap_bytes),
            ("landed_values", packing.landed_values),
            ("backfilled_values", packing.backfilled_values),
        ]);
        if self.settings.is_auto() {
            let (shortest, changes) = (self.placement.inside().shortest_apart(), self.placement.changes);
            counters
                .extend([("auto_min_blob_size", shortest.into()), ("auto_min_blob_size_changes", changes)]);
        }
        counters.extend(stats.traffic.counters());
        counters.extend(self.tables_by_level().iter().zip(LEVEL_TABLES).map(|(n, name)| (name, *n as u64)));
        counters
    }

    /// What a detector of stalls looks at. The others are sums over all tables.
    pub(super) fn load_counter(&self, name: &str) -> Option<u64> {
        match name {
            "estimate_pending_compaction_bytes" => Some(self.pending_compaction_bytes()),
            "num_immutable_mem_table" => Some(self.own.frozen.len() as u64),
            "num_files_at_level0" => Some(self.own.sizes.level0),
            "memtable_bytes" => Some(self.memtable_bytes()),
            _ => None,
        }
    }

    fn description_bytes(&self) -> u64 {
        self.own.levels.all().map(|(_, t)| t.memory_bytes() - t.pinned_bytes()).sum()
    }
}
