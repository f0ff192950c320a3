//! Leveled compaction (O'Neil et al., Acta Informatica 1996; scores and triggers as RocksDB's leveled style has them):
//! what to merge next. How it is merged is [`super::job`]'s business.

use super::key::Key;
use super::levels::{LEVELS, Levels};
use super::options::LsmConfig;
use super::table::Table;
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

/// Where the last compaction of each level ended: the next one goes on behind it.
pub type Cursors = [Option<Key>; LEVELS];

/// Bytes a level should have at most.
pub fn level_bytes_max(config: &LsmConfig, level: usize) -> u64 {
    let growth = config.max_bytes_for_level_multiplier.saturating_pow(level as u32 - 1);
    config.max_bytes_for_level_base.saturating_mul(growth)
}

/// How far a level is beyond what it should be, in hundredths.
fn score(config: &LsmConfig, levels: &Levels, level: usize, page_bytes: u64) -> u64 {
    if level == 0 {
        let trigger = u64::from(config.level0_file_num_compaction_trigger.max(1));
        return levels.level(0).len() as u64 * 100 / trigger;
    }
    levels.pages(level) * page_bytes * 100 / level_bytes_max(config, level)
}

/// The most urgent compaction, if one is due.
pub fn pick(config: &LsmConfig, levels: &Levels, cursors: &Cursors, page_bytes: u64) -> Option<Pick> {
    let scores = (0..LEVELS - 1).map(|level| (score(config, levels, level, page_bytes), level));
    let (score, level) = scores.max_by_key(|(score, level)| (*score, LEVELS - level))?;
    (score >= 100).then(|| pick_level(levels, cursors, level)).flatten()
}

/// The next step towards one level only, so that every entry meets what it replaces.
pub fn pick_all(levels: &Levels, cursors: &Cursors) -> Option<Pick> {
    let level = (0..levels.deepest().max(1)).find(|n| !levels.level(*n).is_empty())?;
    pick_level(levels, cursors, level)
}

fn pick_level(levels: &Levels, cursors: &Cursors, level: usize) -> Option<Pick> {
    let upper = if level == 0 { levels.level(0).to_vec() } else { vec![next_table(levels, cursors, level)?] };
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
