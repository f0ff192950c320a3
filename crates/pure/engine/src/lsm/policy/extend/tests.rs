// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::super::super::builder::Builder;
use super::super::super::table::Layout;
use super::*;
use saker_segment_store::PageAddr;

const PAGE_BYTES: u64 = 4096;

fn key(n: u32) -> Key {
    Key::new(&n.to_be_bytes()).unwrap()
}

/// A table of one page with those keys.
fn table(id: u64, first: u32, last: u32) -> Arc<Table> {
    let mut table = Builder::new(id, key(first), 4096, 10, Layout::Slots).table().clone();
    (table.last, table.pages) = (key(last), vec![PageAddr(id)]);
    table.index.push(key(first), 1);
    Arc::new(table)
}

/// Levels 1, 2, ... of tables from one key to another, which are numbered from 10, 20, ... on.
fn levels(spans: &[&[(u32, u32)]]) -> Levels {
    let mut levels = Levels::default();
    for (n, spans) in spans.iter().enumerate() {
        let table =
            |(at, (first, last)): (usize, &(u32, u32))| table(10 * (n as u64 + 1) + at as u64, *first, *last);
        spans.iter().enumerate().map(table).for_each(|table| levels.add(n + 1, table));
    }
    levels
}

/// With so many pages at most in a compaction.
fn limits(pages: u64) -> Limits {
    Limits { full: 1, merged: u64::MAX, more: 0, asked: pages * PAGE_BYTES, page_bytes: PAGE_BYTES }
}

/// The upper and the lower tables, if the first compaction of level 1 begins with that table.
fn picked(levels: &Levels, at: usize, limits: Limits, jobs: &[Job]) -> (Vec<u64>, Vec<u64>) {
    let pick = pick_tables(levels, 1, vec![levels.level(1)[at].clone()], limits.full).unwrap();
    let pick = extended(levels, pick, limits, jobs);
    let ids = |tables: &[Arc<Table>]| tables.iter().map(|t| t.id).collect();
    (ids(&pick.upper), ids(&pick.lower))
}

#[test]
fn what_meets_the_same_tables_goes_along_as_far_as_twice_the_limit_allows() {
    let levels = levels(&[&[(0, 9), (10, 19), (20, 29), (30, 39)], &[(5, 35)]]);
    // Four and one are five pages, and fewer than twice the limit.
    assert_eq!(picked(&levels, 1, limits(3), &[]), (vec![10, 11, 12, 13], vec![20]));
    // All that meet it are too many, and so are the two that lie between its keys with it.
    assert_eq!(picked(&levels, 1, limits(2), &[]), (vec![11, 12], vec![20]));
    assert_eq!(picked(&levels, 1, limits(1), &[]), (vec![11], vec![20]));
    // Room is kept for less.
    assert_eq!(picked(&levels, 1, Limits { merged: 4, ..limits(100) }, &[]), (vec![11, 12], vec![20]));
}

#[test]
fn what_would_meet_more_tables_goes_along_only_between_the_keys() {
    let levels = levels(&[&[(0, 9), (10, 19), (20, 29)], &[(12, 25), (28, 40)]]);
    assert_eq!(picked(&levels, 1, limits(100), &[]), (vec![11], vec![20]));
    let levels = self::levels(&[&[(0, 9), (10, 19), (20, 29)], &[(12, 29), (30, 40)]]);
    assert_eq!(picked(&levels, 1, limits(100), &[]), (vec![11, 12], vec![20]));
}

#[test]
fn up_to_four_tables_are_moved_together() {
    let spans: Vec<_> = (0..8).map(|n| (10 * n, 10 * n + 9)).collect();
    let alone = levels(&[&spans]);
    assert_eq!(picked(&alone, 2, limits(100), &[]).0, [12, 13, 14, 15]);
    assert_eq!(picked(&alone, 6, limits(100), &[]).0, [14, 15, 16, 17]);
    assert_eq!(picked(&alone, 2, limits(3), &[]).0, [12, 13, 14]);
    assert_eq!(picked(&alone, 2, limits(1), &[]).0, [12]);
    // What meets something below stays, and so does what is behind it.
    let above = levels(&[&spans, &[(45, 46), (11, 12)]]);
    assert_eq!(picked(&above, 2, limits(100), &[]), (vec![12, 13], vec![]));
    // A job has one of them.
    let job = Job::rewriting(1, &[alone.level(1)[4].clone()]).resting();
    assert_eq!(picked(&alone, 2, limits(100), &[job]).0, [10, 11, 12, 13]);
}

#[test]
fn what_a_job_writes_is_not_met_by_what_goes_along() {
    let levels = levels(&[&[(0, 9), (10, 19), (20, 29), (30, 39)], &[(5, 35)], &[(0, 4)]]);
    let busy = Job::rewriting(1, &[levels.level(1)[3].clone()]).resting();
    assert_eq!(picked(&levels, 1, limits(100), &[busy]), (vec![11], vec![20]), "it reads one of them");
}

#[test]
fn grandparents_are_of_the_next_level_that_has_some() {
    let found = |levels: &Levels| {
        let pick = pick_tables(levels, 1, vec![levels.level(1)[0].clone()], 1).unwrap();
        grandparents(levels, &pick).iter().map(|t| t.id).collect::<Vec<_>>()
    };
    let lower: &[(u32, u32)] = &[(5, 30)];
    assert_eq!(found(&levels(&[&[(0, 9)], lower, &[(0, 1), (29, 33), (34, 40)]])), [30, 31]);
    assert_eq!(found(&levels(&[&[(0, 9)], lower, &[(34, 40)], &[(3, 6)]])), [40]);
    assert_eq!(found(&levels(&[&[(0, 9)], lower])), Vec::<u64>::new());
}

#[test]
fn a_table_that_would_meet_too_much_is_not_moved() {
    let levels = levels(&[&[(0, 9), (10, 19)], &[], &[(0, 3), (5, 6), (8, 12)]]);
    let would = |at: usize, pages: u64| {
        would_meet_too_much(&levels, (1, &levels.level(1)[at]), PAGE_BYTES, pages * PAGE_BYTES)
    };
    assert_eq!((would(0, 3), would(0, 4), would(1, 1), would(1, 2)), (true, false, true, false));
}
