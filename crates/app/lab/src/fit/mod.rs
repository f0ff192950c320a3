// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calibrates named numbers of a profile from measured points, and predicts points that took no part.
//!
//! What may be chosen, within which bounds, and on which points, is fixed before. A fit is refused that has no more points than numbers,
//! or whose points do not tell a number, or two numbers apart. Times are those of stores that go one at a time on a device in virtual
//! time whose NAND is off, so what is fitted is what a store takes until it is in the device's buffer.

mod figure;
mod found;
mod points;
mod solve;

use crate::error::LabError;
use crate::report::Point;
use crate::rig::{Cell, add_metrics, stores};
use saker_host::{Method, Pacing};
use saker_profile::{Profile, ProfileError};
use std::collections::BTreeMap;
use thiserror::Error;

pub use figure::{Figure, figure, figures};
pub use found::{Fit, Fitted, Number};
pub use points::{Measured, Role, read};

/// A fit that cannot be made.
#[derive(Debug, Error)]
pub enum FitError {
    /// A file of points that cannot be read.
    #[error("line {line}: {what}")]
    Point {
        /// The line, from 1.
        line: usize,
        /// What is wrong in it.
        what: String,
    },
    /// Not of the form.
    #[error("`{0}` is no number to fit: write PATH=LEAST..MOST, such as transfer.page_dma_ns=0..50000")]
    Form(String),
    /// Not more points than numbers.
    #[error("{points} points cannot tell {numbers} numbers and how far off they are: give at least {} points to fit", .numbers + 1)]
    TooFew {
        /// Points to fit.
        points: usize,
        /// Numbers.
        numbers: usize,
    },
    /// A number twice, or none at all.
    #[error("{0}")]
    Numbers(String),
    /// No point changes with a number.
    #[error("the points do not depend on {0}: leave it out, or add points that do")]
    Untold(String),
    /// Numbers that change the points in the same way.
    #[error("the points do not tell {0} apart: leave one out, or add points on which they differ")]
    Alike(String),
    /// A profile that does not take a number.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A device that could not be run.
    #[error(transparent)]
    Lab(Box<LabError>),
}

impl From<FitError> for LabError {
    fn from(error: FitError) -> Self {
        Self::Fit(error.to_string())
    }
}

impl From<LabError> for FitError {
    fn from(error: LabError) -> Self {
        Self::Lab(Box::new(error))
    }
}

/// A number that may be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Free {
    /// Its path in the profile.
    pub path: String,
    /// Bounds, which it may reach.
    pub bounds: (u64, u64),
}

impl Free {
    /// Reads `PATH=LEAST..MOST`.
    ///
    /// # Errors
    /// `Form`.
    pub fn parse(text: &str) -> Result<Self, FitError> {
        let form = || FitError::Form(text.to_owned());
        let (path, bounds) = text.split_once('=').ok_or_else(form)?;
        let (least, most) = bounds.split_once("..").ok_or_else(form)?;
        let number = |text: &str| text.trim().replace('_', "").parse::<u64>().map_err(|_| form());
        let bounds = (number(least)?, number(most)?);
        if path.trim().is_empty() || bounds.0 >= bounds.1 {
            return Err(form());
        }
        Ok(Self { path: path.trim().to_owned(), bounds })
    }
}

/// Fits numbers of a profile to points. `from` says in the profile where the points are from.
///
/// # Errors
/// [`FitError`].
pub fn fit(
    profile: &Profile,
    free: &[Free],
    points: &[Measured],
    from: &str,
    pacing: Pacing,
) -> Result<Fit, FitError> {
    let used: Vec<Measured> = points.iter().filter(|point| point.role == Role::Fit).cloned().collect();
    check(profile, free, used.len())?;
    let mut model = Model { profile, free, pacing };
    let found = solve::solve(&mut model, free, &used)?;
    let value = |n: &Free| {
        profile.rows().into_iter().find(|row| row.path == n.path).map_or(String::new(), |row| row.value)
    };
    let numbers: Vec<Number> = free
        .iter()
        .zip(found)
        .map(|(n, (at, interval))| Number {
            path: n.path.clone(),
            before: value(n),
            value: at,
            bounds: n.bounds,
            interval,
        })
        .collect();
    let at: Vec<u64> = numbers.iter().map(|n| n.value).collect();
    let (after, before) = (model.values(&model.with(&at)?, points)?, model.values(profile, points)?);
    let told = points.iter().zip(after.into_iter().zip(before));
    let points = told
        .map(|(measured, (after, before))| Fitted { measured: measured.clone(), after, before })
        .collect();
    let profile = marked(&model.with(&at)?, &numbers, from, used.len())?;
    Ok(Fit { profile, numbers, points })
}

fn check(profile: &Profile, free: &[Free], points: usize) -> Result<(), FitError> {
    let mut known: Vec<&str> = free.iter().map(|n| n.path.as_str()).collect();
    known.sort_unstable();
    if known.is_empty() {
        return Err(FitError::Numbers("there is no number to fit: name one".to_owned()));
    }
    if let Some(twice) = known.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(FitError::Numbers(format!("{} is to be fitted twice: name it once", twice[0])));
    }
    for n in free {
        let mut changed = profile.clone();
        [n.bounds.0, n.bounds.1].iter().try_for_each(|value| changed.set(&n.path, &value.to_string()))?;
    }
    if points <= free.len() {
        return Err(FitError::TooFew { points, numbers: free.len() });
    }
    Ok(())
}

/// The profile with notes that say what was fitted.
fn marked(profile: &Profile, numbers: &[Number], from: &str, points: usize) -> Result<Profile, ProfileError> {
    let mut table: toml::Table = toml::from_str(&profile.to_toml()).unwrap_or_default();
    for n in numbers {
        let mut at = Some(&mut table);
        for key in n.path.split('.') {
            at = at.and_then(|table| table.get_mut(key)).and_then(toml::Value::as_table_mut);
        }
        let Some(entry) = at else { continue };
        let interval = n
            .interval
            .map_or("at its bound".to_owned(), |(least, most)| format!("95 %: {least:.0} to {most:.0}"));
        let note = format!("fit of {} numbers to {points} points, {from}; {interval}", numbers.len());
        entry.insert("source".into(), "fitted".into());
        entry.insert("note".into(), note.into());
    }
    Profile::parse(&toml::to_string(&table).unwrap_or_default())
}

/// Stores that are measured for each point: equal ones take equal times.
const MEASURED: u64 = 20;
const SEED: u64 = 1;

/// A profile as a function of some of its numbers.
struct Model<'a> {
    profile: &'a Profile,
    free: &'a [Free],
    pacing: Pacing,
}

impl Model<'_> {
    fn with(&self, at: &[u64]) -> Result<Profile, ProfileError> {
        let mut profile = self.profile.clone();
        let mut set = |(n, value): (&Free, &u64)| profile.set(&n.path, &value.to_string());
        self.free.iter().zip(at).try_for_each(&mut set)?;
        Ok(profile)
    }

    fn values(&self, profile: &Profile, points: &[Measured]) -> Result<Vec<f64>, FitError> {
        let mut known = BTreeMap::new();
        let mut time = |method: Method, bytes: u32| -> Result<f64, FitError> {
            if let Some(known) = known.get(&(method.index(), bytes)) {
                return Ok(*known);
            }
            let run = stores(
                profile,
                SEED,
                MEASURED,
                &Cell { pacing: self.pacing, ..Cell::transfer(method, bytes) },
            )?;
            let mut point = Point::at([]);
            add_metrics(&mut point, &run);
            let us = point.get("transfer_us_mean").unwrap_or(f64::NAN);
            known.insert((method.index(), bytes), us);
            Ok(us)
        };
        let mut values = Vec::new();
        for point in points {
            let us = time(point.method, point.bytes)?;
            values.push(match point.over {
                Some(base) => us / time(base, point.bytes)?,
                None => us,
            });
        }
        Ok(values)
    }
}

impl solve::Model for Model<'_> {
    fn errors(&mut self, at: &[u64], points: &[Measured]) -> Result<Vec<f64>, FitError> {
        let values = self.values(&self.with(at)?, points)?;
        Ok(values.iter().zip(points).map(|(value, point)| value / point.value - 1.0).collect())
    }
}

#[cfg(test)]
mod tests;
