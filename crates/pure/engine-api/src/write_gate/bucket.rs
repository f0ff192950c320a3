// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The token bucket of delayed writes, as RocksDB has it (facebook/rocksdb v11.8.1, `db/write_controller.cc` lines 51 to 100), in
//! nanoseconds where that has microseconds.

use saker_sim::{Duration, Instant};

/// Tokens come in slices of so long, and nobody waits for less (lines 69 and 99).
pub const SLICE: Duration = Duration::from_nanos(1_000_000);

const SECOND_NS: u128 = 1_000_000_000;

/// Bytes that may be written without waiting, and when there are more.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokenBucket {
    credit_bytes: u64,
    /// When tokens come next; `None`: at once (lines 71 to 74).
    refill_at: Option<Instant>,
}

impl TokenBucket {
    /// How long a write of so many bytes has to wait; it counts as written. The rate is in bytes a second.
    pub fn take(&mut self, bytes: u64, rate: u64, now: Instant) -> Duration {
        if self.spend(bytes) {
            return Duration::ZERO;
        }
        let rate = u128::from(rate.max(1));
        let refill_at = self.refill_at.unwrap_or(now);
        self.refill_at = Some(refill_at);
        if refill_at <= now {
            // A slice, and what has passed since it was due (lines 75 to 80); a part of a byte is one.
            let elapsed = u128::from((now.since(refill_at) + SLICE).as_nanos());
            self.credit_bytes =
                self.credit_bytes.saturating_add(clamped((elapsed * rate).div_ceil(SECOND_NS)));
            self.refill_at = Some(now + SLICE);
            if self.spend(bytes) {
                return Duration::ZERO;
            }
        }
        // What is lacking is written in advance: the next tokens come so much later (lines 91 to 96).
        let lacking = u128::from(bytes - std::mem::take(&mut self.credit_bytes));
        let wait = Duration::from_nanos(clamped(lacking * SECOND_NS / rate));
        let refill_at = self.refill_at.unwrap_or(now) + wait;
        self.refill_at = Some(refill_at);
        refill_at.since(now).max(SLICE)
    }

    fn spend(&mut self, bytes: u64) -> bool {
        let left = self.credit_bytes.checked_sub(bytes);
        self.credit_bytes = left.unwrap_or(self.credit_bytes);
        left.is_some()
    }
}

fn clamped(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    fn us(duration: Duration) -> u64 {
        duration.as_nanos() / 1000
    }

    #[test]
    fn tokens_come_in_slices() {
        let (mut bucket, rate) = (TokenBucket::default(), 1_000_000);
        assert_eq!(us(bucket.take(400, rate, at(0))), 0, "the first slice is there");
        assert_eq!(us(bucket.take(600, rate, at(0))), 0);
        assert_eq!(
            us(bucket.take(1, rate, at(0))),
            1001,
            "the next tokens come after a slice, and are spent"
        );
        assert_eq!(us(bucket.take(500, rate, at(1001))), 0, "a slice has come");
        assert_eq!(us(bucket.take(501, rate, at(1001))), 1001);
    }

    #[test]
    fn nobody_waits_for_less_than_a_slice() {
        let (mut bucket, rate) = (TokenBucket::default(), 1_000_000);
        assert_eq!(us(bucket.take(1000, rate, at(0))), 0);
        assert_eq!(us(bucket.take(2, rate, at(999))), 1000, "though tokens come in one, and lack two");
    }

    #[test]
    fn time_without_writes_is_credit() {
        let (mut bucket, rate) = (TokenBucket::default(), 1_000_000);
        assert_eq!(us(bucket.take(1000, rate, at(0))), 0);
        assert_eq!(us(bucket.take(10_000, rate, at(10_000))), 0, "nine slices late, and the one that is due");
        assert_eq!(us(bucket.take(1, rate, at(10_000))), 1001);
    }

    #[test]
    fn a_long_write_makes_the_next_wait() {
        let (mut bucket, rate) = (TokenBucket::default(), 1_000_000);
        assert_eq!(
            us(bucket.take(5000, rate, at(0))),
            5000,
            "a slice at once, the rest one by one behind it"
        );
        assert_eq!(us(bucket.take(1, rate, at(5000))), 0);
    }

    #[test]
    fn bytes_of_a_second_are_the_rate_within_a_slice_and_a_write() {
        for (rate, bytes) in [(16 << 20, 4096 + 16), (1 << 20, 116), (16 << 10, 116), (3_333_333, 60_000)] {
            let (mut bucket, mut now, mut written) = (TokenBucket::default(), at(0), 0);
            loop {
                let wait = bucket.take(bytes, rate, now);
                now = now + wait;
                if now > at(1_000_000) {
                    break;
                }
                written += bytes;
            }
            // The first slice is there at the beginning, and the last write may be under way.
            let slice = rate / 1000;
            let far = written.abs_diff(rate);
            assert!(far <= slice + bytes + 1, "{rate}: {written} bytes of {bytes} each");
        }
    }

    #[test]
    fn no_rate_and_huge_writes_are_long_waits() {
        let mut bucket = TokenBucket::default();
        let long = bucket.take(u64::MAX, 0, at(0));
        assert!(long > Duration::from_nanos(u64::MAX / 2), "{long:?}");
    }
}
