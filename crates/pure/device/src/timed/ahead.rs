// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hints to the processor that runs the model: a command's memory is asked for when its entry is fetched, and looked at some
//! events later. They have no effect on any result, modelled times included.

use super::Timed;
use crate::device::Device;
use crate::namespace::Store;
use saker_engine::Hints;
use saker_link::Sqe;
use saker_nvme::kv::opcode::{DELETE, EXIST, RETRIEVE, STORE};
use saker_sim::{CpuMeter, Meter, Unit};

/// Adds work up, and asks for memory.
pub(super) struct Ahead(pub CpuMeter);

impl Meter for Ahead {
    #[inline]
    fn work(&mut self, unit: Unit, n: u64) {
        self.0.work(unit, n);
    }

    #[inline(always)]
    fn touch<T>(&mut self, at: &T) {
        saker_link::prefetch(at);
    }
}

impl Device<Timed> {
    /// A command has been seen in its queue.
    pub(super) fn prefetch_hints(&self, sqe: &Sqe) {
        if !matches!(sqe.opcode, STORE | RETRIEVE | EXIST | DELETE) {
            return;
        }
        let namespace = self.namespace_index(sqe.nsid.get()).and_then(|n| self.namespaces.get(n));
        if let (Some(Store::Kv(store)), Ok(key)) = (namespace.map(|n| &n.store), sqe.key()) {
            store.prefetch_hint(key.as_bytes(), &mut Ahead(CpuMeter::default()));
        }
    }
}
