// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the cached mapping table has, and what must be read.

use crate::bench::{BLOCK, Bench, GEOMETRY, LEAST, OWNER, Terms};
use saker_flash::page_map::{BlockError, PageMapConfig};
use saker_segment_store::{Geometry, Step};
use saker_sim::{Class, Free};

/// Every block is written once, and all is at rest.
fn filled(terms: Terms) -> Bench {
    let mut bench = Bench::new(terms);
    for lba in 0..terms.config().blocks {
        assert_eq!(bench.write(lba, 1, lba as u32 + 1), Some(()));
    }
    bench.rest();
    bench
}

#[test]
fn a_table_that_has_all_entries_reads_no_translation_page_again() {
    let mut bench = filled(Terms::new(1 << 16));
    assert_eq!(bench.map.stats().translation.translation_reads, 0, "all entries are from writes");
    bench.all();
    let t = bench.map.stats().translation;
    assert_eq!((t.translation_reads, t.evictions), (0, 0));
    assert_eq!(t.hits, bench.terms.config().blocks, "those of the reads");
}

#[test]
fn a_block_without_an_entry_costs_one_translation_page_and_the_next_time_none() {
    let mut bench = filled(Terms::new(LEAST));
    let before = bench.map.stats().translation;
    for _ in 0..3 {
        assert_eq!(bench.read(3, 1), Some(vec![4]));
    }
    let t = bench.map.stats().translation;
    assert_eq!(t.translation_reads - before.translation_reads, 1);
    assert_eq!((t.hits - before.hits, t.misses - before.misses), (2, 1));
}

/// Pages that are needed are told, and nothing else happens: not even in the table.
#[test]
fn what_needs_a_translation_page_leaves_everything_as_it_was() {
    let mut bench = filled(Terms { is_timed: true, ..Terms::new(LEAST) });
    let mut needs = 0;
    for lba in (0..bench.terms.config().blocks).step_by(40) {
        let before = format!("{:?}", bench.map);
        let view = &mut bench.flash.view(OWNER, Class::Foreground);
        let read = bench.map.read(lba, 1, |_, _| Ok(()), view, &mut Free);
        let same = bench.map.write(lba, 1, |_, _| Err(BlockError::Transfer), view, &mut Free);
        if matches!((read, same), (Step::Need(_), Step::Need(_))) {
            needs += 1;
            assert_eq!(format!("{:?}", bench.map), before);
        }
        assert_eq!(bench.read(lba, 1), Some(vec![lba as u32 + 1]));
    }
    assert!(needs > 10, "{needs}");
}

#[test]
fn modelled_memory_is_told_by_structure() {
    let bench = Bench::new(Terms::new(LEAST));
    let blocks = bench.terms.config().blocks;
    let pages = blocks.div_ceil(u64::from(BLOCK) / 4);
    let sectors = u64::from(GEOMETRY.segments) * GEOMETRY.segment_bytes() / u64::from(BLOCK);
    assert_eq!(bench.map.memory(), [LEAST, 20 * pages, sectors / 8]);
    assert_eq!(Bench::new(Terms::new(0)).map.memory(), [4 * Terms::new(0).config().blocks, 0, 0]);
}

/// With blocks of 4 KiB a map on flash leaves about as much room as one in memory.
#[test]
fn a_map_on_flash_costs_little_room() {
    let geometry = Geometry { page_bytes: 16 << 10, oob_bytes: 512, segment_pages: 256, segments: 256 };
    let whole = PageMapConfig::new(OWNER, &geometry, geometry.segments, true, 4096);
    let on_flash = whole.with_map_cache(&geometry, geometry.segments, 1 << 16);
    assert!(on_flash.blocks < whole.blocks && on_flash.blocks * 100 > whole.blocks * 97, "{on_flash:?}");
    assert_eq!(whole.with_map_cache(&geometry, geometry.segments, 0), whole);
}
