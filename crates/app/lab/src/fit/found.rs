// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a fit found.

use super::points::{Measured, Role};
use crate::report::number;
use saker_host::Method;
use saker_profile::Profile;
use serde_json::{Value, json};

/// A number after a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// Its path in the profile.
    pub path: String,
    /// What the profile said, as TOML.
    pub before: String,
    /// What fits best.
    pub value: u64,
    /// Bounds.
    pub bounds: (u64, u64),
    /// Where it is with a confidence of 95 %, by the residuals; `None` at a bound, where nothing is known beyond.
    pub interval: Option<(f64, f64)>,
}

/// A point after a fit.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The point.
    pub measured: Measured,
    /// What the profile gives with the fitted numbers ...
    pub after: f64,
    /// ... and gave before.
    pub before: f64,
}

impl Fitted {
    /// How far the profile is off, as a part of the measurement.
    pub fn error(&self) -> f64 {
        self.after / self.measured.value - 1.0
    }

    /// The same before the fit.
    pub fn error_before(&self) -> f64 {
        self.before / self.measured.value - 1.0
    }
}

/// What a fit found.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The profile with the fitted numbers, whose source is `fitted`.
    pub profile: Profile,
    /// The numbers.
    pub numbers: Vec<Number>,
    /// All points, those that were held back too.
    pub points: Vec<Fitted>,
}

impl Fit {
    /// Root of the mean square of relative errors of the points of a role, after the fit and before. `None`: there are none.
    pub fn errors(&self, role: Role) -> Option<(f64, f64)> {
        let of_role: Vec<_> = self.points.iter().filter(|point| point.measured.role == role).collect();
        let root = |of: &dyn Fn(&Fitted) -> f64| {
            (of_role.iter().map(|point| of(point).powi(2)).sum::<f64>() / of_role.len() as f64).sqrt()
        };
        (!of_role.is_empty()).then(|| (root(&Fitted::error), root(&Fitted::error_before)))
    }

    /// The numbers in words.
    pub fn told(&self) -> String {
        let number = |n: &Number| {
            let interval = match n.interval {
                Some((least, most)) => format!("{least:.0} to {most:.0}"),
                None => "at its bound".to_owned(),
            };
            format!("{} = {} ({interval})", n.path, n.value)
        };
        self.numbers.iter().map(number).collect::<Vec<_>>().join(", ")
    }

    /// All of it as JSON.
    pub fn to_json(&self) -> Value {
        let of_number = |n: &Number| {
            let interval = n.interval.map(|(least, most)| json!([number(least), number(most)]));
            json!({
                "path": n.path, "before": n.before, "value": n.value,
                "bounds": [n.bounds.0, n.bounds.1], "interval_95": interval,
            })
        };
        let of_point = |p: &Fitted| {
            json!({
                "method": p.measured.method.name(), "over": p.measured.over.map(Method::name), "bytes": p.measured.bytes,
                "role": p.measured.role, "measured": number(p.measured.value), "before": number(p.before),
                "after": number(p.after), "error": number(p.error()),
            })
        };
        let errors = |role| {
            self.errors(role)
                .map(|(after, before)| json!({ "after": number(after), "before": number(before) }))
        };
        json!({
            "numbers": self.numbers.iter().map(of_number).collect::<Vec<_>>(),
            "points": self.points.iter().map(of_point).collect::<Vec<_>>(),
            "rms_error_fit": errors(Role::Fit), "rms_error_held": errors(Role::Held),
        })
    }
}
