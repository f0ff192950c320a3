//! Background work, as drivers see it.

/// Names a job of an engine as long as it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobId(pub u32);

/// What a job is for: a driver that has several cores chooses one by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobKind {
    /// Whatever is most urgent: repairs, flushes, merges, collections, checkpoints, in the engine's own order.
    Upkeep,
}

/// A piece of background work that an engine hands out. The driver chooses when it runs, and on which core.
///
/// Engines have one at a time today, [`Job::UPKEEP`], and decide in each quantum what it does.
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

    /// That job, if it is due.
    #[inline]
    pub const fn upkeep_if(is_due: bool) -> Option<Self> {
        if is_due { Some(Self::UPKEEP) } else { None }
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
