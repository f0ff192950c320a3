// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What goes to the device together. Its answers come together, too: so a small command does not wait for the long one behind it.

use super::flow::Place;

/// Commands of hosts that begin to ask have a round to themselves. Those that go on asking have the next one, whoever begins
/// meanwhile: no more than every second round is without them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    has_fresh: bool,
    has_others: bool,
    is_for_all: bool,
}

impl Round {
    pub const fn begin(&mut self) {
        let is_for_all = self.has_fresh && !self.has_others;
        *self = Self { has_fresh: false, has_others: false, is_for_all };
    }

    /// Whether a command of a flow that stands there goes in this round.
    pub fn has_place(self, place: Place) -> bool {
        place == Place::Fresh || self.is_for_all || !self.has_fresh
    }

    pub fn note(&mut self, place: Place) {
        let is_fresh = place == Place::Fresh;
        self.has_fresh |= is_fresh;
        self.has_others |= !is_fresh;
    }
}
