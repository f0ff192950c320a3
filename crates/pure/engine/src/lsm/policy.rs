//! Leveled compaction (O'Neil et al., Acta Informatica 1996; scores and triggers as RocksDB's leveled style has them):
//! what to merge next. How it is merged is [`super::job`]'s business.

use super::job::Job;
use super::levels::{LEVELS, Levels};
use super::options::LsmConfig;
use super::table::Table;
use crate::ordered::key::Key;
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
    due.iter().find_map(|(_, level)| pick_beside(levels, cursors, *level, jobs))
}

/// The next compaction of a level that can go on beside the jobs.
fn pick_beside(levels: &Levels, cursors: &Cursors, level: usize, jobs: &[Job]) -> Option<Pick> {
    let apart = |pick: &Pick| jobs.iter().all(|job| pick.is_apart(job));
    if level == 0 || jobs.is_empty() {
        return pick_level(levels, cursors, level).filter(apart);
    }
    let tables = levels.level(level);
    let behind = tables.partition_point(|t| cursors[level].is_some_and(|last| t.first <= last));
    let turned = tables[behind..].iter().chain(&tables[..behind]);
    turned.filter_map(|t| pick_tables(levels, level, vec![t.clone()])).find(apart)
}

/// The next step towards one level only, so that every entry meets what it replaces.
pub fn pick_all(levels: &Levels, cursors: &Cursors) -> Option<Pick> {
    let level = (0..levels.deepest().max(1)).find(|n| !levels.level(*n).is_empty())?;
    pick_level(levels, cursors, level)
}

fn pick_level(levels: &Levels, cursors: &Cursors, level: usize) -> Option<Pick> {
    let upper = if level == 0 { levels.level(0).to_vec() } else { vec![next_table(levels, cursors, level)?] };
    pick_tables(levels, level, upper)
}

fn pick_tables(levels: &Levels, level: usize, upper: Vec<Arc<Table>>) -> Option<Pick> {
    let first = upper.iter().map(|t| t.first).min()?;
    let last = upper.iter().map(|t| t.last).max()?;
    let lower = levels.overlapping(level + 1, &first, &last);
    Some(Pick { level, upper, lower })
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
