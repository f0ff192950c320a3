// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether an engine's background work keeps up with writes, as RocksDB says it (its `include/rocksdb/types.h`: write stall
//! conditions and causes).

/// What keeps writes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteStallCause {
    /// Memtables wait to be flushed.
    MemtableLimit = 0,
    /// Level 0 has too many files.
    L0FileCountLimit = 1,
    /// Compactions owe too many bytes.
    PendingCompactionBytes = 2,
}

impl WriteStallCause {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::MemtableLimit, Self::L0FileCountLimit, Self::PendingCompactionBytes];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MemtableLimit => "memtable_limit",
            Self::L0FileCountLimit => "l0_file_count_limit",
            Self::PendingCompactionBytes => "pending_compaction_bytes",
        }
    }
}

/// What writes have to expect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteCondition {
    /// They go on.
    #[default]
    Normal,
    /// They go on at a rate.
    Delayed {
        /// Why.
        cause: WriteStallCause,
        /// Bytes of keys and values a second.
        rate: u64,
        /// Which delay this is since the engine was opened. Tokens of an earlier one do not count any more.
        delay: u32,
    },
    /// They wait until the condition has changed.
    Stopped {
        /// Why.
        cause: WriteStallCause,
    },
}

impl WriteCondition {
    /// Whether they go on at a rate.
    pub const fn is_delayed(self) -> bool {
        matches!(self, Self::Delayed { .. })
    }

    /// Whether they wait.
    pub const fn is_stopped(self) -> bool {
        matches!(self, Self::Stopped { .. })
    }
}
