// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What drivers ask: doorbells, counts, what is due.

use super::Hybrid;
use crate::main_tree::MainTree;
use saker_engine::write_gate::Stalls;
use saker_link::Traffic;
use saker_sim::{Instant, earliest};

impl<M: MainTree> Hybrid<M> {
    /// Rings whatever doorbell is due.
    pub fn ring(&mut self) {
        self.main.ring();
        self.device.ring();
    }

    /// Commands that no doorbell has announced.
    pub fn unrung(&self) -> u32 {
        self.main.unrung() + self.device.unrung()
    }

    /// Commands submitted so far.
    pub fn commands(&self) -> u64 {
        self.main.commands() + self.device.stats().commands
    }

    /// What only the host can count of the link's traffic.
    pub fn traffic(&self) -> Traffic {
        self.main.traffic() + self.device.stats().traffic()
    }

    /// When writes waited for the main tree.
    pub fn stalls(&self) -> Stalls {
        self.main.stalls()
    }

    /// When something is due without anything completing.
    pub fn next_turn(&self) -> Option<Instant> {
        let own = if self.ended.is_empty() { self.rollback_due() } else { self.now };
        earliest(self.main.next_turn(), own)
    }

    /// Whether the device has no copy, and nothing goes on by itself.
    pub fn is_settled(&self) -> bool {
        self.metadata.keys() == 0
            && self.returning.is_idle()
            && self.sweeping.is_idle()
            && self.flights.is_empty()
            && self.tombs.is_empty()
    }

    /// Whether nothing is on its way in either tree.
    pub(crate) fn is_quiet(&self) -> bool {
        self.flights.is_empty()
            && self.returning.is_resting()
            && self.sweeping.is_idle()
            && self.returning.to_close.is_empty()
            && self.ended.is_empty()
            && self.device.in_flight() == 0
    }

    /// What contradicts itself in memory.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        self.metadata.check()?;
        let is_waiting = self.held.iter().all(|id| self.flights.contains_key(id));
        if is_waiting { Ok(()) } else { Err("what is held is not on its way".to_owned()) }
    }
}
