// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A token bucket without a clock. It is filled by the time that it is told, in whole numbers, so nothing is lost to rounding.
//!
//! Whoever meets a bucket that is not empty may take as much as he needs, and the bucket then owes it. So a command that is larger
//! than the bucket waits no longer than a small one, and over any time no more than the rate goes through, the bucket and one
//! command above it.

use saker_sim::Instant;

/// A full bucket has what comes in a tenth of a second.
const FILLINGS_A_SECOND: u64 = 10;
/// Levels count units times nanoseconds of a second.
const UNIT: i128 = 1_000_000_000;
/// No rate is higher, so that levels fit their numbers at all times.
const RATE_MAX: u64 = 1 << 62;

#[derive(Clone, Debug)]
pub(super) struct Bucket {
    /// Units a second, at least 1.
    rate: u64,
    /// What is in it, in billionths of a unit; below zero it is owed.
    level: i128,
    /// When that was.
    at: Instant,
}

impl Bucket {
    /// A full one.
    pub fn new(rate: u64, now: Instant) -> Self {
        let mut bucket = Self { rate: rate.clamp(1, RATE_MAX), level: 0, at: now };
        bucket.level = bucket.full();
        bucket
    }

    fn full(&self) -> i128 {
        i128::from((self.rate / FILLINGS_A_SECOND).max(1)) * UNIT
    }

    fn fill(&mut self, now: Instant) {
        let elapsed = now.since(self.at.min(now)).as_nanos();
        self.level = self.full().min(self.level + i128::from(self.rate) * i128::from(elapsed));
        self.at = self.at.max(now);
    }

    /// When the next may go; `None`: now.
    pub fn ready_at(&mut self, now: Instant) -> Option<Instant> {
        self.fill(now);
        if self.level > 0 {
            return None;
        }
        let nanos = (1 - self.level).div_euclid(i128::from(self.rate)) + 1;
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        Some(Instant::from_nanos(now.as_nanos().saturating_add(nanos)))
    }

    /// Takes units.
    pub fn take(&mut self, units: u64) {
        self.level -= i128::from(units) * UNIT;
    }

    /// Gives units back that were not used.
    pub fn give(&mut self, units: u64) {
        self.level = self.full().min(self.level + i128::from(units) * UNIT);
    }

    /// Fills by another rate from now on. What is owed stays owed.
    pub fn set_rate(&mut self, rate: u64, now: Instant) {
        self.fill(now);
        self.rate = rate.clamp(1, RATE_MAX);
        self.level = self.level.min(self.full());
    }

    /// Whether nothing would be lost with it.
    pub fn is_full(&mut self, now: Instant) -> bool {
        self.fill(now);
        self.level == self.full()
    }

    /// What is owed, in nanoseconds of filling.
    pub fn debt_nanos(&mut self, now: Instant) -> u64 {
        self.ready_at(now).map_or(0, |at| at.since(now).as_nanos())
    }
}
