//! Leveled compaction (O'Neil et al., Acta Informatica 1996; scores and triggers as RocksDB's leveled style has them):
//! what to merge next. How it is merged is [`super::job`]'s business.

use super::job::Job;
use super::levels::{LEVELS, Levels};
use super::options::LsmConfig;
use super::table::Table;
use crate::ordered::block::block_bytes;
use crate::ordered::key::Key;
use std::ops::Range;
use std::sync::Arc;

/// What to merge: tables of a level, the newest first, with those of the next that share keys.
#[derive(Clone, Debug)]
pub struct Pick {
    /// The upper level.
    pub level: usize,
    /// Tables of it.
    pub upper: Vec<Arc<Table>>,
    /// Tables of the next level.
    pub lower: Vec<Arc<Table>>,
}

impl Pick {
    /// From the first key of all its tables to the last.
    pub fn span(&self) -> Option<(Key, Key)> {
        let tables = || self.upper.iter().chain(&self.lower);
        Some((tables().map(|t| t.first).min()?, tables().map(|t| t.last).max()?))
    }

    /// Whether it can go on beside a job: they read no table both, and write no keys into one level both.
    fn is_apart(&self, job: &Job) -> bool {
        let shared = self.upper.iter().chain(&self.lower).any(|t| job.reads(t.id));
        let meets = self.span().is_some_and(|(first, last)| job.covers(&first, &last));
        !(shared || meets && job.to() == self.level + 1)
    }
}

/// Where the last compaction of each level ended: the next one goes on behind it.
pub type Cursors = [Option<Key>; LEVELS];

/// Bytes a level should have at most.
pub fn level_bytes_max(config: &LsmConfig, level: usize) -> u64 {
    let growth = config.max_bytes_for_level_multiplier.saturating_pow(level as u32 - 1);
    config.max_bytes_for_level_base.saturating_mul(growth)
}

/// How far a level is beyond what it should be, in hundredths, without the tables that jobs take away.
fn score(config: &LsmConfig, levels: &Levels, level: usize, page_bytes: u64, jobs: &[Job]) -> u64 {
    let goes = |t: &Arc<Table>| jobs.iter().any(|job| job.to() == level + 1 && job.reads(t.id));
    let stay = levels.level(level).iter().filter(|t| !goes(t));
    if level == 0 {
        let trigger = u64::from(config.level0_file_num_compaction_trigger.max(1));
        return stay.count() as u64 * 100 / trigger;
    }
    stay.map(|t| t.pages_total()).sum::<u64>() * page_bytes * 100 / level_bytes_max(config, level)
}

/// The most urgent compaction that is due and can go on beside the jobs.
pub fn pick(
    config: &LsmConfig,
    levels: &Levels,
    cursors: &Cursors,
    page_bytes: u64,
    jobs: &[Job],
) -> Option<Pick> {
    let scores = (0..LEVELS - 1).map(|level| (score(config, levels, level, page_bytes, jobs), level));
    let mut due: Vec<_> = scores.filter(|(score, _)| *score >= 100).collect();
    due.sort_by_key(|(score, level)| (u64::MAX - score, *level));
    let full = blocks_of_full(config, page_bytes);
    due.iter().find_map(|(_, level)| pick_beside(levels, cursors, (*level, full), jobs))
}

/// The next compaction of a level that can go on beside the jobs.
fn pick_beside(
    levels: &Levels,
    cursors: &Cursors,
    (level, full): (usize, usize),
    jobs: &[Job],
) -> Option<Pick> {
    let apart = |pick: &Pick| jobs.iter().all(|job| pick.is_apart(job));
    if level == 0 || jobs.is_empty() {
        return pick_level(levels, cursors, level, full).filter(apart);
    }
    let tables = levels.level(level);
    let behind = tables.partition_point(|t| cursors[level].is_some_and(|last| t.first <= last));
    let turned = tables[behind..].iter().chain(&tables[..behind]);
    turned.filter_map(|t| pick_tables(levels, level, vec![t.clone()], full)).find(apart)
}

/// The next step towards one level only, so that every entry meets what it replaces.
pub fn pick_all(config: &LsmConfig, levels: &Levels, cursors: &Cursors, page_bytes: u64) -> Option<Pick> {
    let level = (0..levels.deepest().max(1)).find(|n| !levels.level(*n).is_empty())?;
    pick_level(levels, cursors, level, blocks_of_full(config, page_bytes))
}

fn pick_level(levels: &Levels, cursors: &Cursors, level: usize, full: usize) -> Option<Pick> {
    let upper = if level == 0 { levels.level(0).to_vec() } else { vec![next_table(levels, cursors, level)?] };
    pick_tables(levels, level, upper, full)
}

fn pick_tables(levels: &Levels, level: usize, upper: Vec<Arc<Table>>, full: usize) -> Option<Pick> {
    let first = upper.iter().map(|t| t.first).min()?;
    let last = upper.iter().map(|t| t.last).max()?;
    let below = levels.level(level + 1);
    let start = below.partition_point(|t| t.last < first);
    let end = start + below[start..].partition_point(|t| t.first <= last);
    let lower = below[widened(below, start..end, blocks(&upper), full)].to_vec();
    Some(Pick { level, upper, lower })
}

/// Blocks of a table that is full.
pub(super) fn blocks_of_full(config: &LsmConfig, page_bytes: u64) -> usize {
    let in_page = page_bytes / u64::from(block_bytes(page_bytes as u32));
    config.target_file_pages as usize * in_page as usize
}

fn blocks(tables: &[Arc<Table>]) -> usize {
    tables.iter().map(|t| t.index.len()).sum()
}

/// How much larger a table is at most that is written anew with what is left over beside it.
const NEIGHBOUR_TIMES: usize = 4;

/// The tables that `more` blocks are merged with, and the one before or behind them if what is left over of full tables fits it. A
/// table has the last of its pages, and of its description's, half empty: flushes of a few keys side by side, as of deletes in order
/// where space is short, would each leave such a one.
fn widened(tables: &[Arc<Table>], met: Range<usize>, more: usize, full: usize) -> Range<usize> {
    let all = more + blocks(&tables[met.clone()]);
    // What meets nothing is moved as it is, unless it is less than a table.
    let left = if met.is_empty() && all >= full { 0 } else { all % full };
    let fits = |n: &usize| {
        let has = tables.get(*n).map(|t| t.index.len());
        has.is_some_and(|has| has <= NEIGHBOUR_TIMES * left && has + left <= full)
    };
    match met.start.checked_sub(1).filter(fits) {
        Some(before) => before..met.end,
        None if fits(&met.end) => met.start..met.end + 1,
        None => met,
    }
}

/// Whether tables are better written anew than just moved: they would be less than half as many.
pub(super) fn are_small(tables: &[Arc<Table>], full: usize) -> bool {
    tables.len() > 2 * blocks(tables).div_ceil(full)
}

fn next_table(levels: &Levels, cursors: &Cursors, level: usize) -> Option<Arc<Table>> {
    let tables = levels.level(level);
    let behind = tables.iter().find(|t| cursors[level].is_none_or(|last| t.first > last));
    behind.or(tables.first()).cloned()
}

/// Bytes that compactions owe: what levels have too much, with what that meets in the next.
pub fn pending_bytes(config: &LsmConfig, levels: &Levels, page_bytes: u64) -> u64 {
    let bytes = |level: usize| levels.pages(level) * page_bytes;
    let is_due = levels.level(0).len() as u64 >= u64::from(config.level0_file_num_compaction_trigger);
    let mut owed = if is_due { bytes(0) + bytes(1) } else { 0 };
    for level in 1..LEVELS - 1 {
        let excess = bytes(level).saturating_sub(level_bytes_max(config, level));
        owed += excess
            * (1 + (bytes(level + 1) / bytes(level).max(1)).min(config.max_bytes_for_level_multiplier));
    }
    owed
}

#[cfg(test)]
mod tests {
    use super::super::table::Builder;
    use super::*;

    /// Tables of so many blocks, side by side.
    fn tables(blocks: &[usize]) -> Vec<Arc<Table>> {
        let key = |n: usize| Key::new(&(n as u32).to_be_bytes()).unwrap();
        let table = |(n, blocks): (usize, &usize)| {
            let mut table = Builder::new(n as u64, key(10 * n), 4096, 10).table().clone();
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
}
