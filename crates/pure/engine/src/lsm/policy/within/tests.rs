// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::super::super::builder::Builder;
use super::super::super::table::Layout;
use super::super::{LEVELS, pick, pick_beside};
use super::*;
use crate::ordered::key::Key;
use saker_segment_store::{Geometry, PageAddr};

const GEOMETRY: Geometry = Geometry { page_bytes: 512, oob_bytes: 64, segment_pages: 64, segments: 64 };
const PAGE_BYTES: u64 = 512;
/// And no record is longer than one.
const PAGES: (u64, u32) = (PAGE_BYTES, PAGE_BYTES as u32);

fn key(n: u32) -> Key {
    Key::new(&n.to_be_bytes()).unwrap()
}

fn table(id: u64, first: u32, last: u32, pages: u64) -> Table {
    let mut table = Builder::new(id, key(first), 512, 10, Layout::Slots).table().clone();
    (table.last, table.pages) = (key(last), (0..pages).map(|n| PageAddr(100 * id + n)).collect());
    table.index.push(key(first), 1);
    table
}

/// Level 0 of tables of so many pages, the youngest first and numbered down from 99, above a level 1 of one table.
fn levels(pages: &[u64]) -> Levels {
    let mut levels = Levels::default();
    levels.add(1, Arc::new(table(1, 0, 99, 1)));
    pages
        .iter()
        .zip((0..100).rev())
        .for_each(|(pages, id)| levels.add(0, Arc::new(table(id, 0, 99, *pages))));
    levels
}

fn config() -> LsmConfig {
    LsmConfig { level0_file_num_compaction_trigger: 2, ..LsmConfig::new(1, &GEOMETRY, 64, true) }
}

/// The tables that are merged within level 0 beside a job that merges the oldest of them down.
fn within(config: &LsmConfig, levels: &Levels, oldest: usize) -> Vec<u64> {
    let young = levels.level(0);
    let (upper, lower) = (young[young.len() - oldest..].to_vec(), levels.level(1)[..1].to_vec());
    let down = Pick { level: 0, upper, lower, cuts: Vec::new(), is_within: false };
    let jobs = [Job::compaction(&down).resting()];
    let picked = pick(config, levels, &[None; LEVELS], PAGES, 0, &jobs);
    picked.map_or(Vec::new(), |pick| {
        assert!(pick.is_within && pick.to() == 0 && pick.lower.is_empty());
        pick.upper.iter().map(|t| t.id).collect()
    })
}

#[test]
fn the_youngest_files_are_merged_while_the_oldest_go_down() {
    assert_eq!(within(&config(), &levels(&[2; 6]), 2), [99, 98, 97, 96]);
    assert_eq!(within(&config(), &levels(&[2; 9]), 2), [99, 98, 97, 96, 95, 94, 93]);
    // Three are too few.
    assert!(within(&config(), &levels(&[2; 6]), 3).is_empty());
    // Four are enough, but the level has not two more than make it due.
    let later = LsmConfig { level0_file_num_compaction_trigger: 4, ..config() };
    assert!(within(&later, &levels(&[2; 5]), 1).is_empty());
    assert_eq!(within(&later, &levels(&[2; 6]), 1).len(), 5);
    // Without a job level 0 goes down.
    let down = pick(&config(), &levels(&[2; 9]), &[None; LEVELS], PAGES, 0, &[]).expect("it is due");
    assert!(!down.is_within && down.upper.len() == 9);
}

#[test]
fn it_ends_where_a_file_costs_more_than_it_saves_or_all_is_too_much() {
    assert_eq!(within(&config(), &levels(&[2, 2, 2, 2, 100, 2, 2]), 1), [99, 98, 97, 96]);
    assert!(within(&config(), &levels(&[2, 2, 2, 100, 2, 2, 2]), 1).is_empty());
    let bounded = |pages| LsmConfig { max_compaction_bytes: pages * PAGE_BYTES, ..config() };
    assert_eq!(within(&bounded(10), &levels(&[2; 9]), 1), [99, 98, 97, 96, 95]);
    assert!(within(&bounded(7), &levels(&[2; 9]), 1).is_empty());
}

/// What one merge wrote is one file, also where others count each table.
#[test]
fn what_was_merged_is_one_file() {
    let mut levels = levels(&[2; 5]);
    for (n, id) in (200..204).enumerate() {
        let part = Table { joins: n > 0, ..table(id, 10 * n as u32, 10 * n as u32 + 9, 4) };
        levels.add(0, Arc::new(part));
    }
    assert_eq!(super::super::runs(&config(), levels.level(0).iter()), 6);
    assert!(within(&config(), &levels, 1).starts_with(&[203, 202, 201, 200, 99]));
}

/// While level 0 waits for level 1 nothing more begins there, but a level below goes on.
#[test]
fn level_1_waits_for_level_0() {
    let due =
        LsmConfig { level0_file_num_compaction_trigger: 1, max_bytes_for_level_base: PAGE_BYTES, ..config() };
    let mut levels = levels(&[2; 4]);
    levels.add(1, Arc::new(table(2, 200, 299, 1)));
    assert!(within(&due, &levels, 1).is_empty());
    // Without anything in level 0 that waits, level 1 is next.
    let (upper, lower) = (levels.level(0).to_vec(), vec![levels.level(1)[0].clone()]);
    let all = Job::compaction(&Pick { level: 0, upper, lower, cuts: Vec::new(), is_within: false }).resting();
    let next = pick(&due, &levels, &[None; LEVELS], PAGES, 0, &[all]).expect("level 1 is due");
    assert_eq!((next.level, next.upper[0].id), (1, 2));
}

/// What is older than the files that are merged within the level waits for them.
#[test]
fn of_level_0_one_goes_on_at_a_time() {
    let levels = levels(&[2; 6]);
    let young = Pick {
        level: 0,
        upper: levels.level(0)[..4].to_vec(),
        lower: Vec::new(),
        cuts: Vec::new(),
        is_within: true,
    };
    let bounded = Limits { full: 1, merged: 5, more: 0, asked: u64::MAX, page_bytes: PAGE_BYTES };
    let beside =
        |jobs: &[Job]| pick_beside(&levels, &[None; LEVELS], (0, bounded), jobs).map(|pick| pick.upper.len());
    assert_eq!(beside(&[]), Some(2));
    assert_eq!(beside(&[Job::within_level0(&young, 200..300).resting()]), None);
}
