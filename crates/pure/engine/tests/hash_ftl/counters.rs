// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counters agree with what can be counted from outside.

use crate::hash_ftl::rig::{Bench, variants};
use saker_engine::{Condition, Engine, Inspect};
use saker_flash::FaultPlan;
use saker_sim::Seed;

const SEGMENTS: u32 = 48;

#[test]
fn every_page_has_a_cause() {
    for config in variants(SEGMENTS, true) {
        let mut bench = Bench::new(config, SEGMENTS, FaultPlan::default());
        let mut rng = Seed(3).rng();
        for _ in 0..6000 {
            let key = rng.below(700).to_be_bytes();
            assert_eq!(bench.put(&key, &[1; 150], Condition::Always), Ok(()));
        }
        let (log, ftl, stats) = (bench.store.log_stats(), bench.store.ftl_stats(), bench.store.stats());
        let pages: u64 = log.pages_programmed.iter().sum();
        assert_eq!(pages, bench.flash.stats().pages_programmed);
        let [user, gc, checkpoint, table, map, invalid] = log.bytes_appended;
        assert_eq!((user, gc, checkpoint, table), (ftl.kv_bytes_written, stats.gc_bytes_copied, 0, 0));
        assert_eq!(user, 6000 * u64::from(config.grains(16 + 8 + 150) * config.grain_bytes));
        assert_eq!(map, ftl.table_pages_written.iter().sum::<u64>() * 1024);
        assert_eq!(invalid, ftl.invalid_bytes_written + ftl.invalid_pages_moved * 1024);
        assert!(gc > 0 && map > 0, "{ftl:?}");
        assert_eq!(
            ftl.collected_records + ftl.collected_sections + ftl.collected_mappings,
            stats.gc_segments
        );
        assert!(ftl.collected_records > 0, "{ftl:?}");
        assert_eq!(ftl.lookups, 6000);
        assert!(ftl.probes - ftl.lookups >= ftl.collisions && ftl.collisions > 0);
    }
}
