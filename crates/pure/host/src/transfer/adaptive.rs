// SPDX-License-Identifier: Apache-2.0 OR MIT
//! BandSlim's adaptive transfer (ICPP'24, section 3.2): small values in commands, small tails too, the rest by pages.

use super::Method;
use saker_nvme::vendor_specific::HYBRID_PAGE_BYTES;

/// Two thresholds and their coefficients. The paper leaves open the order of the rules and what a value of less than a page
/// with a small remainder does; here piggyback is asked first, and hybrid needs a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adaptive {
    /// Values of fewer bytes than alpha times this go in commands: 128 in the paper.
    pub threshold1: u32,
    /// Values with a page whose rest has fewer bytes than beta times this go hybrid.
    pub threshold2: u32,
    /// alpha in percent: 100 is the measured threshold, more saves traffic for time.
    pub alpha_percent: u32,
    /// beta in percent.
    pub beta_percent: u32,
}

impl Adaptive {
    /// Thresholds in bytes with alpha = beta = 1.
    #[must_use]
    pub const fn new(threshold1: u32, threshold2: u32) -> Self {
        Self { threshold1, threshold2, alpha_percent: 100, beta_percent: 100 }
    }

    /// The method for a value of `bytes` bytes.
    #[inline]
    #[must_use]
    pub const fn choose(&self, bytes: u32) -> Method {
        let rest = bytes % HYBRID_PAGE_BYTES;
        if below(bytes, self.threshold1, self.alpha_percent) {
            Method::Piggyback
        } else if bytes > HYBRID_PAGE_BYTES && rest > 0 && below(rest, self.threshold2, self.beta_percent) {
            Method::Hybrid
        } else {
            Method::Prp
        }
    }
}

/// Exact: no coefficient rounds a threshold.
const fn below(bytes: u32, threshold: u32, percent: u32) -> bool {
    (bytes as u64) * 100 < (threshold as u64) * (percent as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_in_their_order() {
        let paper = Adaptive::new(128, 64);
        let chosen = [0, 35, 127, 128, 4095, 4096, 4097, 4159, 4160, 8192, 8193].map(|v| paper.choose(v));
        use Method::{Hybrid, Piggyback, Prp};
        let expected = [Piggyback, Piggyback, Piggyback, Prp, Prp, Prp, Hybrid, Hybrid, Prp, Prp, Hybrid];
        assert_eq!(chosen, expected);
    }

    #[test]
    fn no_hybrid_without_a_page() {
        let wide = Adaptive::new(16, 4096);
        assert!((16..4096).all(|v| wide.choose(v) == Method::Prp));
        assert_eq!(wide.choose(4097), Method::Hybrid);
    }

    #[test]
    fn coefficients_only_widen() {
        let count = |a: Adaptive, m| (0..20_000).filter(|v| a.choose(*v) == m).count();
        let of =
            |alpha_percent, beta_percent| Adaptive { alpha_percent, beta_percent, ..Adaptive::new(91, 40) };
        let alphas = [50, 100, 101, 150, 300].map(|alpha| count(of(alpha, 100), Method::Piggyback));
        assert_eq!(alphas, [46, 91, 92, 137, 273]);
        let betas = [0, 100, 101, 300].map(|beta| count(of(100, beta), Method::Hybrid));
        assert!(betas[0] == 0 && betas.is_sorted() && betas[3] > 2 * betas[1], "{betas:?}");
    }
}
