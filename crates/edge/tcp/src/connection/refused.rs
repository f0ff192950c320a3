// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands that were answered with an error before their data was whole.

use super::messages::Request;
use super::{Core, State};

impl Core {
    /// Tells the subsystem of those that others belong to. Before what comes behind them is passed on, and before their answers are sent.
    pub(super) fn pass_refused(&mut self) {
        let refused = self.target.take_refused();
        if let State::Connected(subsystem) = &self.state
            && !refused.is_empty()
        {
            self.is_closing |= subsystem.send(Request::Refused(self.id, refused)).is_err();
        }
    }
}
