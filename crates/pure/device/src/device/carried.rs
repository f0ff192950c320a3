// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands by opcode and status, where nobody but the device sees them: a host that shares its memory with the device.

use std::sync::Arc;

use saker_nvme::vendor_specific::{CommandClass, Counter};
use saker_nvme::{Sqe, Status};
use saker_sim::Duration;

use super::Device;
use crate::config::NamespaceKind;
use crate::tally::Tally;

/// Who brings the device its host, and counts what of that is none of the device's business.
pub trait Carrier: std::fmt::Debug + Send + Sync {
    /// What it has counted, for log page C3h.
    fn counters(&self) -> Vec<Counter>;
}

/// What a device counts for its carrier.
#[derive(Debug)]
pub(crate) struct Carried {
    tally: Tally,
    carrier: Arc<dyn Carrier>,
}

impl Carried {
    pub fn counters(&self) -> Vec<Counter> {
        let mut all = self.carrier.counters();
        all.extend(self.tally.counters());
        all
    }
}

impl<T> Device<T> {
    /// Commands are counted by opcode and status from now on, and told with what the carrier counts.
    pub fn count_for(&mut self, carrier: Arc<dyn Carrier>) {
        self.carried = Some(Box::new(Carried { tally: Tally::default(), carrier }));
    }

    /// Counts an I/O command that was answered; a device without time does not know how long it took.
    #[inline]
    pub(crate) fn count_opcode(&mut self, sqe: &Sqe, status: Status, took: Option<Duration>) {
        if self.carried.is_some() {
            self.enter_opcode(sqe, status, took);
        }
    }

    #[inline(never)]
    fn enter_opcode(&mut self, sqe: &Sqe, status: Status, took: Option<Duration>) {
        let of = self.index_of(sqe.nsid.get()).map(|n| &self.namespaces[n].config.kind);
        let class =
            if let Some(NamespaceKind::Kv { .. }) = of { CommandClass::Kv } else { CommandClass::Nvm };
        if let Some(carried) = &mut self.carried {
            carried.tally.count(class, sqe.opcode, status, took);
        }
    }

    /// Answers a command of the admin queue.
    pub(crate) fn complete_admin(&mut self, opcode: u8, cid: u16, status: Status, dw0: u32) {
        self.count_admin(opcode, status);
        self.queues.complete(0, cid, status, u64::from(dw0));
    }

    /// Counts a command of the admin queue that is answered, or that waits because that is what it asked for.
    pub(crate) fn count_admin(&mut self, opcode: u8, status: Status) {
        if let Some(carried) = &mut self.carried {
            carried.tally.count(CommandClass::Admin, opcode, status, None);
        }
    }
}
