// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Zipfian ranks, after Gray, Sundaresan, Englert, Baclawski and Weinberger, "Quickly generating billion-record
//! synthetic databases" (SIGMOD 1994), section 3.2: exact for the two hottest ranks, a power curve for the rest.

use crate::error::WorkloadError;
use saker_sim::Rng;

/// Draws ranks from 0 (hottest) to n - 1, rank r with a chance of about 1 / ((r + 1)^theta zeta(n, theta)).
#[derive(Clone, Debug)]
pub struct Zipf {
    n: u64,
    theta: f64,
    zeta_n: f64,
    /// Where rank 1 ends, on the scale of `zeta_n`.
    second: f64,
    alpha: f64,
    eta: f64,
}

impl Zipf {
    /// Ranks below `n` (at least 1) with exponent `theta`.
    ///
    /// # Errors
    /// An exponent outside (0, 1).
    pub fn new(n: u64, theta: f64) -> Result<Self, WorkloadError> {
        assert!(n >= 1);
        if !(theta > 0.0 && theta < 1.0) {
            return Err(WorkloadError::Theta { theta: theta.to_string() });
        }
        let second = 1.0 + libm::pow(0.5, theta);
        let mut zipf =
            Self { n, theta, zeta_n: zeta(n, theta), second, alpha: 1.0 / (1.0 - theta), eta: 0.0 };
        zipf.fit();
        Ok(zipf)
    }

    /// One rank more.
    pub fn grow(&mut self) {
        self.n += 1;
        self.zeta_n += libm::pow(self.n as f64, -self.theta);
        self.fit();
    }

    /// Sets the curve's scale, so that it meets the exact part where rank 2 begins.
    fn fit(&mut self) {
        // With two ranks or fewer the curve is never asked, and its scale would be 0 / 0.
        if self.n > 2 {
            let ends = 1.0 - libm::pow(2.0 / self.n as f64, 1.0 - self.theta);
            self.eta = ends / (1.0 - self.second / self.zeta_n);
        }
    }

    /// A rank.
    #[inline]
    pub fn rank(&self, rng: &mut Rng) -> u64 {
        let unit = rng.unit();
        let at = unit * self.zeta_n;
        if at < 1.0 || self.n == 1 {
            return 0;
        }
        if at < self.second || self.n == 2 {
            return 1;
        }
        let curve = libm::pow(self.eta * unit - self.eta + 1.0, self.alpha);
        ((self.n as f64 * curve) as u64).min(self.n - 1)
    }
}

/// Terms that [`zeta`] adds one by one.
const EXACT_TERMS: u64 = 1000;

/// The sum of k^-theta for k = 1..=n: term by term up to a thousand, the rest by the Euler-Maclaurin formula
/// (error below 1e-11), so that a billion keys cost no more than a thousand.
pub fn zeta(n: u64, theta: f64) -> f64 {
    let m = n.min(EXACT_TERMS);
    let head: f64 = (1..=m).map(|k| libm::pow(k as f64, -theta)).sum();
    if n == m { head } else { head + zeta_tail(m as f64, n as f64, theta) }
}

/// The sum of k^-theta for k = m + 1 ..= n: integral, end-point terms, first derivative terms.
fn zeta_tail(m: f64, n: f64, theta: f64) -> f64 {
    let integral = (libm::pow(n, 1.0 - theta) - libm::pow(m, 1.0 - theta)) / (1.0 - theta);
    let ends = (libm::pow(n, -theta) - libm::pow(m, -theta)) / 2.0;
    let slopes = theta * (libm::pow(m, -theta - 1.0) - libm::pow(n, -theta - 1.0)) / 12.0;
    integral + ends + slopes
}
