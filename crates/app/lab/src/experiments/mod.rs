//! The experiments: each has a plan in `plans/` and a file here that runs it.

mod saker_motiv;

use crate::error::LabError;
use crate::plan::Plan;
use crate::run::{Context, Outcome};

/// A plan and what runs it.
pub struct Entry {
    text: &'static str,
    /// Runs it.
    pub run: fn(&Context<'_>) -> Result<Outcome, LabError>,
}

impl Entry {
    /// The committed plan.
    pub fn plan(&self) -> Plan {
        Plan::parse(self.text).unwrap_or_else(|e| panic!("a committed plan: {e}"))
    }
}

macro_rules! entry {
    ($file:literal, $module:ident) => {
        Entry { text: include_str!(concat!("../../plans/", $file, ".toml")), run: $module::run }
    };
}

/// All of them, in the order in which they are listed.
pub static ALL: [Entry; 1] = [entry!("saker-motiv", saker_motiv)];

#[cfg(test)]
mod tests;
