// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When writes were stopped or delayed, why, and for how long.

use crate::write_condition::{WriteCondition, WriteStallCause};
use saker_sim::{Duration, Instant};
use std::collections::VecDeque;

/// Periods that are told one by one; of those before only the sums are left.
pub const RECENT: usize = 64;

/// What happened to writes in a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// A stall: from the first write that was refused to the next that was admitted.
    Stopped = 0,
    /// From the first write that had to wait for its rate until writes are not delayed any more.
    Delayed = 1,
}

impl Hold {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Stopped, Self::Delayed];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Delayed => "delayed",
        }
    }
}

/// A period in which writes were held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// How.
    pub hold: Hold,
    /// Why, when it began.
    pub cause: WriteStallCause,
    /// When it began.
    pub begin: Instant,
    /// How long it lasted.
    pub length: Duration,
    /// Writes that were held in it.
    pub writes: u64,
}

/// Sums over periods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Periods.
    pub periods: u64,
    /// Their time.
    pub time: Duration,
    /// Writes that were held in them.
    pub writes: u64,
}

impl Held {
    fn add(&mut self, period: &Period) {
        self.periods += 1;
        self.time += period.length;
        self.writes += period.writes;
    }
}

/// What write control does and has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteControl {
    /// Whether writes go on.
    pub condition: WriteCondition,
    /// When that was asked: the time that begins of periods are of.
    pub now: Instant,
    /// The periods in which they did not.
    pub stalls: Stalls,
}

/// Sums by what was done and why, and the last periods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    held: [[Held; WriteStallCause::ALL.len()]; Hold::ALL.len()],
    /// The last periods, the oldest first.
    pub recent: VecDeque<Period>,
}

impl Stalls {
    /// Sums by [`Hold`] and [`WriteStallCause`], and the last periods, the oldest first, as somebody else has told them. More than
    /// [`RECENT`] of them, and more than the sums count, are left out.
    pub fn told(held: [[Held; WriteStallCause::ALL.len()]; Hold::ALL.len()], recent: Vec<Period>) -> Self {
        let all = held.iter().flatten().fold(0, |all: u64, held| all.saturating_add(held.periods));
        let most = usize::try_from(all).unwrap_or(usize::MAX).min(RECENT);
        let old = recent.len().saturating_sub(most);
        Self { held, recent: recent.into_iter().skip(old).collect() }
    }

    /// Whether no write was held.
    pub fn is_empty(&self) -> bool {
        self.recent.is_empty()
    }

    /// The sums of what was held that way for that reason.
    pub const fn of(&self, hold: Hold, cause: WriteStallCause) -> Held {
        self.held[hold as usize][cause as usize]
    }

    /// The sums of what was held that way.
    pub fn all(&self, hold: Hold) -> Held {
        self.held[hold as usize].iter().fold(Held::default(), |all, held| Held {
            periods: all.periods.saturating_add(held.periods),
            time: all.time + held.time,
            writes: all.writes.saturating_add(held.writes),
        })
    }

    /// All sums that are not 0, by name.
    pub fn sums(&self) -> impl Iterator<Item = (Hold, WriteStallCause, Held)> {
        let pairs = Hold::ALL.into_iter().flat_map(|hold| WriteStallCause::ALL.map(|cause| (hold, cause)));
        pairs.map(|(hold, cause)| (hold, cause, self.of(hold, cause))).filter(|(.., held)| held.periods > 0)
    }

    /// Periods of which only the sums are left.
    pub fn gone(&self) -> u64 {
        let all = Hold::ALL.iter().fold(0, |all: u64, hold| all.saturating_add(self.all(*hold).periods));
        all.saturating_sub(self.recent.len() as u64)
    }

    /// A period is over.
    pub(super) fn add(&mut self, period: Period) {
        self.held[period.hold as usize][period.cause as usize].add(&period);
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(period);
    }

    /// What has been added since `before`, which was told of the same gate. Of another one, such as that of a device that was
    /// started anew: what there is, less what was before, at least nothing.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let minus = |now: Held, then: Held| Held {
            periods: now.periods.saturating_sub(then.periods),
            time: now.time - then.time,
            writes: now.writes.saturating_sub(then.writes),
        };
        let held = std::array::from_fn(|hold| {
            std::array::from_fn(|cause| minus(self.held[hold][cause], before.held[hold][cause]))
        });
        let all = held.iter().flatten().fold(0, |all: u64, held: &Held| all.saturating_add(held.periods));
        let old = self.recent.len().saturating_sub(usize::try_from(all).unwrap_or(usize::MAX));
        Self { held, recent: self.recent.iter().skip(old).copied().collect() }
    }
}
