// SPDX-License-Identifier: Apache-2.0 OR MIT
//! SAKER's LSM-store is RocksDB (SYSTOR'25, section 3.2): our tree with RocksDB's sizes, smaller by the scale of the run, and its values inside.

use crate::report::Point;
use saker_assembly::Build;
use saker_device::{EngineKind, Settings};
use saker_engine::write_gate::Hold;
use saker_sim::Activity;
use saker_world::RunResult;
use serde::Deserialize;

/// Bytes of a memtable at least: below that it would be a few records. All sizes keep their ratios.
const MEMTABLE_MIN: u64 = 64 << 10;
/// The word `unlimited` among those of `min_blob_size`.
const ALL_INSIDE: u64 = 14;

/// Sizes at full scale, by RocksDB's names.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeSizes {
    write_buffer_size: u64,
    target_file_size_base: u64,
    max_bytes_for_level_base: u64,
    soft_pending_compaction_bytes_limit: u64,
    hard_pending_compaction_bytes_limit: u64,
    /// Not scaled, as pages and times of the flash are not.
    compaction_readahead_size: u64,
}

impl TreeSizes {
    /// What is asked of the tree on either side.
    pub fn settings(&self, scale: u32) -> Settings {
        let scale = u64::from(scale).min(self.write_buffer_size / MEMTABLE_MIN).max(1);
        let of = |bytes: u64| bytes / scale;
        Settings::told(&[
            ("write_buffer_size", of(self.write_buffer_size)),
            ("target_file_size_base", of(self.target_file_size_base)),
            ("max_bytes_for_level_base", of(self.max_bytes_for_level_base)),
            ("soft_pending_compaction_bytes_limit", of(self.soft_pending_compaction_bytes_limit)),
            ("hard_pending_compaction_bytes_limit", of(self.hard_pending_compaction_bytes_limit)),
            ("compaction_readahead_size", self.compaction_readahead_size),
            ("min_blob_size", ALL_INSIDE),
        ])
    }

    /// A device, or a host over one, with the tree.
    pub fn in_build(&self, build: Build, scale: u32) -> Build {
        let mut build = build.with_engine(EngineKind::LSM);
        build.ask(&self.settings(scale));
        build.compact = true;
        build
    }
}

/// A counter of a run's store at its end.
pub fn counter(result: &RunResult, name: &str) -> u64 {
    result.counters.iter().find(|(known, _)| *known == name).map_or(0, |(_, n)| *n)
}

/// Adds what a tree did by the end of a run, and for how long it held writes in it.
pub fn add_tree(point: &mut Point, side: &str, result: &RunResult) {
    for name in ["flushes", "compactions"] {
        point.add(&format!("{side}_{name}"), counter(result, name) as f64);
    }
    point.add(&format!("{side}_write_amplification"), result.write_amplification());
    for hold in Hold::ALL {
        let held = result.stalls.all(hold).time.as_secs_f64() * 1e3;
        point.add(&format!("{side}_{}_ms", hold.name()), held);
    }
}

/// How busy the device's dispatcher was, in percent of the run.
pub fn dispatcher_percent(result: &RunResult) -> f64 {
    let elapsed = result.elapsed.as_secs_f64();
    100.0 * result.device_busy.with(Activity::Dispatch).as_secs_f64() / elapsed
}

/// How busy its I/O threads were in the mean, in percent of the run.
pub fn io_percent(result: &RunResult) -> f64 {
    let busy = &result.device_busy;
    let worked = busy.total().as_secs_f64() - busy.with(Activity::Dispatch).as_secs_f64();
    let cores = busy.cores().len().saturating_sub(1).max(1);
    100.0 * worked / result.elapsed.as_secs_f64() / cores as f64
}

/// How busy the host's cores were, in percent of the run; looking for completions does not count.
pub fn host_percent(result: &RunResult) -> f64 {
    result.busy.percent_without_polling(result.busy.cores().len(), result.elapsed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_engine::settings::Values;

    #[test]
    fn sizes_are_smaller_by_the_scale_but_no_few_records() {
        let sizes = TreeSizes {
            write_buffer_size: 64 << 20,
            target_file_size_base: 64 << 20,
            max_bytes_for_level_base: 256 << 20,
            soft_pending_compaction_bytes_limit: 64 << 30,
            hard_pending_compaction_bytes_limit: 256 << 30,
            compaction_readahead_size: 2 << 20,
        };
        let at = |scale, name| sizes.settings(scale).get(name);
        assert_eq!(at(64, "write_buffer_size"), Some(1 << 20));
        assert_eq!(at(64, "max_bytes_for_level_base"), Some(4 << 20));
        assert_eq!(at(u32::MAX, "write_buffer_size"), Some(MEMTABLE_MIN));
        assert_eq!(at(u32::MAX, "max_bytes_for_level_base"), Some(4 * MEMTABLE_MIN));
        assert_eq!(
            [at(1, "compaction_readahead_size"), at(64, "compaction_readahead_size")],
            [Some(2 << 20); 2]
        );
        let setting = EngineKind::LSM.settings().iter().find(|setting| setting.name == "min_blob_size");
        let Some(Values::Words(words)) = setting.map(|setting| setting.values) else { panic!("words") };
        assert_eq!(words[ALL_INSIDE as usize], "unlimited");
    }
}
