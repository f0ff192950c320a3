// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table of allowed directions.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::Fault;

const TABLE: &str = include_str!("../../layers.toml");

/// Everything `layers.toml` says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Allowed workspace dependencies by crate.
    pub crates: BTreeMap<String, Allowed>,
    /// What a crate must never reach.
    #[serde(default)]
    pub laws: Vec<Law>,
    /// Pairs that only some crates may reach together.
    #[serde(default)]
    pub joins: Vec<Join>,
    /// Allowed outside dependencies by room.
    #[serde(default)]
    pub external: BTreeMap<String, Allowed>,
}

/// Two lists of names.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allowed {
    /// For the crate itself and its build script.
    #[serde(default)]
    pub normal: Vec<String>,
    /// For its tests, examples and benches, besides `normal`.
    #[serde(default)]
    pub dev: Vec<String>,
}

/// `from` never reaches `never`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Law {
    /// Selectors of the bound crates.
    pub from: Vec<String>,
    /// Selectors of what they must not reach.
    pub never: Vec<String>,
    /// The reason, printed with a finding.
    pub why: String,
}

/// Only `only` may reach both crates of `pair`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Join {
    /// The two crates.
    pub pair: [String; 2],
    /// Selectors of the crates that may join them.
    pub only: Vec<String>,
}

impl Table {
    /// The project's table.
    ///
    /// # Errors
    /// When it does not parse.
    pub fn load() -> Result<Self, Fault> {
        Self::parse(TABLE).map_err(|fault| format!("xtask/layers.toml: {fault}").into())
    }

    /// A table from TOML text.
    ///
    /// # Errors
    /// When it does not parse.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        Ok(toml::from_str(text)?)
    }

    /// Every crate that the table names anywhere, so that a misspelt name cannot hide.
    pub fn names(&self) -> BTreeSet<&String> {
        let allowed =
            self.crates.iter().flat_map(|(name, a)| [name].into_iter().chain(&a.normal).chain(&a.dev));
        let laws = self.laws.iter().flat_map(|law| law.from.iter().chain(&law.never));
        let joins = self.joins.iter().flat_map(|join| join.pair.iter().chain(&join.only));
        allowed.chain(laws).chain(joins).filter(|name| !name.starts_with("room:")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_projects_table_parses() {
        let table = Table::load().unwrap();
        assert!(table.crates.contains_key("xtask"));
        assert!(!table.laws.is_empty() && !table.joins.is_empty());
    }

    #[test]
    fn a_misspelt_field_is_an_error() {
        assert!(Table::parse("[crates.a]\nnormals = []").is_err());
    }

    #[test]
    fn names_come_from_every_part_and_rooms_are_none() {
        let text = "crates.a.normal = ['b']\ncrates.a.dev = ['c']\n\
            laws = [{ from = ['d', 'room:pure'], never = ['e'], why = '' }]\njoins = [{ pair = ['f', 'g'], only = ['h'] }]";
        let table = Table::parse(text).unwrap();
        assert_eq!(table.names().into_iter().map(String::as_str).collect::<String>(), "abcdefgh");
    }
}
