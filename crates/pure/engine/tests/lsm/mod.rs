// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The LSM store against a BTreeMap.

mod adapted;
mod ample;
mod auto;
mod brink;
mod crowded;
mod elsewhere;
mod full_segments;
mod inside;
mod limits;
mod memory;
use crate::ordered;
mod packing;
mod packing_counts;
mod packing_crash;
mod packing_liveness;
mod packing_oracle;
mod put_off;
mod refusals;
mod stopped;
mod threads;
mod traffic;
mod within;

use ordered::Ordered;
use ordered::bench::{OWNER, shape};
use ordered::histories::key;
use saker_engine::lsm::Recovery;
use saker_engine::{LsmConfig, LsmStore};
use saker_segment_store::{Geometry, SegmentStore};
use saker_sim::{Chance, Rng};

type Bench = ordered::bench::Bench<LsmStore>;

impl Ordered for LsmStore {
    type Recovery = Recovery;
    type Config = LsmConfig;
    const KEYS: u64 = 90;
    const HISTORIES: u64 = 6;

    /// Small enough for several levels.
    fn small(ring_lasts: bool) -> LsmConfig {
        inside::adapted(LsmConfig {
            write_buffer_size: 40 * 72,
            target_file_pages: 4,
            max_bytes_for_level_base: 8 << 10,
            max_bytes_for_level_multiplier: 2,
            checkpoint_bytes_min: 12 << 10,
            soft_pending_compaction_bytes_limit: 64 << 10,
            hard_pending_compaction_bytes_limit: 128 << 10,
            level0_slowdown_writes_trigger: 8,
            level0_stop_writes_trigger: 12,
            ..Self::defaults(&shape().geometry, ring_lasts)
        })
    }

    fn defaults(geometry: &Geometry, ring_lasts: bool) -> LsmConfig {
        let packing = packing::asked_for();
        let config = LsmConfig::new(OWNER, geometry, geometry.segments, ring_lasts);
        inside::asked_for(LsmConfig { packing, ..config })
    }

    fn ring_lasts(config: &LsmConfig) -> bool {
        config.ring_lasts
    }

    fn checkpoint_bytes_min(config: &LsmConfig) -> u64 {
        config.checkpoint_bytes_min
    }

    fn make<M: SegmentStore>(config: LsmConfig, m: &M) -> Self {
        Self::new(config, m)
    }

    fn recovery<M: SegmentStore>(config: LsmConfig, m: &M) -> Recovery {
        Recovery::new(config, m)
    }

    /// Flushes, compactions, collected segments and manifests.
    fn work(&self) -> [u64; 4] {
        let stats = self.lsm_stats();
        [stats.flushes, stats.compactions, stats.kv.gc_segments, stats.kv.checkpoints]
    }

    fn together(&self) -> usize {
        self.running_compactions()
    }

    /// Compactions begin with four tables in level 0, and go before what enters more.
    fn is_in_shape(&self) {
        assert!(self.level0_files() <= 8, "{:?}", self.tables_by_level());
    }

    fn failing() -> Chance {
        inside::failing()
    }

    fn drives_late() -> bool {
        put_off::is_asked()
    }

    fn computes_elsewhere() -> Option<u32> {
        elsewhere::quanta()
    }

    fn least_pairs() -> usize {
        inside::least_pairs()
    }

    fn pick(rng: &mut Rng) -> Vec<u8> {
        key(rng, Self::KEYS)
    }
}

crate::ordered_suite!(LsmStore);
