// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rate of delayed writes (`SetupDelay`).

/// Nothing makes it lower (line 877).
pub const RATE_MIN: u64 = 16 << 10;

/// Lines 866 to 869.
const WHEN_DEBT_STAYS: f64 = 0.8;
const WHEN_DEBT_FALLS: f64 = 1.0 / WHEN_DEBT_STAYS;
const NEAR_STOP: f64 = 0.6;
const WHEN_OVER: f64 = 1.4;

/// Bytes a second, and where it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    most: u64,
    now: u64,
}

impl Rate {
    /// The rate.
    pub const fn now(self) -> u64 {
        self.now
    }

    /// The setting: another one begins anew (`write_controller.h` lines 72 to 80).
    pub fn begin_at(&mut self, most: u64) {
        let most = most.max(1);
        if self.most != most {
            *self = Self { most, now: most };
        }
    }

    /// Writes were delayed and still are (lines 885 to 932). A rate that was asked for and is no higher than the least stays.
    ///
    /// In RocksDB the first factor is also that of writes that were stopped until now, but only where another column family delays them
    /// at the same time: a stop takes the place of the delay, and without one the rate stays. So it keeps its rate over a stop, as its
    /// own test has it (`db/column_family_test.cc` lines 2717 to 2732).
    pub fn adjust(&mut self, is_near_stop: bool, debt_before: u64, debt: u64) {
        if self.most <= RATE_MIN {
            return;
        }
        if is_near_stop {
            self.now = scaled(self.now, NEAR_STOP).max(RATE_MIN);
        } else if debt_before > 0 && debt_before <= debt {
            self.now = scaled(self.now, WHEN_DEBT_STAYS).max(RATE_MIN);
        } else if debt_before > debt {
            self.now = scaled(self.now, WHEN_DEBT_FALLS);
        }
        self.now = self.now.min(self.most);
    }

    /// Writes are not delayed any more: the next time they begin at a higher rate (lines 1202 to 1208).
    pub fn recover(&mut self) {
        self.now = scaled(self.now, WHEN_OVER).min(self.most);
    }
}

fn scaled(rate: u64, factor: f64) -> u64 {
    (rate as f64 * factor) as u64
}
