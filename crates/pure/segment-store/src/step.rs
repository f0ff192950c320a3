// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How a store answers: it never waits.

use crate::PageAddr;

/// Pages that must be resident before the operation can go on.
pub type Reads = Vec<PageAddr>;

/// Why an operation cannot go on now. None of them is an error; all pass once background work or
/// outstanding I/O progresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// Every power-safe slot is filled or being programmed.
    NoSlot,
    /// No erased segment is free for this stream; garbage collection must make one.
    NoSegment,
    /// A landing or program of the same page is not finished.
    Busy,
    /// Background work has fallen behind.
    Debt,
    /// Background work falls behind: writes go on at a rate, and this one, of so many bytes of keys and values, is to wait for its turn.
    Delayed {
        /// Those bytes.
        bytes: u64,
    },
    /// A thread of the engine's own is at what this waits for. It goes on by itself, so however often this is said, nothing is full.
    Worker,
}

/// The answer of one step. With `Need` and `Blocked` the store's state is as before the call.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// Finished.
    Done(T),
    /// Bring these pages, then call again.
    Need(Reads),
    /// Call again after progress elsewhere.
    Blocked(Stall),
}

impl<T> Step<T> {
    /// Maps the result of a finished step.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Step<U> {
        match self {
            Self::Done(t) => Step::Done(f(t)),
            Self::Need(reads) => Step::Need(reads),
            Self::Blocked(stall) => Step::Blocked(stall),
        }
    }
}

/// Leaves the enclosing function with `Need` or `Blocked`, or gives the value of `Done`.
#[macro_export]
macro_rules! ready {
    ($step:expr) => {
        match $step {
            $crate::Step::Done(value) => value,
            $crate::Step::Need(reads) => return $crate::Step::Need(reads),
            $crate::Step::Blocked(stall) => return $crate::Step::Blocked(stall),
        }
    };
}
