// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What may go to each namespace in a second, from all hosts together.

use std::collections::BTreeMap;

use saker_sim::Instant;

use super::gate::{Gate, Rate, Rates};

/// The rates of namespaces, by NSID.
pub type NamespaceRates = BTreeMap<u32, Rates>;

/// Gates of those that have rates.
#[derive(Debug, Default)]
pub(super) struct Namespaces(BTreeMap<u32, Gate>);

impl Namespaces {
    /// Other rates from now on; namespaces that are not among them have none.
    pub fn set(&mut self, rates: &NamespaceRates, now: Instant) {
        self.0.retain(|nsid, _| rates.contains_key(nsid));
        for (nsid, rates) in rates {
            self.0.entry(*nsid).or_default().set(*rates, now);
        }
    }

    pub fn closed(&mut self, nsid: u32, now: Instant) -> Option<(Instant, Rate)> {
        self.0.get_mut(&nsid)?.closed(now)
    }

    /// In which line commands for a namespace wait: all that have no rates in one, so that hosts cannot make lines.
    pub fn line_of(&self, nsid: u32) -> u32 {
        if self.0.contains_key(&nsid) { nsid } else { 0 }
    }

    pub fn pass(&mut self, nsid: u32, bytes: u64) {
        self.of(nsid, |gate| gate.pass(bytes));
    }

    pub fn spare(&mut self, nsid: u32, bytes: u64) {
        self.of(nsid, |gate| gate.spare(bytes));
    }

    pub fn undo(&mut self, nsid: u32, bytes: u64) {
        self.of(nsid, |gate| gate.undo(bytes));
    }

    fn of(&mut self, nsid: u32, change: impl FnOnce(&mut Gate)) {
        if let Some(gate) = self.0.get_mut(&nsid) {
            change(gate);
        }
    }
}
