// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Merges within level 0, while it cannot be merged down (facebook/rocksdb v11.8.1, `db/compaction/compaction_picker_level.cc` lines 924 to
//! 940, `PickIntraL0Compaction`; `db/compaction/compaction_picker.cc` lines 87 to 127, `PickCostBasedIntraL0Compaction`).

use super::super::job::Job;
use super::super::levels::Levels;
use super::super::options::LsmConfig;
use super::super::table::Table;
use super::{Limits, Pick, is_one_file, pages};
use std::sync::Arc;

/// Files that are merged within the level at least (`compaction_picker_level.cc` line 169).
const FILES_MIN: usize = 4;
/// Files that the level has beyond those that make it due (line 930).
const FILES_BEYOND: usize = 2;

/// The youngest files of the level from the first on, until one more is read by a job, costs more for each file that goes, or is too much.
/// They follow each other in age, so what is merged is as old as they are together.
pub(super) fn within_level0(
    config: &LsmConfig,
    levels: &Levels,
    limits: Limits,
    jobs: &[Job],
) -> Option<Pick> {
    let files: Vec<&[Arc<Table>]> =
        levels.level(0).chunk_by(|young, old| is_one_file(config, young, old)).collect();
    let is_free = |file: &[Arc<Table>]| !file.iter().any(|t| jobs.iter().any(|job| job.reads(t.id)));
    let (youngest, elders) = files.split_first()?;
    if files.len() < config.level0_file_num_compaction_trigger as usize + FILES_BEYOND || !is_free(youngest) {
        return None;
    }
    let most = limits.asked.min(limits.bytes(limits.merged));
    let (mut bytes, mut cost, mut end) = (limits.bytes(pages(youngest)), u64::MAX, 1);
    for file in elders {
        bytes += limits.bytes(pages(file));
        let cost_with_it = bytes / end as u64;
        if !is_free(file) || cost_with_it > cost || bytes > most {
            break;
        }
        (cost, end) = (cost_with_it, end + 1);
    }
    let upper = files[..end].concat();
    (end >= FILES_MIN).then(|| Pick { level: 0, upper, lower: Vec::new(), cuts: Vec::new(), is_within: true })
}

#[cfg(test)]
mod tests;
