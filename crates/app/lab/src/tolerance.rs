// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How far from a claim still counts.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A tolerance, written as its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Tolerance {
    /// `EXACT`: equal. On random workloads: equal to an independent count over the run's own sizes, and within half
    /// a per cent of the published value.
    Exact,
    /// `PP1`, `PP3`: so many percentage points at most; both numbers are percentages.
    Points(u32),
    /// `R10`, `R15`, `R25`: so many per cent of the expected value at most.
    Relative(u32),
    /// `ORD`: only order or shape.
    Order,
}

/// A code that stands for no tolerance.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no tolerance: EXACT, PP1, R15, ORD and the like")]
pub struct UnknownTolerance(String);

/// Distance from a published value at which an exact count over random sizes is still the published one.
const DRAW_PER_CENT: f64 = 0.5;
/// Rounding of sums in floating point.
const ROUNDING: f64 = 1e-9;

impl Tolerance {
    /// Whether `measured` is near enough to `expected`. `ORD` has no distance: never.
    pub fn holds(self, expected: f64, measured: f64) -> bool {
        if !(expected.is_finite() && measured.is_finite()) {
            return false;
        }
        let distance = (measured - expected).abs();
        match self {
            Self::Exact => distance <= ROUNDING * expected.abs(),
            Self::Points(points) => distance <= f64::from(points) + ROUNDING,
            Self::Relative(per_cent) => distance <= expected.abs() * (f64::from(per_cent) / 100.0 + ROUNDING),
            Self::Order => false,
        }
    }
}

/// Whether a count over the run's own draws equals an independent one, and both the published value to half a per
/// cent.
pub fn drawn_exactly(published: f64, counted: u64, oracle: u64, per: u64) -> bool {
    let mean = counted as f64 / per.max(1) as f64;
    counted == oracle && (mean - published).abs() <= published.abs() * DRAW_PER_CENT / 100.0
}

impl TryFrom<String> for Tolerance {
    type Error = UnknownTolerance;

    fn try_from(code: String) -> Result<Self, UnknownTolerance> {
        let after = |prefix| code.strip_prefix(prefix).and_then(|digits: &str| digits.parse().ok());
        match code.as_str() {
            "EXACT" => Ok(Self::Exact),
            "ORD" => Ok(Self::Order),
            _ => after("PP")
                .map(Self::Points)
                .or_else(|| after("R").map(Self::Relative))
                .ok_or_else(|| UnknownTolerance(code.clone())),
        }
    }
}

impl From<Tolerance> for String {
    fn from(tolerance: Tolerance) -> Self {
        match tolerance {
            Tolerance::Exact => "EXACT".to_owned(),
            Tolerance::Points(n) => format!("PP{n}"),
            Tolerance::Relative(n) => format!("R{n}"),
            Tolerance::Order => "ORD".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: &str) -> Tolerance {
        Tolerance::try_from(code.to_owned()).unwrap()
    }

    #[test]
    fn codes_lead_back_and_others_are_refused() {
        for code in ["EXACT", "PP1", "PP3", "R10", "R15", "R25", "ORD"] {
            assert_eq!(String::from(of(code)), code);
        }
        for code in ["", "R", "PP", "PPx", "exact", "R-5", "ORDER"] {
            assert!(Tolerance::try_from(code.to_owned()).is_err(), "{code}");
        }
    }

    #[test]
    fn exact_is_equal() {
        assert!(of("EXACT").holds(4184.0, 4184.0));
        assert!(!of("EXACT").holds(4184.0, 4185.0) && !of("EXACT").holds(0.0, 1e-12));
    }

    #[test]
    fn points_are_distances_between_percentages() {
        assert!(of("PP1").holds(97.9, 96.9) && of("PP1").holds(97.9, 98.9));
        assert!(!of("PP1").holds(97.9, 96.8) && of("PP3").holds(97.9, 94.9) && !of("PP3").holds(97.9, 94.8));
    }

    #[test]
    fn relative_is_a_share_of_the_expected() {
        for (code, good, bad) in [("R10", 0.9, 0.89), ("R15", 1.15, 1.16), ("R25", 0.75, 0.74)] {
            assert!(of(code).holds(1.0, good) && !of(code).holds(1.0, bad), "{code}");
        }
        assert!(of("R10").holds(-10.0, -11.0) && !of("R10").holds(-10.0, 10.0));
    }

    #[test]
    fn nothing_is_near_what_is_no_number() {
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(!of("R25").holds(1.0, bad) && !of("PP3").holds(bad, 1.0) && !of("EXACT").holds(bad, bad));
        }
        assert!(!of("ORD").holds(1.0, 1.0), "an order is not a distance");
    }

    #[test]
    fn drawn_counts_need_the_oracle_and_the_publication() {
        assert!(drawn_exactly(404.8, 4050, 4050, 10));
        assert!(!drawn_exactly(404.8, 4050, 4051, 10), "not what was counted independently");
        assert!(!drawn_exactly(404.8, 4080, 4080, 10), "0.8 % from the publication");
    }
}
