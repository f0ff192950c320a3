// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The committed plan of an experiment: what is run, what is drawn, what is claimed. Everything a paper leaves out is
//! fixed there before the first run.

mod variant;

pub use variant::Variant;

use crate::report::{Evidence, FitRole, Origin};
use crate::tolerance::Tolerance;
use saker::profile_named;
use saker_profile::{Profile, ProfileError};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;

/// A plan.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// What it is asked for by.
    pub id: String,
    /// What it shows, in one line.
    pub title: String,
    /// Where it was published.
    pub source: String,
    /// What the publication leaves out and how it is fixed here, for the report.
    #[serde(default)]
    pub fixed: String,
    /// Names of built-in profiles.
    pub profiles: Vec<String>,
    /// Operations of each run as published.
    pub operations: u64,
    /// Engines whose settings it takes (`--set ENGINE.NAME=VALUE`), and `hash_ftl` for the cache of the hash FTLs.
    #[serde(default)]
    pub takes: Vec<String>,
    /// Memory that it takes at its scale, in MiB, if that is much: so that not too much runs at once.
    #[serde(default)]
    pub memory_mib: u64,
    /// Seconds of a core that it takes, about, if that is more than half a minute: the longest begin first, so that none is left alone at the end.
    #[serde(default)]
    pub run_s: u32,
    /// How much smaller than published it runs unless asked otherwise.
    pub default_scale: u32,
    /// The experiment's own parameters.
    #[serde(default)]
    pub parameters: toml::Table,
    /// The published points that the profile is fitted to besides, and the claims that are judged again then.
    pub fit: Option<FitPlan>,
    /// Other conditions that it is run under; the first ones are judged. Without any it is run once.
    #[serde(default)]
    pub variants: Vec<Variant>,
    /// What was changed after the first run, the earliest first.
    #[serde(default)]
    pub history: Vec<Edit>,
    /// Changes that take the mechanism away: a claim that still held would not be about it.
    #[serde(default)]
    pub planted: Vec<Planted>,
    /// What is drawn.
    #[serde(default)]
    pub charts: Vec<ChartPlan>,
    /// What is claimed.
    #[serde(default)]
    pub claims: Vec<Claim>,
}

/// A fit beside the run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitPlan {
    /// One of [`figures`](crate::fit::figures).
    pub figure: String,
    /// Claims, and what they are to the fit.
    pub claims: BTreeMap<String, FitRole>,
}

/// A change of a plan after its first run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// What was changed.
    pub edit: String,
    /// Why, and what it did to verdicts.
    pub cause: String,
}

/// A change that takes the mechanism under test away, and the claims that do not hold then.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planted {
    /// What is typed behind `--set`.
    #[serde(default)]
    pub set: Vec<String>,
    /// Parameters of the plan that are others.
    #[serde(default)]
    pub parameters: toml::Table,
    /// A fault in the code, which tests alone can plant: `host.transfer=METHOD`, `hybrid.FAULT`, `store.FAULT`.
    pub fault: Option<String>,
    /// Claims that pass without the change and fail with it.
    #[serde(default)]
    pub turns: Vec<String>,
    /// Figures that leave their place with the change: of claims that do not pass.
    #[serde(default)]
    pub moves: Vec<Moved>,
    /// What is taken away.
    pub what: String,
    /// Whether the run takes so long that only the soak makes it.
    #[serde(default)]
    pub is_dear: bool,
}

/// A figure of a claim that lies somewhere else with a change.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moved {
    /// The claim.
    pub claim: String,
    /// The part of an order; of a claim with numbers it is the first of them.
    pub part: Option<String>,
    /// Where the figure lies with the change, and without it does not; `None`: there is none with it.
    pub into: Option<[f64; 2]>,
}

impl Moved {
    /// Whether that is where a check's figure lies.
    #[must_use]
    pub fn is_there(&self, measured: &Value) -> bool {
        let figure = match (&self.part, measured) {
            (Some(part), Value::Array(parts)) => {
                let part = parts.iter().find(|found| found["what"] == part.as_str());
                part.map_or(&Value::Null, |found| &found["value"])
            }
            (None, Value::Array(numbers)) => numbers.first().unwrap_or(&Value::Null),
            (_, one) => one,
        };
        match (self.into, figure.as_f64()) {
            (Some([least, most]), Some(figure)) => (least..=most).contains(&figure),
            (into, figure) => into.is_none() && figure.is_none(),
        }
    }

    /// The claim, the figure and its place.
    #[must_use]
    pub fn told(&self) -> String {
        let part = self.part.as_ref().map_or_else(String::new, |part| format!(" ({part})"));
        let place =
            self.into.map_or_else(|| "away".to_owned(), |[least, most]| format!("into {least} to {most}"));
        format!("{}{part} {place}", self.claim)
    }
}

impl Planted {
    /// What it turns red and what it moves, in words.
    #[must_use]
    pub fn does(&self) -> String {
        let turned = (!self.turns.is_empty()).then(|| format!("Turned red: {}", self.turns.join(", ")));
        let moved: Vec<String> = self.moves.iter().map(Moved::told).collect();
        let moved = (!moved.is_empty()).then(|| format!("Moved: {}", moved.join("; ")));
        turned.into_iter().chain(moved).collect::<Vec<_>>().join(". ")
    }

    /// What is changed, as it is typed or written in the plan.
    #[must_use]
    pub fn changes(&self) -> Vec<String> {
        let set = self.set.iter().map(|set| format!("--set '{set}'"));
        let parameters = self.parameters.iter().map(|(name, value)| format!("{name} = {value}"));
        set.chain(parameters).chain(self.fault.iter().map(|fault| format!("fault {fault}"))).collect()
    }
}

/// A claim as published.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// `AC-...`
    pub id: String,
    /// The claim in words.
    pub claim: String,
    /// Where it is made, if not where the whole experiment is.
    pub source: Option<String>,
    /// How far from it still counts.
    pub tolerance: Tolerance,
    /// The numbers claimed, or the order in words.
    pub expected: Value,
    /// What an agreement is worth.
    #[serde(default = "reproduced")]
    pub evidence: Evidence,
    /// Who makes it.
    #[serde(default)]
    pub origin: Origin,
    /// Why it contradicts its own publication, if it does.
    pub cannot_follow: Option<String>,
}

const fn reproduced() -> Evidence {
    Evidence::Reproduced
}

/// A chart over the series.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChartPlan {
    /// Its heading.
    pub title: String,
    /// Lines or bars.
    #[serde(default)]
    pub kind: ChartKind,
    /// The parameter on the horizontal axis.
    pub x: String,
    /// Its name and unit.
    pub x_label: String,
    /// How the horizontal axis counts.
    #[serde(default)]
    pub x_scale: Scale,
    /// The number on the vertical axis.
    pub y: String,
    /// Its name and unit.
    pub y_label: String,
    /// How the vertical axis counts.
    #[serde(default)]
    pub y_scale: Scale,
    /// The parameter that tells lines apart.
    pub by: String,
    /// Only points where these parameters have these values.
    #[serde(default)]
    pub only: BTreeMap<String, Value>,
    /// Numbers that the publication states for what is drawn.
    #[serde(default)]
    pub published: Vec<Published>,
}

/// Published numbers of one line of a chart.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The line that they are about.
    pub of: String,
    /// The line whose value here they are multiplied with: most publications state ratios.
    pub over: Option<String>,
    /// The place of that value, if it is not the number's own.
    pub over_at: Option<Value>,
    /// Places on the horizontal axis.
    pub at: Vec<Value>,
    /// The number at each of these places.
    pub value: f64,
    /// What is stated, for the legend.
    pub text: String,
}

/// Lines or bars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChartKind {
    /// Points joined by lines.
    #[default]
    Lines,
    /// Groups of bars.
    Bars,
}

/// How an axis counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// In equal steps.
    #[default]
    Linear,
    /// In doublings.
    Log2,
    /// In tenfolds.
    Log10,
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// Bad syntax, unknown or missing keys, unknown tolerances.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// The experiment's own parameters.
    ///
    /// # Panics
    /// If they have not the shape that the experiment expects: plans are committed with their experiments.
    pub fn parameters<T: DeserializeOwned>(&self) -> T {
        let parsed = self.parameters.clone().try_into();
        parsed.unwrap_or_else(|e| panic!("parameters of {}: {e}", self.id))
    }
}

/// What a user asks of a run, beside what the plan says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// How much smaller than published; otherwise the plan's.
    pub scale: Option<u32>,
    /// The seed; otherwise 1.
    pub seed: Option<u64>,
    /// Numbers of the profile to replace, path and TOML text, and settings of engines as `lsm.NAME` or `hash_ftl.NAME` and a number.
    pub profile: Vec<(String, String)>,
}

impl Settings {
    /// The profile of that name, built in or a file, with the replacements.
    ///
    /// # Errors
    /// An unknown name, path or value.
    pub fn profile_named(&self, name: &str) -> Result<Profile, ProfileError> {
        self.profile_with(name, &[])
    }

    /// The same of a profile in which a plan has other numbers than it states.
    ///
    /// # Errors
    /// An unknown name, path or value.
    pub fn profile_with(&self, name: &str, own: &[(&str, String)]) -> Result<Profile, ProfileError> {
        let mut profile = profile_named(name)?;
        own.iter().try_for_each(|(path, text)| profile.set(path, text))?;
        self.of_profile().try_for_each(|(path, text)| profile.set(path, text))?;
        Ok(profile)
    }

    /// The profiles of a run, for the report.
    pub fn describe(&self, profiles: &[String]) -> String {
        let changes: Vec<String> = self.profile.iter().map(|(path, text)| format!("{path}={text}")).collect();
        let names = profiles.join(", ");
        if changes.is_empty() { names } else { format!("{names} with {}", changes.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_reach_the_profile_and_the_report() {
        let settings =
            Settings { profile: vec![("firmware.fetch_ns".into(), "77".into())], ..Settings::default() };
        assert_eq!(settings.profile_named("tiny").unwrap().firmware.fetch_ns.value, 77);
        assert_eq!(settings.describe(&["tiny".into()]), "tiny with firmware.fetch_ns=77");
        assert_eq!(Settings::default().describe(&["a".into(), "b".into()]), "a, b");
    }

    #[test]
    fn unknown_keys_in_a_plan_are_refused() {
        let text = "id = 'x'\ntitle = ''\nsource = ''\nprofiles = []\noperations = 1\ndefault_scale = 1\nwrong = 1\n";
        assert!(Plan::parse(text).unwrap_err().to_string().contains("wrong"));
    }
}
