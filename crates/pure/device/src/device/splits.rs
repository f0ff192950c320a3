// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions in parts: which there are, and what ends them besides their own commands.

use super::Device;
use saker_nvme::Sqe;
use saker_nvme::group::{SplitCommand, TransactionId, asks_for_outcome, is_split};

impl<T> Device<T> {
    /// Whether parts of a transaction are there.
    pub fn has_transaction(&self, nsid: u32, id: TransactionId) -> bool {
        self.namespaces.iter().any(|ns| ns.config.nsid == nsid && ns.splits.has(id))
    }

    /// A command was refused, perhaps before it was carried out. If it is one of a transaction in parts, that has ended: nobody commits a
    /// part of what was wanted. Questions end nothing, nor do entries that name none.
    pub(super) fn end_refused(&mut self, sqe: &Sqe) {
        if !is_split(sqe.opcode) || asks_for_outcome(sqe) {
            return;
        }
        if let Ok(command) = SplitCommand::decode_with(sqe, self.pointer_rule())
            && let Some(n) = self.index_of(sqe.nsid.get())
        {
            self.namespaces[n].splits.end(command.id());
        }
    }
}
