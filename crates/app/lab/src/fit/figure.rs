// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Published figures that a profile can be fitted to: what is free, within which bounds, on which points, in a committed file.

use super::points::{Measured, Role, of_parts};
use super::{Fit, FitError, Free, fit};
use saker_host::Pacing;
use saker_profile::Profile;
use serde::Deserialize;

/// A figure, and what is fitted to it.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What it is asked for by.
    pub name: &'static str,
    /// Where it was published.
    pub source: String,
    /// The profile whose numbers are fitted.
    pub profile: String,
    /// The numbers.
    pub free: Vec<Free>,
    /// The points.
    pub points: Vec<Measured>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    source: String,
    profile: String,
    free: Vec<FileFree>,
    points: Vec<FilePoint>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileFree {
    path: String,
    least: u64,
    most: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FilePoint {
    method: String,
    over: Option<String>,
    bytes: u32,
    value: f64,
    #[serde(default)]
    role: Role,
}

const FIGURES: [(&str, &str); 1] = [("bandslim-fig8", include_str!("../../fits/bandslim-fig8.toml"))];

/// Names of the figures there are.
pub fn figures() -> impl Iterator<Item = &'static str> {
    FIGURES.iter().map(|(name, _)| *name)
}

/// The figure of that name.
///
/// # Panics
/// When a committed file is not sound.
pub fn figure(name: &str) -> Option<Figure> {
    let (name, text) = FIGURES.iter().find(|(known, _)| *known == name)?;
    let file: File = toml::from_str(text).unwrap_or_else(|e| panic!("a committed figure: {e}"));
    let point = |p: &FilePoint| {
        let point = of_parts(&p.method, Some(p.bytes), Some(p.value), p.over.as_deref(), p.role);
        point.unwrap_or_else(|e| panic!("a committed point of {name}: {e}"))
    };
    Some(Figure {
        name,
        source: file.source,
        profile: file.profile,
        free: file.free.into_iter().map(|n| Free { path: n.path, bounds: (n.least, n.most) }).collect(),
        points: file.points.iter().map(point).collect(),
    })
}

impl Figure {
    /// The fit of a profile to it; times are of stores whose commands are awaited one by one.
    ///
    /// # Errors
    /// [`FitError`].
    pub fn fit(&self, profile: &Profile) -> Result<Fit, FitError> {
        fit(profile, &self.free, &self.points, &self.source, Pacing::Passthrough)
    }
}
