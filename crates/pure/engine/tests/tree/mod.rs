// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The tree store against a BTreeMap.

use crate::ordered;
mod crowded;
mod snapshots;

use ordered::Ordered;
use ordered::bench::{OWNER, scale, shape};
use ordered::histories::{history, key};
use saker_engine::tree::Recovery;
use saker_engine::{TreeConfig, TreeStore};
use saker_flash::FaultPlan;
use saker_segment_store::{Geometry, SegmentStore};
use saker_sim::{Chance, Rng};

type Bench = ordered::bench::Bench<TreeStore>;

impl Ordered for TreeStore {
    type Recovery = Recovery;
    type Config = TreeConfig;
    const KEYS: u64 = 400;
    const HISTORIES: u64 = 4;

    /// A small buffer, so that merges are frequent, and a cache that loses what operations need.
    fn small(ring_lasts: bool) -> TreeConfig {
        let g = shape().geometry;
        TreeConfig {
            write_buffer_size: 40 * 72,
            checkpoint_bytes_min: 12 << 10,
            move_nodes_up_to_free: g.segments,
            node_cache_bytes: 6 * 512,
            ..Self::defaults(&g, ring_lasts)
        }
    }

    fn defaults(geometry: &Geometry, ring_lasts: bool) -> TreeConfig {
        TreeConfig::new(OWNER, geometry, geometry.segments, ring_lasts)
    }

    fn ring_lasts(config: &TreeConfig) -> bool {
        config.ring_lasts
    }

    fn checkpoint_bytes_min(config: &TreeConfig) -> u64 {
        config.checkpoint_bytes_min
    }

    fn make<M: SegmentStore>(config: TreeConfig, m: &M) -> Self {
        Self::new(config, m)
    }

    fn recovery<M: SegmentStore>(config: TreeConfig, m: &M) -> Recovery {
        Recovery::new(config, m)
    }

    /// Merges, nodes moved, collected segments and manifests.
    fn work(&self) -> [u64; 4] {
        let stats = self.tree_stats();
        [stats.merges, stats.nodes_moved, stats.kv.gc_segments, stats.kv.checkpoints]
    }

    /// Most of the time one of a few: the nodes of the others stay where they are, in segments that empty.
    fn pick(rng: &mut Rng) -> Vec<u8> {
        let space = if rng.below(8) == 0 { Self::KEYS } else { 60 };
        key(rng, space)
    }

    /// Time enough for what is less urgent than merges.
    fn idle(step: u64) -> u32 {
        if step % 50 == 49 { 40 } else { 1 }
    }
}

crate::ordered_suite!(TreeStore);

#[test]
fn without_a_cache() {
    for seed in 300..300 + scale(2) {
        let config = TreeConfig { node_cache_bytes: 0, ..TreeStore::small(seed % 2 == 0) };
        history::<TreeStore>(seed, config, FaultPlan::default());
    }
}

/// A repair that a snapshot held up (231), roots of one moment (309, 324), and a copy that a snapshot saw only in the buffer
/// (316): what longer runs found.
#[test]
fn histories_that_failed_once() {
    for seed in [231, 309, 316, 324] {
        let plan = FaultPlan { seed, program: Chance::one_in(60), ..FaultPlan::default() };
        history::<TreeStore>(seed, TreeStore::small(seed % 2 == 0), plan);
    }
}
