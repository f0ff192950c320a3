// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Leveled compaction (O'Neil et al., Acta Informatica 1996; scores and triggers as RocksDB's leveled style has them):
//! what to merge next. How it is merged is [`super::job`]'s business.

mod extend;
mod within;

pub use extend::{grandparents, would_meet_too_much};

use super::job::Job;
use super::levels::{LEVELS, Levels};
use super::options::LsmConfig;
use super::table::{Layout, Table};
use super::write_controller::needed_bytes;
use crate::ordered::block::blocks_per_page;
use crate::ordered::key::Key;
use extend::extended;
use saker_engine_api::kv::KEY_BYTES_MAX;
use saker_value_log::record::record_bytes;
use std::ops::Range;
use std::sync::Arc;
use within::within_level0;

/// What to merge: tables of a level, the newest first, with those of the next that share keys.
#[derive(Clone, Debug)]
pub struct Pick {
    /// The upper level.
    pub level: usize,
    /// Tables of it.
    pub upper: Vec<Arc<Table>>,
    /// Tables of the next level.
    pub lower: Vec<Arc<Table>>,
    /// It merges too much at once: the upper table is written anew in its level first, as tables that begin with these keys.
    pub cuts: Vec<Key>,
    /// It merges files of level 0 into one that stays there.
    pub is_within: bool,
}

impl Pick {
    /// From the first key of all its tables to the last.
    pub fn span(&self) -> Option<(Key, Key)> {
        let tables = || self.upper.iter().chain(&self.lower);
        Some((tables().map(|t| t.first).min()?, tables().map(|t| t.last).max()?))
    }

    /// Pages of all its tables.
    pub fn pages(&self) -> u64 {
        pages(&self.upper) + pages(&self.lower)
    }

    /// The level that its tables go to.
    pub fn to(&self) -> usize {
        if self.cuts.is_empty() && !self.is_within { self.level + 1 } else { self.level }
    }

    /// Whether it can go on beside a job: they read no table both, and write no keys into one level both.
    fn is_apart(&self, job: &Job) -> bool {
        let shared = self.upper.iter().chain(&self.lower).any(|t| job.reads(t.id));
        let meets = self.span().is_some_and(|(first, last)| job.covers(&first, &last));
        !(shared || meets && job.to() == self.to())
    }
}

/// Where the last compaction of each level ended: the next one goes on behind it.
pub type Cursors = [Option<Key>; LEVELS];

/// Bytes a level should have at most.
pub fn level_bytes_max(config: &LsmConfig, level: usize) -> u64 {
    let growth = config.max_bytes_for_level_multiplier.saturating_pow(level as u32 - 1);
    config.level_base_bytes().saturating_mul(growth)
}

/// How far a level is beyond what it should be, in hundredths, without the tables that jobs take away.
fn score(config: &LsmConfig, levels: &Levels, level: usize, page_bytes: u64, jobs: &[Job]) -> u64 {
    let goes =
        |t: &Arc<Table>| jobs.iter().any(|job| (job.to() == level + 1 || level == 0) && job.reads(t.id));
    let stay = levels.level(level).iter().filter(|t| !goes(t));
    if level == 0 {
        let trigger = u64::from(config.level0_file_num_compaction_trigger.max(1));
        return runs(config, stay) * 100 / trigger;
    }
    stay.map(|t| t.pages_total()).sum::<u64>() * page_bytes * 100 / level_bytes_max(config, level)
}

/// What level 0 has of these tables, the youngest first, as triggers count it: files, in RocksDB's words. A memtable with values makes
/// several tables that follow each other, which are one.
pub fn runs<'t>(config: &LsmConfig, tables: impl Iterator<Item = &'t Arc<Table>>) -> u64 {
    let mut young: Option<&Arc<Table>> = None;
    let begins = |t: &&'t Arc<Table>| young.replace(t).is_none_or(|young| !is_one_file(config, young, t));
    tables.filter(begins).count() as u64
}

/// Whether a table of level 0 and the next older one are of one file: one flush of values, or one merge within the level, wrote both.
fn is_one_file(config: &LsmConfig, young: &Table, old: &Table) -> bool {
    (config.min_blob_size > 0 || young.joins) && old.last < young.first
}

/// Bytes of tables that a compaction merges at most, so that not all need room twice; `None`: any, since tables without values are a
/// small part of all. What is usual fits: level 0 when it is due, with all of level 1. So does the longest pair that there is, of so many
/// bytes, with one that it replaces: one that is longer than memtables would never be merged if it did not.
pub fn merged_bytes_max(config: &LsmConfig, (page_bytes, longest): (u64, u32)) -> Option<u64> {
    let longest = longest.min(record_bytes(KEY_BYTES_MAX as u32, config.min_blob_size.min(longest)));
    let memtables = (4 * config.write_buffer_size).max(2 * u64::from(longest));
    let tables = 4 * u64::from(config.target_file_pages) * page_bytes;
    let usual = memtables.saturating_add(config.max_bytes_for_level_base).saturating_add(tables);
    (config.min_blob_size > 0).then_some(usual)
}

/// How much there may be in a compaction.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Blocks of a table that is full.
    full: usize,
    /// Pages for which room is kept.
    merged: u64,
    /// Pages for which there is room now, beyond that, for merges of level 0.
    more: u64,
    /// Bytes that a compaction should have at most.
    asked: u64,
    page_bytes: u64,
}

impl Limits {
    fn of(config: &LsmConfig, (page_bytes, longest): (u64, u32)) -> Self {
        let merged =
            merged_bytes_max(config, (page_bytes, longest)).map_or(u64::MAX, |bytes| bytes / page_bytes);
        let (full, asked) = (blocks_of_full(config, page_bytes), config.compaction_bytes_max(page_bytes));
        Self { full, merged, more: 0, asked, page_bytes }
    }

    fn bytes(&self, pages: u64) -> u64 {
        pages.saturating_mul(self.page_bytes)
    }
}

/// The most urgent compaction that is due and can go on beside the jobs: `LevelCompactionBuilder::SetupInitialFiles` (facebook/rocksdb
/// v11.8.1, `db/compaction/compaction_picker_level.cc` lines 207 to 263); `longest`: bytes of the longest record; `more`: pages that a merge of level
/// 0 may have beyond those for which room is kept.
pub fn pick(
    config: &LsmConfig,
    levels: &Levels,
    cursors: &Cursors,
    (page_bytes, longest): (u64, u32),
    more: u64,
    jobs: &[Job],
) -> Option<Pick> {
    let scores = (0..LEVELS - 1).map(|level| (score(config, levels, level, page_bytes, jobs), level));
    let mut due: Vec<_> = scores.filter(|(score, _)| *score >= 100).collect();
    due.sort_by_key(|(score, level)| (u64::MAX - score, *level));
    let limits = Limits { more, ..Limits::of(config, (page_bytes, longest)) };
    let mut level0_waits = false;
    for (_, level) in due {
        // Level 0 comes next: what level 1 is merged with would only be busy for longer (lines 214 to 220).
        if level == 1 && level0_waits {
            continue;
        }
        if let Some(pick) = pick_beside(levels, cursors, (level, limits), jobs) {
            return Some(extended(levels, pick, limits, jobs));
        }
        if level == 0 {
            level0_waits = pick_level(levels, cursors, 0, limits).is_some_and(|pick| pick.level == 0);
            let within = within_level0(config, levels, limits, jobs);
            if within.is_some() {
                return within;
            }
        }
    }
    None
}

/// The next compaction of a level that can go on beside the jobs.
fn pick_beside(
    levels: &Levels,
    cursors: &Cursors,
    (level, limits): (usize, Limits),
    jobs: &[Job],
) -> Option<Pick> {
    // Of level 0 one goes on at a time (lines 816 to 823).
    let is_one = |pick: &Pick| pick.level > 0 || !jobs.iter().any(Job::is_of_level0);
    let apart = |pick: &Pick| is_one(pick) && jobs.iter().all(|job| pick.is_apart(job));
    if level == 0 || jobs.is_empty() {
        return pick_level(levels, cursors, level, limits).filter(apart);
    }
    let tables = levels.level(level);
    let behind = tables.partition_point(|t| cursors[level].is_some_and(|last| t.first <= last));
    let turned = tables[behind..].iter().chain(&tables[..behind]);
    turned.filter_map(|t| pick_table(levels, level, t, limits)).find(apart)
}

/// The next step towards one level only, so that every entry meets what it replaces; `pages`: their bytes, and those of the longest record.
pub fn pick_all(config: &LsmConfig, levels: &Levels, cursors: &Cursors, pages: (u64, u32)) -> Option<Pick> {
    let level = levels.above_deepest()?;
    pick_level(levels, cursors, level, Limits::of(config, pages))
}

fn pick_level(levels: &Levels, cursors: &Cursors, level: usize, limits: Limits) -> Option<Pick> {
    if level > 0 {
        return pick_table(levels, level, &next_table(levels, cursors, level)?, limits);
    }
    // The oldest of them that are not too much; if even one is, level 1 must become less first. If that has nothing it goes alone: what
    // only a snapshot sees may be longer than all that is counted.
    let young = levels.level(0);
    let spans = Span::of_oldest(young);
    let fits = |span: &Span| {
        let lower = below(levels, 0, span, limits.full);
        span.pages + pages(&levels.level(1)[lower]) <= limits.merged.saturating_add(limits.more)
    };
    match spans.iter().position(fits) {
        Some(n) => pick_tables(levels, 0, young[n..].to_vec(), limits.full),
        None => {
            let oldest = || pick_tables(levels, 0, vec![young.last()?.clone()], limits.full);
            pick_level(levels, cursors, 1, limits).or_else(oldest)
        }
    }
}

/// The compaction of a table that is not of level 0.
fn pick_table(levels: &Levels, level: usize, table: &Arc<Table>, limits: Limits) -> Option<Pick> {
    let pick = pick_tables(levels, level, vec![table.clone()], limits.full)?;
    if pages(&pick.upper) + pages(&pick.lower) <= limits.merged {
        return Some(pick);
    }
    let mut cuts = cuts(&pick.lower, limits.merged / 2);
    // Each makes one table more of it, so this ends.
    cuts.retain(|cut| table.first < *cut && *cut <= table.last);
    Some(if cuts.is_empty() { pick } else { Pick { lower: Vec::new(), cuts, ..pick } })
}

/// Where to cut a table that meets those, so that each piece meets few more pages than `most`.
fn cuts(lower: &[Arc<Table>], most: u64) -> Vec<Key> {
    let (mut cuts, mut met) = (Vec::new(), 0);
    for table in lower {
        if met > 0 && met + table.pages_total() > most {
            cuts.push(table.first);
            met = 0;
        }
        met += table.pages_total();
    }
    cuts
}

fn pages(tables: &[Arc<Table>]) -> u64 {
    tables.iter().map(|t| t.pages_total()).sum()
}

/// What some tables of a level have together.
#[derive(Clone, Copy)]
struct Span {
    first: Key,
    last: Key,
    blocks: usize,
    pages: u64,
}

impl Span {
    fn of_one(table: &Arc<Table>) -> Self {
        let (first, last) = (table.first, table.last);
        Self { first, last, blocks: blocks_of(table), pages: table.pages_total() }
    }

    fn with(self, other: Self) -> Self {
        Self {
            first: self.first.min(other.first),
            last: self.last.max(other.last),
            blocks: self.blocks + other.blocks,
            pages: self.pages + other.pages,
        }
    }

    fn of(tables: &[Arc<Table>]) -> Option<Self> {
        tables.iter().map(Self::of_one).reduce(Self::with)
    }

    /// Of these tables from each one on, which are its elders.
    fn of_oldest(tables: &[Arc<Table>]) -> Vec<Self> {
        let mut spans: Vec<Self> = Vec::with_capacity(tables.len());
        for table in tables.iter().rev() {
            let one = Self::of_one(table);
            spans.push(spans.last().map_or(one, |elders| elders.with(one)));
        }
        spans.reverse();
        spans
    }
}

/// The tables of the next level that those with this span are merged with.
fn below(levels: &Levels, level: usize, upper: &Span, full: usize) -> Range<usize> {
    let below = levels.level(level + 1);
    let start = below.partition_point(|t| t.last < upper.first);
    let end = start + below[start..].partition_point(|t| t.first <= upper.last);
    widened(below, start..end, upper.blocks, full)
}

fn pick_tables(levels: &Levels, level: usize, upper: Vec<Arc<Table>>, full: usize) -> Option<Pick> {
    let lower = below(levels, level, &Span::of(&upper)?, full);
    let lower = levels.level(level + 1)[lower].to_vec();
    Some(Pick { level, upper, lower, cuts: Vec::new(), is_within: false })
}

/// Blocks of a table that is full; pages where blocks have lengths of their own.
pub(super) fn blocks_of_full(config: &LsmConfig, page_bytes: u64) -> usize {
    if config.layout(page_bytes as u32) != Layout::Slots {
        return config.target_file_pages as usize;
    }
    config.target_file_pages as usize * blocks_per_page(page_bytes as u32) as usize
}

fn blocks(tables: &[Arc<Table>]) -> usize {
    tables.iter().map(|t| blocks_of(t)).sum()
}

/// Blocks of a table; pages where blocks have lengths of their own.
fn blocks_of(table: &Table) -> usize {
    if table.index.has_starts() { table.pages.len() } else { table.index.len() }
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
        let has = tables.get(*n).map(|t| blocks_of(t));
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

/// What compactions have to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Whether any level has more than it should.
    pub any: bool,
    /// Bytes that they owe.
    pub pending_bytes: u64,
}

impl Due {
    /// Of levels as they are; `level0`: tables of the first as triggers count them. It is due by their number alone, not by their bytes
    /// as well as in RocksDB: a debt for which no compaction begins would stop writes for ever.
    pub fn of(config: &LsmConfig, levels: &Levels, (level0, page_bytes): (u64, u64)) -> Self {
        let bytes: [u64; LEVELS] = std::array::from_fn(|level| levels.pages(level) * page_bytes);
        let most = |level| level_bytes_max(config, level);
        let level0_is_due = level0 >= u64::from(config.level0_file_num_compaction_trigger);
        let any = level0_is_due && bytes[0] > 0 || (1..LEVELS - 1).any(|level| bytes[level] > most(level));
        Self { any, pending_bytes: needed_bytes(&bytes, level0_is_due, most) }
    }
}

#[cfg(test)]
mod tests;
