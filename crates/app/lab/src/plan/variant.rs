// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Conditions of which a paper leaves open which it had: an experiment is run under each of them.

use serde::Deserialize;

/// Conditions that an experiment is run under.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// What its points have as `variant`.
    pub name: String,
    /// What is different then.
    pub what: String,
    /// What is typed behind `--set`; what a user types counts more.
    #[serde(default)]
    pub set: Vec<String>,
    /// Parameters of the plan that are others.
    #[serde(default)]
    pub parameters: toml::Table,
}

impl Variant {
    /// What is changed, as it is typed or written in the plan.
    #[must_use]
    pub fn changes(&self) -> Vec<String> {
        let set = self.set.iter().map(|set| format!("--set '{set}'"));
        set.chain(self.parameters.iter().map(|(name, value)| format!("{name} = {value}"))).collect()
    }
}
