// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::super::builder::Builder;
use super::*;
use saker_segment_store::PageAddr;

/// Tables of so many blocks, side by side.
fn tables(blocks: &[usize]) -> Vec<Arc<Table>> {
    let key = |n: usize| Key::new(&(n as u32).to_be_bytes()).unwrap();
    let table = |(n, blocks): (usize, &usize)| {
        let mut table = Builder::new(n as u64, key(10 * n), 4096, 10, Layout::Slots).table().clone();
        table.last = key(10 * n + 9);
        (0..*blocks).for_each(|b| table.index.push(key(10 * n + b), 1));
        Arc::new(table)
    };
    blocks.iter().enumerate().map(table).collect()
}

#[test]
fn what_is_left_over_takes_a_small_neighbour_along() {
    let few = tables(&[2, 8, 1, 8, 5]);
    for (met, more, expected) in [
        // Nothing is met: small ones go with the one before, else with the one behind.
        (1..1, 1, 0..1),
        (2..2, 1, 2..3),
        (3..3, 7, 2..3),
        (4..4, 3, 4..5),
        // The one beside is full, or much larger, or there is none.
        (4..4, 1, 4..4),
        (5..5, 1, 5..5),
        (0..0, 7, 0..0),
        // A full table, or several, goes as it is.
        (2..2, 8, 2..2),
        (2..2, 9, 2..2),
        // With a full one a block is left over, which goes with a small one; two of them leave nothing.
        (1..2, 1, 0..2),
        (3..4, 2, 2..4),
        (1..2, 8, 1..2),
    ] {
        assert_eq!(widened(&few, met.clone(), more, 8), expected, "{met:?} {more}");
    }
    assert_eq!(widened(&[], 0..0, 1, 8), 0..0);
}

#[test]
fn tables_that_make_less_than_half_as_many_are_small() {
    let are_small = |blocks: &[usize]| are_small(&tables(blocks), 8);
    assert!(are_small(&[1, 1, 1]) && are_small(&[1, 8, 1, 1, 1]));
    assert!(!are_small(&[1]) && !are_small(&[1, 1]) && !are_small(&[8, 1, 8, 1]));
}

#[test]
fn a_table_longer_than_a_compaction_goes_down_alone_once_level_1_is_empty() {
    let mut long = Table::clone(&tables(&[1])[0]);
    long.pages = (0..9).map(PageAddr).collect();
    let (limits, cursors) =
        (Limits { full: 8, merged: 4, more: 0, asked: u64::MAX, page_bytes: 4096 }, [None; LEVELS]);
    let mut levels = Levels::default();
    levels.add(0, Arc::new(long));
    let alone = pick_level(&levels, &cursors, 0, limits).expect("nothing would ever be merged");
    assert_eq!((alone.level, alone.upper.len(), alone.lower.len()), (0, 1, 0));
    levels.add(1, tables(&[1])[0].clone());
    let first = pick_level(&levels, &cursors, 0, limits).expect("level 1 has something");
    assert_eq!((first.level, first.upper.len()), (1, 1));
}
