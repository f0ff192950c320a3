// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bytes that flushes and compactions read and write.

use super::{Bench, inside};
use crate::ordered::Ordered;
use saker_engine::{Condition, LsmStore};
use saker_flash::FaultPlan;

/// Pairs are replaced until tables are in several levels.
fn written(min_blob_size: u32) -> Bench {
    inside::ask_for(min_blob_size, None);
    let mut bench = Bench::new(LsmStore::small(true), FaultPlan::default());
    for n in 0..4000_u32 {
        let key = format!("k{:05}", n * 7919 % 500).into_bytes();
        bench.put(&key, &[n as u8; 90], Condition::Always).expect("there is room");
    }
    bench
}

/// Each page is counted once, for the level that it is written for; what a compaction merges was written before.
#[test]
fn every_page_of_a_table_is_counted_once() {
    for min_blob_size in [0, 64, u32::MAX] {
        let bench = written(min_blob_size);
        let stats = bench.store.lsm_stats();
        let (traffic, page_bytes) = (stats.traffic, 512);
        let all = traffic.flush_write_bytes() + traffic.compact_write_bytes();
        assert_eq!(all, stats.table_pages_written * page_bytes, "{min_blob_size}: {stats:?}");
        assert_eq!(traffic.levels[0].read, 0, "flushes read memtables: {stats:?}");
        // Each flush writes a table of a page of pairs and one of its description at least, all of it for level 0.
        assert!(traffic.flush_write_bytes() >= stats.flushes * 2 * page_bytes, "{stats:?}");
        assert_eq!(traffic.levels[0].written, traffic.flush_write_bytes(), "{stats:?}");
        assert!(traffic.levels[1].read > traffic.levels[0].written / 2, "level 0 is merged: {stats:?}");
        assert!(traffic.compact_write_bytes() > traffic.flush_write_bytes(), "{stats:?}");
        // What was written and not merged again is there, or on its way.
        let there = all - traffic.compact_read_bytes();
        let tables: usize = bench.store.tables_by_level().iter().sum();
        let pages = u64::from(bench.config.target_file_pages) + 8;
        assert!(there > 0 && there <= (tables as u64 + 2) * pages * page_bytes, "{there} bytes of {tables}");
    }
}

/// Values beside their keys are written with each merge, places alone are not.
#[test]
fn values_in_tables_are_what_compactions_write() {
    let bytes = |size| written(size).store.lsm_stats().traffic.compact_write_bytes();
    let (apart, inside) = (bytes(0), bytes(u32::MAX));
    assert!(inside > apart * 2, "{inside} bytes with values and {apart} without");
}

/// Tables that meet nothing below them go down as they are, to the next level each time.
#[test]
fn tables_that_only_move_are_counted_where_they_go() {
    inside::ask_for(0, None);
    let mut bench = Bench::new(LsmStore::small(true), FaultPlan::default());
    for n in 0..4000_u32 {
        let key = format!("k{:05}", n % 1000).into_bytes();
        bench.put(&key, &[n as u8; 9], Condition::Always).expect("there is room");
    }
    while bench.background() {}
    let traffic = bench.store.lsm_stats().traffic;
    let moved = traffic.levels.map(|level| level.moved);
    assert_eq!(moved[0], 0, "nothing is above level 0: {traffic:?}");
    assert!(moved[1..].iter().sum::<u64>() > 0, "{traffic:?}");
    assert!(moved.iter().all(|bytes| bytes % 512 == 0), "whole pages: {traffic:?}");
}
