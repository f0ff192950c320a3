// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Background work, as drivers see it.

use saker_sim::Activity;

/// Names a job of an engine as long as it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobId(pub u32);

impl JobId {
    /// The first of those that are compactions; the engine's own numbers of them follow.
    const COMPACTIONS: u32 = 16;

    /// The engine's number of a compaction.
    #[inline]
    pub const fn compaction(self) -> Option<u32> {
        self.0.checked_sub(Self::COMPACTIONS)
    }
}

/// What a job is for: a driver that has several cores chooses one by it, and charges its time to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum JobKind {
    /// Whatever is most urgent: repairs, flushes, merges, collections, checkpoints, in the engine's own order. Nothing else runs beside it.
    Upkeep,
    /// Writing a memtable to tables.
    Flush,
    /// Merging tables; several may go on at once.
    Compaction,
    /// Emptying segments of what is not needed.
    Collection,
    /// What is due and has no job of its own now: checkpoints, erases, beginning compactions and collections.
    Rest,
}

impl JobKind {
    /// What a core does that does such a job.
    #[inline]
    pub const fn activity(self) -> Activity {
        match self {
            Self::Flush => Activity::Flush,
            Self::Compaction => Activity::Compaction,
            Self::Collection => Activity::Collection,
            Self::Upkeep | Self::Rest => Activity::Maintenance,
        }
    }
}

/// A piece of background work that an engine hands out. The driver chooses when it runs, and on which core.
///
/// A driver with one core for an engine does [`Job::UPKEEP`] alone, and the engine decides in each quantum what it does. A driver with
/// several asks [`Engine::jobs`](crate::Engine::jobs), and lets those run side by side: a quantum of each occupies a core of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its name.
    pub id: JobId,
    /// What it is for.
    pub kind: JobKind,
}

impl Job {
    /// The job that every engine takes at any time, due or not: what is not due and can be done is done.
    pub const UPKEEP: Self = Self { id: JobId(0), kind: JobKind::Upkeep };
    /// The same without what may be put off ([`Engine::puts_off`](crate::Engine::puts_off)).
    pub const URGENT: Self = Self { id: JobId(4), kind: JobKind::Upkeep };
    /// [`JobKind::Rest`]: there is one.
    pub const REST: Self = Self { id: JobId(1), kind: JobKind::Rest };
    /// [`JobKind::Flush`]: one at a time, the oldest memtable's.
    pub const FLUSH: Self = Self { id: JobId(2), kind: JobKind::Flush };
    /// [`JobKind::Collection`]: one at a time.
    pub const COLLECTION: Self = Self { id: JobId(3), kind: JobKind::Collection };

    /// The compaction that the engine gave that number.
    #[inline]
    pub const fn compaction(number: u32) -> Self {
        Self { id: JobId(JobId::COMPACTIONS + number), kind: JobKind::Compaction }
    }

    /// [`Job::UPKEEP`], if it is due.
    #[inline]
    pub const fn upkeep_if(is_due: bool) -> Option<Self> {
        if is_due { Some(Self::UPKEEP) } else { None }
    }

    /// Whether it is the one beside which nothing runs.
    #[inline]
    pub const fn is_upkeep(self) -> bool {
        matches!(self.kind, JobKind::Upkeep)
    }
}

/// What a quantum of background work did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    /// There is nothing to do now.
    Idle,
    /// Something was done; there is more.
    Worked,
    /// Nothing can be done until outstanding I/O completes.
    Waiting,
}
