// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Zipfian ranks of any exponent, exactly: rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate
//! variates from monotone discrete distributions", ACM TOMACS 6(3), 1996). [`Zipf`](super::Zipf) is quicker and stops
//! below 1; production caches have exponents up to 2.7.

use saker_sim::Rng;

/// Draws ranks from 0 (hottest) to n - 1, rank r with a chance in proportion to (r + 1)^-alpha.
#[derive(Clone, Debug)]
pub struct Skewed {
    n: f64,
    alpha: f64,
    /// The area under the curve where rank 1 begins, and where rank n ends.
    first: f64,
    last: f64,
    /// Points so near to their rank are taken without a further look.
    near: f64,
}

impl Skewed {
    /// Ranks below `n` (at least 1) with an exponent of 0 (all alike) or more.
    pub fn new(n: u64, alpha: f64) -> Self {
        assert!(n >= 1 && alpha >= 0.0, "ranks and an exponent");
        let mut skewed = Self { n: n as f64, alpha, first: 0.0, last: 0.0, near: 0.0 };
        skewed.first = skewed.area(1.5) - 1.0;
        skewed.last = skewed.area(skewed.n + 0.5);
        skewed.near = 2.0 - skewed.at_area(skewed.area(2.5) - skewed.height(2.0));
        skewed
    }

    /// A rank.
    pub fn rank(&self, rng: &mut Rng) -> u64 {
        loop {
            let area = self.last + rng.unit() * (self.first - self.last);
            let point = self.at_area(area);
            let rank = libm::floor(point + 0.5).clamp(1.0, self.n);
            if rank - point <= self.near || area >= self.area(rank + 0.5) - self.height(rank) {
                return rank as u64 - 1;
            }
        }
    }

    fn height(&self, x: f64) -> f64 {
        libm::pow(x, -self.alpha)
    }

    /// The integral of [`height`](Self::height) from 1 to `x`.
    fn area(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let scaled = (1.0 - self.alpha) * log;
        log * if scaled.abs() < TINY { 1.0 + scaled / 2.0 } else { libm::expm1(scaled) / scaled }
    }

    /// The inverse of [`area`](Self::area).
    fn at_area(&self, area: f64) -> f64 {
        let scaled = (area * (1.0 - self.alpha)).max(-1.0);
        let per = if scaled.abs() < TINY { 1.0 - scaled / 2.0 } else { libm::log1p(scaled) / scaled };
        libm::exp(per * area)
    }
}

/// Below this the first two terms of the series are exact to the last bit.
const TINY: f64 = 1e-8;

#[cfg(test)]
mod tests {
    use super::*;
    use saker_sim::Seed;

    #[test]
    fn shares_are_those_of_the_law_whatever_the_exponent() {
        const DRAWS: u32 = 100_000;
        for (alpha, n) in [(0.0, 50), (0.5, 50), (0.99, 1000), (1.0, 50), (1.5, 1000), (2.68, 100), (1.2, 1)]
        {
            let (skewed, mut rng) = (Skewed::new(n, alpha), Seed(3).rng());
            let mut counts = vec![0u32; n as usize];
            (0..DRAWS).for_each(|_| counts[skewed.rank(&mut rng) as usize] += 1);
            let weights: Vec<f64> = (1..=n).map(|r| libm::pow(r as f64, -alpha)).collect();
            let sum: f64 = weights.iter().sum();
            let (mut below, mut expected) = (0.0, 0.0);
            for (count, weight) in counts.into_iter().zip(weights) {
                (below, expected) = (below + f64::from(count) / f64::from(DRAWS), expected + weight / sum);
                // The largest distance of an empirical distribution of so many draws: 1.63 / sqrt(n) at 1 %.
                assert!((below - expected).abs() < 0.0052, "{alpha} of {n}: {below} {expected}");
            }
        }
    }
}
