// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether writes go on, and why not: the first of the rules that holds (`GetWriteStallConditionAndCause`).

use crate::lsm::LsmConfig;
use saker_engine_api::WriteStallCause::{L0FileCountLimit, MemtableLimit, PendingCompactionBytes};
use saker_engine_api::{WriteCondition, WriteStallCause};

/// Settings that count, by RocksDB's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Memtables, with the one that is written.
    pub max_write_buffer_number: u32,
    /// Files in level 0 from which on writes are delayed.
    pub level0_slowdown_writes_trigger: u32,
    /// Files in level 0 from which on they stop.
    pub level0_stop_writes_trigger: u32,
    /// Bytes that compactions owe from which on writes are delayed.
    pub soft_pending_compaction_bytes_limit: u64,
    /// Bytes that compactions owe from which on they stop.
    pub hard_pending_compaction_bytes_limit: u64,
    /// The rate at which delayed writes begin, in bytes a second.
    pub delayed_write_rate: u64,
    /// Whether writes are delayed at all before they stop. RocksDB has no such switch; there limits of its own are switched off
    /// one by one, as db_bench does for KVAccel.
    pub slowdown: bool,
}

impl From<&LsmConfig> for Limits {
    fn from(config: &LsmConfig) -> Self {
        Self {
            max_write_buffer_number: config.max_write_buffer_number,
            level0_slowdown_writes_trigger: config.level0_slowdown_writes_trigger,
            level0_stop_writes_trigger: config.level0_stop_writes_trigger,
            soft_pending_compaction_bytes_limit: config.soft_pending_compaction_bytes_limit,
            hard_pending_compaction_bytes_limit: config.hard_pending_compaction_bytes_limit,
            delayed_write_rate: config.delayed_write_rate,
            slowdown: config.slowdown,
        }
    }
}

/// How far background work is behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Memtables that no write goes to any more and that are not flushed. A full one counts: RocksDB puts an empty one in its place, even
    /// if writes stop then.
    pub immutables: u32,
    /// Files in level 0.
    pub level0: u32,
    /// Bytes that compactions owe.
    pub pending_bytes: u64,
}

/// Judges the load (lines 1016 to 1045). Of what is delayed the rate is not known here.
pub fn judge(limits: &Limits, load: &Load) -> WriteCondition {
    let stopped = |cause| WriteCondition::Stopped { cause };
    let delayed = |cause| WriteCondition::Delayed { cause, rate: 0, delay: 0 };
    let memtables = limits.max_write_buffer_number;
    // Line 1016.
    if load.immutables >= memtables {
        return stopped(MemtableLimit);
    }
    // Lines 1018 and 1019.
    if load.level0 >= limits.level0_stop_writes_trigger {
        return stopped(L0FileCountLimit);
    }
    // Lines 1021 to 1024.
    if load.pending_bytes >= limits.hard_pending_compaction_bytes_limit {
        return stopped(PendingCompactionBytes);
    }
    if !limits.slowdown {
        return WriteCondition::Normal;
    }
    // Lines 1027 to 1031. The last of them says that no fewer wait than are merged at once: one, here.
    if memtables > 3 && load.immutables >= memtables - 1 {
        return delayed(MemtableLimit);
    }
    // Lines 1033 to 1036.
    if load.level0 >= limits.level0_slowdown_writes_trigger {
        return delayed(L0FileCountLimit);
    }
    // Lines 1038 to 1041.
    if load.pending_bytes >= limits.soft_pending_compaction_bytes_limit {
        return delayed(PendingCompactionBytes);
    }
    WriteCondition::Normal
}

/// Whether writes that are delayed for that cause are about to stop for it. Memtables never are (lines 1101 to 1104).
pub fn is_near_stop(cause: WriteStallCause, limits: &Limits, load: &Load) -> bool {
    match cause {
        MemtableLimit => false,
        // Two files below the stop (lines 1117 and 1118).
        L0FileCountLimit => load.level0 >= limits.level0_stop_writes_trigger.saturating_sub(2),
        // More than three quarters of the way from one limit to the other (lines 1139 to 1146).
        PendingCompactionBytes => {
            let soft = limits.soft_pending_compaction_bytes_limit;
            let way = limits.hard_pending_compaction_bytes_limit.saturating_sub(soft);
            u128::from(load.pending_bytes.saturating_sub(soft)) > 3 * u128::from(way) / 4
        }
    }
}
