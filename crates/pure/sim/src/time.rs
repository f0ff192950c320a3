// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Points and lengths of time, in nanoseconds. The only two types of time in the pure crates.

use core::fmt;
use core::ops::{Add, AddAssign, Mul, Sub};

/// A point in time, in nanoseconds since the run began. In real time the driver maps the OS clock onto it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Instant {
    /// The beginning of a run.
    pub const ZERO: Self = Self(0);
    /// Later than every event.
    pub const FAR: Self = Self(u64::MAX);

    /// The point `nanos` nanoseconds after the beginning.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the beginning.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Time since `earlier`; zero when `earlier` is in fact later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

/// The earlier of two points in time, of which there may be none.
#[inline]
pub const fn earliest(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if a.0 <= b.0 { a } else { b }),
        (Some(one), None) | (None, Some(one)) => Some(one),
        (None, None) => None,
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A length of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The length in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The length in seconds, for reports.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time `bytes` take at `bytes_per_s`, rounded up; zero for an infinitely fast (0) link.
    pub const fn of_transfer(bytes: u64, bytes_per_s: u64) -> Self {
        if bytes_per_s == 0 {
            return Self(0);
        }
        if let Some(scaled) = bytes.checked_mul(1_000_000_000) {
            return Self(scaled.div_ceil(bytes_per_s));
        }
        let nanos = (bytes as u128 * 1_000_000_000).div_ceil(bytes_per_s as u128);
        Self(nanos as u64)
    }
}

impl From<std::time::Duration> for Duration {
    /// What is longer than 584 years is so long.
    fn from(length: std::time::Duration) -> Self {
        Self(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

impl Sub for Duration {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(self.0.saturating_sub(rhs.0))
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, rhs: u64) -> Self {
        Self(self.0.saturating_mul(rhs))
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..1_000 => write!(f, "{} ns", self.0),
            1_000..1_000_000 => write!(f, "{:.2} us", self.0 as f64 / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.2} ms", self.0 as f64 / 1e6),
            _ => write!(f, "{:.3} s", self.0 as f64 / 1e9),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfer_time_rounds_up() {
        assert_eq!(Duration::of_transfer(4096, 4_096_000_000), Duration::from_nanos(1000));
        assert_eq!(Duration::of_transfer(1, 3_000_000_000), Duration::from_nanos(1));
        assert_eq!(Duration::of_transfer(1 << 40, 0), Duration::ZERO);
    }

    /// The quotient is the same whether the product needs 128 bits or not: 2^64 / 10^9 bytes are the edge.
    #[test]
    fn long_transfers_take_the_time_of_their_bytes() {
        for bytes in [18_446_744_073, 18_446_744_074, 1 << 50] {
            let whole = (u128::from(bytes) * 1_000_000_000).div_ceil(7_000_000_001) as u64;
            assert_eq!(Duration::of_transfer(bytes, 7_000_000_001), Duration::from_nanos(whole));
        }
    }

    #[test]
    fn the_earlier_of_two_is_the_one_there_is() {
        let at = |n| Some(Instant::from_nanos(n));
        assert_eq!([earliest(at(3), at(2)), earliest(at(2), at(3))], [at(2), at(2)]);
        assert_eq!(
            [earliest(at(3), None), earliest(None, at(3)), earliest(None, None)],
            [at(3), at(3), None]
        );
    }

    #[test]
    fn lengths_of_the_standard_library_keep_their_nanoseconds() {
        let length = std::time::Duration::new(2, 3);
        assert_eq!(Duration::from(length), Duration::from_nanos(2_000_000_003));
        assert_eq!(Duration::from(std::time::Duration::MAX), Duration::from_nanos(u64::MAX));
    }

    #[test]
    fn time_never_runs_backwards() {
        assert_eq!(Instant::from_nanos(5).since(Instant::from_nanos(9)), Duration::ZERO);
        assert_eq!(Instant::FAR + Duration::from_nanos(1), Instant::FAR);
    }
}
