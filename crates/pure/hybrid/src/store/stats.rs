// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What has happened, in numbers.

use crate::main_tree::MainTree;
use crate::store::Hybrid;
use saker_nvme::vendor_specific::CounterKind;
use saker_sim::{Duration, Instant};

/// Counts since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Writes that went to the device's tree, and bytes of their keys and values.
    pub redirected: u64,
    /// Bytes of their keys and values.
    pub redirected_bytes: u64,
    /// Times that writes began to go there.
    pub redirections: u64,
    /// Writes that were to go there and could not at once: the device was being emptied, or a scan was beginning there.
    pub held: u64,
    /// Writes that were to go there and went to the main tree: the device's tree was full, or they were too long for it.
    pub turned_back: u64,
    /// Times that the device's tree became full.
    pub filled: u64,
    /// Reads that the device's tree answered.
    pub device_reads: u64,
    /// Scans that began again, since the device had ended their view.
    pub scans_again: u64,
    /// Times that copies began to go back.
    pub rollbacks: u64,
    /// Looks at which copies were there and did not begin to go back, as the main tree was stopped, delayed or redirected.
    pub kept_by_stalls: u64,
    /// Looks at which they did not, as level 0 of the main tree was too long.
    pub kept_by_level0: u64,
    /// Copies that went back.
    pub moved: u64,
    /// Copies that were found to be superseded.
    pub stale: u64,
    /// Times that the device's tree was emptied.
    pub emptied: u64,
    /// Time of rollbacks, from the first command to the device's being empty.
    pub rollback_time: Duration,
    /// Time of the device's being emptied.
    pub emptying_time: Duration,
    /// Sweeps, and copies that they deleted in the device because they did not count.
    pub sweeps: u64,
    /// Such copies.
    pub swept: u64,
    /// Tombstones of the main tree that were deleted.
    pub purged: u64,
    /// Where the write that took longest was how long.
    pub longest: WriteTime,
}

/// Where a write was how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteTime {
    /// Behind other writes of its keys.
    pub in_line: Duration,
    /// On its way from one to the next.
    pub at_host: Duration,
    /// Held: the device's tree was being emptied, or a scan was beginning there, or its queue was full.
    pub held: Duration,
    /// In the main tree: its stops, and pages that were read.
    pub in_main: Duration,
    /// In the device's tree: a command of it.
    pub in_device: Duration,
}

impl WriteTime {
    /// From its call to its end.
    pub fn all(&self) -> Duration {
        self.in_line + self.at_host + self.held + self.in_main + self.in_device
    }
}

/// Time that reads took in each tree, and what a copy takes to go back.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Costs {
    /// Nanoseconds of a read, as a mean in which a new one counts an eighth.
    pub main_read: u64,
    pub device_read: u64,
    /// Nanoseconds of a copy's going back.
    pub moving: u64,
    /// What reads have lost since the device's tree was empty, in nanoseconds.
    pub lost: u64,
    /// What reads lost while copies went back, in nanoseconds for each copy: as a mean, and of the pass that is under way in all.
    pub moving_reads: u64,
    pub pass_reads: u64,
    /// A read's mean when that pass began.
    pub before_pass: u64,
}

/// A mean in which a new number counts an eighth.
pub(crate) fn mean(before: u64, new: u64) -> u64 {
    if before == 0 { new } else { before - before / 8 + new / 8 }
}

/// Whether a counter of that name only rises, or tells how things stand.
pub fn counter_kind(name: &str) -> CounterKind {
    const NOW: [&str; 11] = [
        "main_read_mean_ns",
        "device_read_mean_ns",
        "rollback_copy_mean_ns",
        "reads_lost_ns",
        "rollback_copy_reads_lost_ns",
        "main_tombstones",
        "metadata_keys",
        "metadata_keys_current",
        "metadata_keys_peak",
        "metadata_bytes",
        "metadata_bytes_per_key",
    ];
    let is_now = NOW.contains(&name)
        || name.starts_with("longest_")
        || name.starts_with("num_")
        || name.starts_with("estimate_");
    let is_size = ["_tables", "memtable_bytes", "description_bytes", "level_bytes"];
    if is_now || is_size.iter().any(|end| name.ends_with(end)) {
        CounterKind::Gauge
    } else {
        CounterKind::Counter
    }
}

impl<M: MainTree> Hybrid<M> {
    /// What has happened.
    pub fn hybrid_stats(&self) -> Stats {
        self.stats
    }

    /// Counters of the main tree, and those of the two together, by name.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        let (s, (bytes, bytes_per_key)) = (&self.stats, self.metadata.bytes());
        let mut all = self.main.counters();
        all.extend([
            ("redirected_writes", s.redirected),
            ("redirected_bytes", s.redirected_bytes),
            ("redirections", s.redirections),
            ("redirected_held", s.held),
            ("redirected_turned_back", s.turned_back),
            ("device_filled", s.filled),
            ("device_reads", s.device_reads),
            ("device_scans_again", s.scans_again),
            ("rollbacks", s.rollbacks),
            ("rollback_kept_by_stalls", s.kept_by_stalls),
            ("rollback_kept_by_level0", s.kept_by_level0),
            ("rollback_moved", s.moved),
            ("rollback_stale", s.stale),
            ("rollback_ns", s.rollback_time.as_nanos()),
            ("device_emptied", s.emptied),
            ("device_emptying_ns", s.emptying_time.as_nanos()),
            ("device_sweeps", s.sweeps),
            ("device_swept", s.swept),
            ("main_read_mean_ns", self.costs.main_read),
            ("device_read_mean_ns", self.costs.device_read),
            ("rollback_copy_mean_ns", self.costs.moving),
            ("reads_lost_ns", self.costs.lost),
            ("rollback_copy_reads_lost_ns", self.costs.moving_reads),
            ("main_tombstones", self.tombs.len() as u64),
            ("main_tombstones_purged", s.purged),
            ("longest_write_ns", s.longest.all().as_nanos()),
            ("longest_write_in_line_ns", s.longest.in_line.as_nanos()),
            ("longest_write_held_ns", s.longest.held.as_nanos()),
            ("longest_write_in_main_ns", s.longest.in_main.as_nanos()),
            ("longest_write_in_device_ns", s.longest.in_device.as_nanos()),
            ("metadata_keys", self.metadata.keys()),
            ("metadata_keys_current", self.metadata.current_keys()),
            ("metadata_keys_peak", self.metadata.keys_peak()),
            ("metadata_bytes", bytes),
            ("metadata_bytes_per_key", bytes_per_key),
        ]);
        all
    }

    /// The time since then, where somebody tells the time.
    pub(crate) fn since(&self, then: Option<Instant>) -> Duration {
        match (self.now, then) {
            (Some(now), Some(then)) => now.since(then),
            _ => Duration::ZERO,
        }
    }
}
