// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Value sizes by methods.

use crate::context::Context;
use crate::error::LabError;
use crate::report::Point;
use crate::rig::{Cell, Stored, add_metrics, stores};
use saker_host::{Method, Pacing};
use saker_profile::Profile;
use serde_json::json;

/// Stores of a run that is not judged: times of equal stores are equal.
const COUNTERFACTUAL_OPERATIONS: u64 = 100;

/// Points by method and value size.
#[derive(Debug, Default)]
pub struct Grid {
    points: Vec<Point>,
    runs: Vec<(String, u32, Stored)>,
}

/// What a grid has in common.
#[derive(Debug)]
pub struct Common<'a> {
    /// The profile.
    pub profile: &'a Profile,
    /// Stores of each run.
    pub operations: u64,
    /// How commands go out.
    pub pacing: Pacing,
    /// Whether pages are programmed.
    pub nand: bool,
}

/// Workload A by each method at each size, transfers alone, one command at a time: BandSlim's section 4.2.
///
/// # Errors
/// [`LabError`].
pub fn sizes(cx: &Context<'_>, methods: &[Method], value_bytes: &[u32]) -> Result<Grid, LabError> {
    let profile = cx.profile()?;
    let operations = cx.operations(200);
    let common = Common { profile: &profile, operations, pacing: Pacing::Passthrough, nand: false };
    let mut grid = Grid::default();
    for method in methods {
        grid.add_method(cx, &common, *method, value_bytes)?;
    }
    Ok(grid)
}

/// Some sizes by some methods on a profile with other numbers: what the verdict would be without a cost, or with another
/// guess of one that is not published. Never judged.
///
/// # Errors
/// [`LabError`].
pub fn otherwise(
    cx: &Context<'_>,
    changes: &[(&str, &str)],
    methods: &[Method],
    value_bytes: &[u32],
) -> Result<Grid, LabError> {
    let mut profile = cx.profile()?;
    changes.iter().try_for_each(|(path, text)| profile.set(path, text))?;
    let common = Common {
        profile: &profile,
        operations: COUNTERFACTUAL_OPERATIONS,
        pacing: Pacing::Passthrough,
        nand: false,
    };
    let mut grid = Grid::default();
    for method in methods {
        grid.add_method(cx, &common, *method, value_bytes)?;
    }
    Ok(grid)
}

impl Grid {
    /// Runs one method at each size.
    ///
    /// # Errors
    /// [`LabError`].
    pub fn add_method(
        &mut self,
        cx: &Context<'_>,
        common: &Common<'_>,
        method: Method,
        value_bytes: &[u32],
    ) -> Result<(), LabError> {
        for size in value_bytes {
            cx.note(format!("{}, {size} B", method.name()));
            let (pacing, nand) = (common.pacing, common.nand);
            let cell = Cell { pacing, nand, ..Cell::transfer(method, *size) };
            let run = stores(common.profile, cx.seed, common.operations, &cell)?;
            let mut point = Point::at([("method", json!(method.name())), ("value_bytes", json!(size))]);
            add_metrics(&mut point, &run);
            self.points.push(point);
            self.runs.push((method.name().to_owned(), *size, run));
        }
        Ok(())
    }

    /// A number of a method at a size; not a number where it was not run.
    pub fn get(&self, method: Method, size: u32, name: &str) -> f64 {
        let place = [("method", &json!(method.name())), ("value_bytes", &json!(size))];
        self.points.iter().find(|p| p.is_at(&place)).and_then(|p| p.get(name)).unwrap_or(f64::NAN)
    }

    /// A number of a method in relation to the same number of another, at a size.
    pub fn ratio(&self, method: Method, base: Method, size: u32, name: &str) -> f64 {
        self.get(method, size, name) / self.get(base, size, name)
    }

    /// Every run with its method's name and its size.
    pub fn runs(&self) -> impl Iterator<Item = (&str, u32, &Stored)> {
        self.runs.iter().map(|(method, size, run)| (method.as_str(), *size, run))
    }

    /// The points.
    pub fn into_series(self) -> Vec<Point> {
        self.points
    }
}
