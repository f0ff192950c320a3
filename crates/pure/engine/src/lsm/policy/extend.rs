// SPDX-License-Identifier: Apache-2.0 OR MIT
//! More tables of the upper level than were picked, as far as `max_compaction_bytes` allows (facebook/rocksdb v11.8.1; the lines stand
//! beside each rule).

use super::super::job::Job;
use super::super::levels::{LEVELS, Levels};
use super::super::table::Table;
use super::{Limits, Pick, pages, pick_tables};
use crate::ordered::key::Key;
use std::sync::Arc;

/// Tables that are moved together at most (`db/compaction/compaction_picker_level.cc` line 737).
const MOVED_MOST: usize = 4;

/// The same compaction, or a larger one that can go on beside the jobs. Level 0 brings all along that fits already.
pub(super) fn extended(levels: &Levels, pick: Pick, limits: Limits, jobs: &[Job]) -> Pick {
    if pick.level == 0 || !pick.cuts.is_empty() {
        return pick;
    }
    let more = if pick.lower.is_empty() {
        moved_along(levels, &pick, limits, jobs)
    } else {
        expanded(levels, &pick, limits)
    };
    more.filter(|more| jobs.iter().all(|job| more.is_apart(job))).unwrap_or(pick)
}

/// Neighbours on both sides that meet nothing below either (`TryExtendNonL0TrivialMove`, `compaction_picker_level.cc` lines 724 to 809).
fn moved_along(levels: &Levels, pick: &Pick, limits: Limits, jobs: &[Job]) -> Option<Pick> {
    let [table] = &pick.upper[..] else { return None };
    let (tables, below) = (levels.level(pick.level), levels.level(pick.level + 1));
    let at = tables.iter().position(|t| t.id == table.id)?;
    let mut moved = limits.bytes(table.pages_total());
    let mut goes_along = |t: &Table, first: &Key, last: &Key| {
        let is_free =
            !jobs.iter().any(|job| job.reads(t.id)) && !below.iter().any(|t| t.overlaps(first, last));
        moved += if is_free { limits.bytes(t.pages_total()) } else { 0 };
        is_free && moved <= limits.asked
    };
    let (mut start, mut end) = (at, at + 1);
    while end - start < MOVED_MOST && tables.get(end).is_some_and(|t| goes_along(t, &table.first, &t.last)) {
        end += 1;
    }
    while end - start < MOVED_MOST
        && start > 0
        && goes_along(&tables[start - 1], &tables[start - 1].first, &table.last)
    {
        start -= 1;
    }
    (end - start > 1).then(|| Pick { upper: tables[start..end].to_vec(), ..pick.clone() })
}

/// Tables of the upper level that meet the same tables below: all that meet the compaction's keys, if that brings no more of them, else
/// those that lie between its keys. Twice as much as a compaction should have is allowed (`SetupOtherInputs`,
/// `db/compaction/compaction_picker.cc` lines 564 to 641).
fn expanded(levels: &Levels, pick: &Pick, limits: Limits) -> Option<Pick> {
    let (first, last) = pick.span()?;
    let lower_pages = pages(&pick.lower);
    let fits = |upper: &[Arc<Table>]| {
        let all = pages(upper) + lower_pages;
        let is_allowed = limits.bytes(all) < limits.asked.saturating_mul(2) && all <= limits.merged;
        upper.len() > pick.upper.len() && is_allowed
    };
    let tables = levels.level(pick.level);
    let meeting: Vec<_> = tables.iter().filter(|t| t.overlaps(&first, &last)).cloned().collect();
    if fits(&meeting) {
        let wider = pick_tables(levels, pick.level, meeting, limits.full)?;
        if wider.lower.iter().map(|t| t.id).eq(pick.lower.iter().map(|t| t.id)) {
            return Some(wider);
        }
    }
    let between = |t: &&Arc<Table>| first <= t.first && t.last <= last;
    let between: Vec<_> = tables.iter().filter(between).cloned().collect();
    fits(&between).then(|| Pick { upper: between, ..pick.clone() })
}

/// The tables below those that a compaction writes: of the first level that has any between its keys (`GetGrandparents`,
/// `compaction_picker.cc` lines 650 to 666).
pub fn grandparents(levels: &Levels, pick: &Pick) -> Vec<Arc<Table>> {
    let Some((first, last)) = pick.span() else { return Vec::new() };
    let met = |level: usize| levels.level(level).iter().filter(|t| t.overlaps(&first, &last)).cloned();
    let mut met = (pick.level + 2..LEVELS).map(|level| met(level).collect::<Vec<_>>());
    met.find(|tables| !tables.is_empty()).unwrap_or_default()
}

/// Whether a table of that level, once it is moved down, would be merged with more than a compaction should have: then it is written
/// anew, and ends earlier (`Compaction::IsTrivialMove`, `db/compaction/compaction.cc` lines 604 to 615).
pub fn would_meet_too_much(
    levels: &Levels,
    (level, table): (usize, &Table),
    page_bytes: u64,
    asked: u64,
) -> bool {
    let met = |level: usize| levels.level(level).iter().filter(|t| t.overlaps(&table.first, &table.last));
    let met: u64 = if level + 2 < LEVELS { met(level + 2).map(|t| t.pages_total()).sum() } else { 0 };
    (table.pages_total() + met) * page_bytes > asked
}

#[cfg(test)]
mod tests;
