// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counters by name.

use super::TreeStore;
use saker_engine_api::Inspect;

impl TreeStore {
    /// Bytes programmed, whatever for.
    fn bytes_programmed(&self) -> u64 {
        self.log.stats().pages_programmed.iter().sum::<u64>() * self.page_bytes()
    }

    /// Counters of the tree's own mechanisms, and what its structures take of modelled memory in bytes. Write amplification is
    /// bytes programmed over bytes of keys and values written, in hundredths; it is left out until something was written.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        let stats = self.tree_stats();
        let mut counters = vec![
            ("tree_height", u64::from(self.own.tree.height)),
            ("tree_nodes", self.own.tree.pages),
            ("tree_entries", self.own.tree.entries),
            ("merges", stats.merges),
            ("roots", stats.roots),
            ("merge_stalls", stats.stalls),
            ("nodes_written", stats.nodes_written),
            ("nodes_moved", stats.nodes_moved),
            ("node_segments_released", stats.node_segments_released),
            ("nodes_kept_for_older_roots", self.own.pins.nodes()),
            ("num_snapshots", self.own.pins.holders()),
            ("node_cache_hits", self.own.cache.hits),
            ("node_cache_misses", self.own.cache.misses),
            ("node_cache_bytes", self.memory().directory_bytes),
            ("buffer_bytes", self.memory().index_bytes),
        ];
        let hundredths = |bytes| hundredths(bytes, stats.kv.user_bytes_written);
        let all = hundredths(self.bytes_programmed()).map(|n| ("write_amplification_hundredths", n));
        let nodes = hundredths(stats.nodes_written * self.page_bytes());
        counters.extend(all.into_iter().chain(nodes.map(|n| ("node_amplification_hundredths", n))));
        counters
    }
}

/// A hundred times `bytes` over `user`, which is nothing without user bytes.
fn hundredths(bytes: u64, user: u64) -> Option<u64> {
    (u128::from(bytes) * 100).checked_div(u128::from(user)).map(|n| n as u64)
}
