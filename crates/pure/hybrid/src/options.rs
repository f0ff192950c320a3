// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is chosen when a store is opened.

use saker_sim::Duration;

/// How a stall of the main tree is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detector {
    /// At every write: one that the main tree would stop goes to the device.
    Exact,
    /// As the public code does it (lewis461/KVAccel, `kvaccel/db/db_impl/db_impl_master.cc`, `Monitor_Consumer` and `Rollback_Consumer`):
    /// every so often the tables of level 0, the memtables and what compactions owe are looked at, and until the next look all
    /// writes go one way.
    Published,
}

/// When copies go back to the main tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rollback {
    /// As soon as level 0 of the main tree is short enough.
    Eager,
    /// When no write has come for a while.
    Lazy,
    /// By what reads have lost and what going back costs: see [`Objective`].
    Adaptive,
}

/// What the adaptive policy is to make small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// What writes lose: as lazy.
    Writes,
    /// What reads lose: copies go back when reads have lost as much time in the device's tree as others will lose while copies go back.
    Reads,
    /// Both: copies go back when reads have lost as much time in the device's tree as going back will take.
    Weighted,
}

/// The choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How a stall is found.
    pub detector: Detector,
    /// When copies go back.
    pub rollback: Rollback,
    /// What the adaptive policy looks at.
    pub objective: Objective,
    /// How often the published detector looks: 100 ms there.
    pub poll: Duration,
    /// Tables of level 0, and of those and full memtables, from which on the published detector sends writes to the device: 36 there.
    pub redirect_level0: u32,
    /// The same of bytes that compactions owe: so many below the main tree's hard limit; 2 MiB there.
    pub reserve_bytes: u64,
    /// Tables of level 0 up to which copies go back: 26 there.
    pub rollback_level0: u32,
    /// Without a write for so long, writing is over.
    pub idle: Duration,
    /// Writes wait while copies go back, as in the public code, which holds `reset_mtx` for that long. Otherwise they never do.
    pub blocks_writers: bool,
    /// Percent of the device's tree that copies fill when those that do not count are deleted there. Not in the paper.
    pub sweep_percent: u8,
    /// Bytes of a buffer for copies that go back: 508 KiB there (`kvaccel/db/db_impl/iLSM.cc`, `MAX_BUFLEN`).
    pub buffer_bytes: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            detector: Detector::Exact,
            rollback: Rollback::Eager,
            objective: Objective::Weighted,
            poll: Duration::from_nanos(100_000_000),
            redirect_level0: 36,
            reserve_bytes: 2 << 20,
            rollback_level0: 26,
            idle: Duration::from_nanos(100_000_000),
            blocks_writers: false,
            sweep_percent: 50,
            buffer_bytes: 508 << 10,
        }
    }
}

impl Detector {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Exact, Self::Published];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Published => "published",
        }
    }
}

impl Rollback {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Eager, Self::Lazy, Self::Adaptive];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Eager => "eager",
            Self::Lazy => "lazy",
            Self::Adaptive => "adaptive",
        }
    }
}
