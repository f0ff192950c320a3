// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The driver's half of write control. An engine keeps no clock: it says that writes are delayed or stopped. A driver with a clock
//! makes them wait, and counts for how long.
//!
//! As in RocksDB one write waits at a time (facebook/rocksdb v11.8.1, `db/db_impl/db_impl_write.cc` lines 2813 to 2886): the next one asks
//! for its tokens when it is the first. A write that waits goes on at once when writes are not delayed any more; one that has waited is
//! not made to wait for tokens again, though it may have to wait for the end of a stop.

mod bucket;
mod periods;

pub use bucket::{SLICE, TokenBucket};
pub use periods::{Held, Hold, Period, RECENT, Stalls, WriteControl};

use crate::write_condition::{WriteCondition, WriteStallCause};
use saker_sim::{Duration, Instant};
use std::collections::VecDeque;

/// A write that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting<I> {
    id: I,
    bytes: u64,
}

/// A write that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Released<I> {
    /// Which.
    pub id: I,
    /// It has waited for its tokens: the engine is told to let it pass. Otherwise it asks as if it had not waited.
    pub passes: bool,
}

/// Delayed writes of one engine, the tokens that they wait for, and the periods in which writes were held. `I` names writes.
#[derive(Clone, Debug)]
pub struct WriteGate<I> {
    waiting: VecDeque<Waiting<I>>,
    /// When the first of them may pass, once that is known.
    until: Option<Instant>,
    bucket: TokenBucket,
    /// The delay whose tokens are in the bucket.
    delay: u32,
    open: Option<Period>,
    /// Periods that have begun.
    periods: u32,
    stalls: Stalls,
}

impl<I> Default for WriteGate<I> {
    fn default() -> Self {
        let (bucket, stalls) = (TokenBucket::default(), Stalls::default());
        Self { waiting: VecDeque::new(), until: None, bucket, delay: 0, open: None, periods: 0, stalls }
    }
}

impl<I: Copy> WriteGate<I> {
    /// The engine delays a write of so many bytes: it waits here until [`release`](Self::release) names it.
    pub fn delay(&mut self, id: I, bytes: u64) {
        self.waiting.push_back(Waiting { id, bytes });
    }

    /// The next write that goes on at `now`, by the condition that the engine is in. The caller asks until there is none, and again at
    /// [`next`](Self::next) and whenever the condition may have changed.
    pub fn release(&mut self, condition: WriteCondition, now: Instant) -> Option<Released<I>> {
        let first = *self.waiting.front()?;
        let WriteCondition::Delayed { cause, rate, delay } = condition else {
            // The one that has begun to wait is through with it, for a stop as well.
            let passes = self.until.take().is_some();
            self.waiting.pop_front();
            return Some(Released { id: first.id, passes });
        };
        if self.delay != delay {
            (self.delay, self.bucket) = (delay, TokenBucket::default());
        }
        let until = match self.until {
            Some(until) => until,
            None => {
                let wait = self.bucket.take(first.bytes, rate, now);
                if wait > Duration::ZERO {
                    self.hold(Hold::Delayed, cause, now);
                }
                *self.until.insert(now + wait)
            }
        };
        if until > now {
            return None;
        }
        self.until = None;
        self.waiting.pop_front();
        Some(Released { id: first.id, passes: true })
    }

    /// When the first write that waits may pass; `None`: none waits, or it has not been asked about.
    #[inline]
    pub fn next(&self) -> Option<Instant> {
        self.until
    }

    /// Whether no write waits, and no period goes on.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.open.is_none()
    }

    /// The condition may have changed: writes that are delayed no more end the period in which they were.
    pub fn changed(&mut self, condition: WriteCondition, now: Instant) {
        let is_over = |open: &Period| open.hold == Hold::Delayed && !condition.is_delayed();
        if self.open.as_ref().is_some_and(is_over) {
            self.end(now);
        }
    }

    /// The engine refused a write for now. A stop begins with the first one. The driver tries it again, so it keeps for each write, 0 at
    /// first, in which period it was `counted`.
    pub fn refused(&mut self, condition: WriteCondition, now: Instant, counted: &mut u32) {
        let WriteCondition::Stopped { cause } = condition else { return };
        let is_counted = *counted == self.periods && self.open.is_some_and(|open| open.hold == Hold::Stopped);
        if !is_counted {
            self.hold(Hold::Stopped, cause, now);
            *counted = self.periods;
        }
    }

    /// Whether a period goes on, which the next write may end.
    #[inline]
    pub fn holds(&self) -> bool {
        self.open.is_some()
    }

    /// The engine let a write in, in that condition. In a stop it lets deletes in, which end nothing.
    pub fn admitted(&mut self, condition: WriteCondition, now: Instant) {
        let goes_on = |open: &Period| match open.hold {
            Hold::Stopped => condition.is_stopped(),
            Hold::Delayed => condition.is_delayed(),
        };
        if self.open.as_ref().is_some_and(|open| !goes_on(open)) {
            self.end(now);
        }
    }

    fn hold(&mut self, hold: Hold, cause: WriteStallCause, now: Instant) {
        match &mut self.open {
            Some(open) if open.hold == hold => open.writes += 1,
            _ => {
                self.end(now);
                self.periods = self.periods.wrapping_add(1);
                self.open = Some(Period { hold, cause, begin: now, length: Duration::ZERO, writes: 1 });
            }
        }
    }

    fn end(&mut self, now: Instant) {
        if let Some(open) = self.open.take() {
            self.stalls.add(Period { length: now.since(open.begin), ..open });
        }
    }

    /// The periods so far; one that goes on lasts until `now`.
    pub fn stalls(&self, now: Instant) -> Stalls {
        let mut stalls = self.stalls.clone();
        if let Some(open) = self.open {
            stalls.add(Period { length: now.since(open.begin), ..open });
        }
        stalls
    }
}

#[cfg(test)]
mod tests;
