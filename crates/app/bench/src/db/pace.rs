// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When operations are meant to begin.

use saker_sim::{Rng, Seed};

/// Operations per second, of all threads together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// Always the same.
    Fixed(f64),
    /// Rising and falling (mixgraph's `sine_mix_rate`).
    Sine(Sine),
}

/// a sin(b t + c) + d operations per second after t seconds, looked at anew at every interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sine {
    /// Amplitude.
    pub a: f64,
    /// Radians per second.
    pub b: f64,
    /// Radians at the start.
    pub c: f64,
    /// Mean.
    pub d: f64,
    /// Milliseconds between two looks.
    pub interval_ms: u64,
    /// Up to this part of the rate is added or taken away at random.
    pub noise: f64,
}

impl Rate {
    /// Whether operations can keep to it.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        match self {
            Self::Fixed(rate) => *rate > 0.0 && rate.is_finite(),
            Self::Sine(s) => s.d.is_finite() && s.a.is_finite() && s.interval_ms > 0,
        }
    }
}

/// The intended starts of one of several threads: they take turns.
#[derive(Debug)]
pub(super) struct Pace {
    rate: Rate,
    threads: f64,
    due_ns: f64,
    rng: Rng,
    /// The rate that counts until then.
    now: (f64, f64),
}

/// No rate falls below this: a sine may be below 0.
const RATE_MIN: f64 = 1.0;

impl Pace {
    pub(super) fn new(rate: Rate, thread: u64, threads: u64, seed: u64) -> Self {
        let rng = Seed(seed).child("pace").index(thread).rng();
        let mut pace = Self { rate, threads: threads as f64, due_ns: 0.0, rng, now: (0.0, 0.0) };
        let first = pace.per_second();
        pace.due_ns = thread as f64 * 1e9 / first;
        pace
    }

    /// When the next operation is meant to begin, in nanoseconds from the start.
    pub(super) fn next_due(&mut self) -> u64 {
        let due = self.due_ns;
        self.due_ns += self.threads * 1e9 / self.per_second();
        due as u64
    }

    fn per_second(&mut self) -> f64 {
        let sine = match self.rate {
            Rate::Fixed(rate) => return rate,
            Rate::Sine(sine) => sine,
        };
        if self.due_ns >= self.now.1 {
            let noise = 1.0 + sine.noise * (2.0 * self.rng.unit() - 1.0);
            let rate = (sine.a * (sine.b * self.due_ns / 1e9 + sine.c).sin() + sine.d) * noise;
            self.now = (rate.max(RATE_MIN), self.due_ns + sine.interval_ms as f64 * 1e6);
        }
        self.now.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_turns() {
        let mut paces = [0, 1].map(|n| Pace::new(Rate::Fixed(1000.0), n, 2, 1));
        let dues: Vec<_> = (0..6).map(|n| paces[n % 2].next_due()).collect();
        assert_eq!(dues, [0, 1_000_000, 2_000_000, 3_000_000, 4_000_000, 5_000_000]);
    }

    #[test]
    fn a_sine_rises_and_falls() {
        let pi = std::f64::consts::PI;
        let sine = Sine { a: 50.0, b: pi / 2.0, c: 0.0, d: 100.0, interval_ms: 1, noise: 0.0 };
        let mut pace = Pace::new(Rate::Sine(sine), 0, 1, 1);
        let mut seconds = [0; 4];
        while let second @ 0..4 = pace.next_due() / 1_000_000_000 {
            seconds[second as usize] += 1;
        }
        // The mean of the sine over a quarter of its period is 2 / pi.
        for (found, expected) in seconds.into_iter().zip([132, 132, 68, 68]) {
            assert!(i32::abs_diff(found, expected) <= 2, "{seconds:?}");
        }
    }
}
