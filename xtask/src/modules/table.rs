// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table of what modules may import.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::Fault;

const TABLE: &str = include_str!("../../modules.toml");

/// Everything `modules.toml` says.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Circles that are there still, by crate: each is the sorted list of its modules.
    #[serde(default)]
    pub circles: BTreeMap<String, BTreeSet<Vec<String>>>,
    /// Modules that import nothing of each other.
    #[serde(default)]
    pub apart: Vec<Apart>,
}

/// Modules of one crate that import nothing of each other.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Apart {
    /// The crate.
    pub within: String,
    /// Its modules.
    #[serde(default)]
    pub modules: Vec<String>,
    /// Each module is one of them whose folder has a file of this name.
    #[serde(default)]
    pub with_file: Option<String>,
    /// The reason, printed with a finding.
    pub why: String,
}

impl Apart {
    /// The same with the modules that have its file, among the files of its crate.
    #[must_use]
    pub fn among(&self, files: &[(String, String)]) -> Self {
        let Some(file) = &self.with_file else { return self.clone() };
        let has = files.iter().filter_map(|(path, _)| path.split_once('/').filter(|(_, rest)| rest == file));
        let modules = self.modules.iter().cloned().chain(has.map(|(module, _)| module.to_owned()));
        Self { modules: modules.collect::<BTreeSet<_>>().into_iter().collect(), ..self.clone() }
    }
}

impl Table {
    /// The project's table.
    ///
    /// # Errors
    /// When it does not parse.
    pub fn load() -> Result<Self, Fault> {
        Self::parse(TABLE).map_err(|fault| format!("xtask/modules.toml: {fault}").into())
    }

    /// A table from TOML text.
    ///
    /// # Errors
    /// When it does not parse.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        Ok(toml::from_str(text)?)
    }

    /// Every crate that it names, so that a misspelt name cannot hide.
    pub fn names(&self) -> BTreeSet<&String> {
        let apart = self.apart.iter().map(|law| &law.within);
        self.circles.keys().chain(apart).collect()
    }
}
