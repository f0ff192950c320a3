// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Modelled memory by structure against the formulae it is accounted by, while a device is overwritten.

use crate::hash_ftl::rig::{Bench, OWNER, shape, variants};
use saker_engine::hash_ftl::validity::invalid::PAGE_ADDRESS_BYTES;
use saker_engine::hash_ftl::validity::parse::read_page;
use saker_engine::hash_ftl::{HashFtlConfig, Layout, Validity};
use saker_engine::{Condition, Engine, Inspect};
use saker_flash::FaultPlan;
use saker_segment_store::header::HEADER_BYTES;
use saker_segment_store::{Page, PageAddr, PageHeader, SegmentStore, Stream};
use saker_sim::{Class, Seed};
use std::collections::BTreeSet;

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

/// Pages of invalid mappings on the flash that speak of superblocks as they are now, each once: one that was copied can be there twice.
fn pages_of_mappings(bench: &mut Bench) -> u64 {
    let g = bench.flash.shape().geometry;
    let view = bench.flash.view(OWNER, Class::Foreground);
    let mut found = BTreeSet::new();
    for at in (0..u64::from(g.segments * g.segment_pages)).map(PageAddr) {
        let Page::Resident { data, oob } = view.page(at) else { continue };
        let header = PageHeader::decode(oob, at).expect("a sound page");
        if header.is_none_or(|h| h.stream != Stream::Invalid) {
            continue;
        }
        let (of, epoch, _) = read_page(data, &oob[HEADER_BYTES..]).expect("a page of mappings");
        if view.epoch(of) == epoch {
            found.insert((of, data.to_vec()));
        }
    }
    found.len() as u64
}

/// The list has an address for each page of invalid mappings that is needed (section IV-A, footnote 2).
#[test]
fn lists_take_an_address_for_each_page_of_mappings_on_flash() {
    for config in variants(SEGMENTS, true).into_iter().filter(|c| c.validity == Validity::InvalidPages) {
        let config = HashFtlConfig { page_mappings: Some(8), ..config };
        let mut bench = Bench::new(config, SEGMENTS, FaultPlan::default());
        let (mut rng, mut compared) = (Seed(12).rng(), 0);
        for n in 0..4000 {
            let key = rng.below(600).to_be_bytes();
            assert_eq!(bench.put(&key, &[1; 150], Condition::Always), Ok(()));
            if n % 500 == 499 {
                while bench.background() {}
                let (listed, on_flash) =
                    (bench.store.ftl_memory().invalid_list_bytes, pages_of_mappings(&mut bench));
                near("list", listed, on_flash * PAGE_ADDRESS_BYTES);
                compared += on_flash;
            }
        }
        assert!(compared > 100, "{compared} pages of mappings: {config:?}");
    }
}
