//! Modelled memory by structure against the formulae it is accounted by, while a device is overwritten.

use crate::rig::{Bench, shape, variants};
use saker_engine::Condition;
use saker_engine::hash_ftl::{Layout, Validity};
use saker_flash::FaultPlan;
use saker_sim::Seed;

const SEGMENTS: u32 = 48;

/// At most 5 % away from the formula.
fn near(what: &str, modelled: u64, formula: u64) {
    assert!(modelled.abs_diff(formula) * 20 <= formula, "{what}: {modelled} for {formula}");
}

#[test]
fn structures_take_what_the_formulae_say() {
    for config in variants(SEGMENTS, true) {
        let mut bench = Bench::new(config, SEGMENTS, FaultPlan::default());
        let mut rng = Seed(6).rng();
        for _ in 0..4000 {
            let key = rng.below(600).to_be_bytes();
            assert_eq!(bench.put(&key, &[1; 150], Condition::Always), Ok(()));
        }
        let (g, memory) = (shape(SEGMENTS).geometry, bench.store.ftl_memory());
        let pages = u64::from(g.segments * g.segment_pages);
        let device = pages * u64::from(g.page_bytes);
        match config.validity {
            // A bit for each grain (section III-A).
            Validity::GrainBitmap => {
                near("bitmap", memory.bitmap_bytes, device / u64::from(config.grain_bytes) / 8);
                assert_eq!(memory.invalid_buffer_bytes + memory.invalid_count_bytes, 0);
            }
            // A page for each superblock, a byte for each page, four for each page of mappings (section IV-A).
            Validity::InvalidPages => {
                near("buffers", memory.invalid_buffer_bytes, u64::from(g.segments) * u64::from(g.page_bytes));
                near("counts", memory.invalid_count_bytes, pages);
                let listed = bench.store.ftl_stats().invalid_bytes_written / u64::from(g.page_bytes);
                assert!(memory.invalid_list_bytes <= 4 * listed, "{memory:?}, {listed} written");
                assert_eq!(memory.bitmap_bytes, 0);
            }
        }
        // Sections: as many as the cache may hold, and never more than one over.
        let page = u64::from(g.page_bytes);
        assert!(memory.cache_bytes <= config.cache_bytes + page, "{memory:?}");
        if matches!(config.layout, Layout::Fixed) {
            assert!(memory.cache_bytes >= config.cache_bytes - page, "{memory:?}");
        }
        // Where each section is: an entry for each.
        let slots = u64::from(config.section_slots(g.page_bytes));
        let sections = match config.levels(g.page_bytes) {
            // As many as the pairs have made necessary.
            Some(levels) => levels.at(bench.store.ftl_stats().doublings as u32).sections().into(),
            None => config.slots.div_ceil(slots),
        };
        assert!(bench.store.stats().pairs <= sections * slots);
        assert_eq!(memory.directory_bytes % sections, 0, "{memory:?}");
        near("directory", memory.directory_bytes, sections * 4);
        let held = u64::from(bench.store.log_stats().segments_erased > 0);
        assert!(held == 1 && memory.segment_bytes <= u64::from(g.segments) * 16, "{memory:?}");
    }
}
