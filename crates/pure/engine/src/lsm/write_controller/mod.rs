// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RocksDB's write controller, for one column family: whether writes go on, at which rate, or not at all.
//!
//! It is asked anew at each switch of memtables and whenever the tables change: then alone, since a debt that stays as it was counts as
//! one that was not paid (facebook/rocksdb v11.8.1, commit abeebd96, `db/column_family.cc` lines 1449 to 1456). The rules stand beside
//! their lines:
//!
//! | module | what is in it | in `db/` of that commit |
//! |---|---|---|
//! | `condition` | normal, delayed or stopped, and why | `column_family.cc` 1010 to 1046 |
//! | `rate` | how the rate changes while writes are delayed, and after | `column_family.cc` 866 to 934, 1113 to 1146, 1202 to 1208 |
//! | `debt` | bytes that compactions owe | `version_set.cc` 3349 to 3432 |
//!
//! The token bucket is the driver's ([`saker_engine_api::write_gate`]), since an engine keeps no clock.

mod condition;
mod debt;
mod rate;
#[cfg(test)]
mod tests;

pub use condition::{Limits, Load, judge};
pub use debt::needed_bytes;

use crate::ordered::structure::{Turn, Write};
use rate::Rate;
use saker_engine_api::{WriteCondition, WriteStallCause};

/// How often it was found that writes are to be delayed or stopped, by cause: RocksDB's counts of the same names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StallStats {
    /// Delayed.
    pub delays: [u64; WriteStallCause::ALL.len()],
    /// Stopped.
    pub stops: [u64; WriteStallCause::ALL.len()],
}

/// Which delayed writes pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passes {
    /// One for each quantum of background work: nobody keeps time.
    ByWork { has_worked: bool },
    /// So many: the driver made them wait.
    ByDriver { writes: u32 },
}

impl Passes {
    fn take(&mut self) -> bool {
        match self {
            Self::ByWork { has_worked } => std::mem::take(has_worked),
            Self::ByDriver { writes } => {
                let left = writes.checked_sub(1);
                *writes = left.unwrap_or(0);
                left.is_some()
            }
        }
    }
}

/// What it says, and what it remembers.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    condition: WriteCondition,
    rate: Rate,
    /// What it was asked with last.
    last: Option<(Limits, Load)>,
    /// Times that writes have become delayed.
    delays: u32,
    passes: Passes,
    /// Counters.
    pub stats: StallStats,
}

impl Default for Controller {
    fn default() -> Self {
        Self {
            condition: WriteCondition::Normal,
            rate: Rate::default(),
            last: None,
            delays: 0,
            passes: Passes::ByWork { has_worked: false },
            stats: StallStats::default(),
        }
    }
}

impl Controller {
    /// What it said last.
    pub const fn condition(&self) -> WriteCondition {
        self.condition
    }

    /// Something has changed: says anew what writes have to expect.
    pub fn recalculate(&mut self, limits: &Limits, load: Load) {
        self.rate.begin_at(limits.delayed_write_rate);
        let debt_before = self.last.map_or(0, |(_, load)| load.pending_bytes);
        let was_delayed = self.condition.is_delayed();
        self.condition = judge(limits, &load);
        match &mut self.condition {
            WriteCondition::Normal if was_delayed => self.rate.recover(),
            WriteCondition::Normal => {}
            WriteCondition::Stopped { cause } => self.stats.stops[*cause as usize] += 1,
            WriteCondition::Delayed { cause, rate, delay } => {
                if was_delayed {
                    let is_near_stop = condition::is_near_stop(*cause, limits, &load);
                    self.rate.adjust(is_near_stop, debt_before, load.pending_bytes);
                } else {
                    self.delays += 1;
                }
                (*rate, *delay) = (self.rate.now(), self.delays);
                self.stats.delays[*cause as usize] += 1;
            }
        }
        self.last = Some((*limits, load));
    }

    /// The same, if that is not what it was asked with last.
    pub fn recalculate_if_new(&mut self, limits: &Limits, load: Load) {
        if self.last != Some((*limits, load)) {
            self.recalculate(limits, load);
        }
    }

    /// Memtables that were not flushed when it was asked last.
    pub fn immutables(&self) -> u32 {
        self.last.map_or(0, |(_, load)| load.immutables)
    }

    /// Whether a write may go on. Deletes, which make room, wait for memory alone.
    pub fn admit(&mut self, write: Write) -> Turn {
        match (self.condition, write) {
            (WriteCondition::Stopped { cause: WriteStallCause::MemtableLimit }, _) => Turn::Later,
            (WriteCondition::Normal, _) | (_, Write::Delete) => Turn::Now,
            (WriteCondition::Stopped { .. }, Write::Store) => Turn::Later,
            (WriteCondition::Delayed { .. }, Write::Store) if self.passes.take() => Turn::Now,
            (WriteCondition::Delayed { .. }, Write::Store) => Turn::AtRate,
        }
    }

    /// A quantum of background work was done, or there was nothing to do.
    pub fn worked(&mut self) {
        if let Passes::ByWork { has_worked } = &mut self.passes {
            *has_worked = true;
        }
    }

    /// So many delayed writes pass; from now on only those.
    pub fn let_pass(&mut self, writes: u32) {
        self.passes = Passes::ByDriver { writes };
    }
}
