// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What commands are told that cannot go on: because the device is full, because the host's file has no room or fails,
//! or because a sync of it failed.

use crate::device::Device;
use crate::execute::kv_status;
use crate::namespace::{Namespace, Store};
use saker_engine::KvError;
use saker_nvme::Status;
use saker_sim::Class;

impl<T> Device<T> {
    /// Why what is blocked does not go on.
    pub(crate) fn no_room(&self) -> KvError {
        self.flash.refusal().map_or(KvError::CapacityExceeded, KvError::Unrecovered)
    }

    /// The status as it is: while the host's file refuses pages, nobody knows whether the device would have room.
    #[inline]
    pub(crate) fn truthful(&self, status: Status) -> Status {
        if status.is(Status::CAPACITY_EXCEEDED) { kv_status(self.no_room()) } else { status }
    }

    /// A command of namespace `n`, which was to write so many bytes, was refused with that status: one that a full device refuses makes
    /// iterators time out, as one that is carried out does.
    #[cold]
    pub(crate) fn note_refused(&mut self, n: usize, bytes: u64, status: Status) {
        if status.is(Status::CAPACITY_EXCEEDED) {
            let view = self.flash.view(self.namespaces[n].owner(), Class::Foreground);
            if let Namespace { store: Store::Kv(store), iterators, .. } = &mut self.namespaces[n] {
                iterators.refuse(bytes, store, &view);
            }
        }
    }

    /// Whether everything that is not on the flash yet is in a page buffer that lasts, and stays there until the host's file
    /// takes it. A sync then makes it proof against all that a Flush promises.
    pub(crate) fn is_kept_by_ring(&self) -> bool {
        self.config.capacitor && self.flash.is_held() && self.flash.is_quiet()
    }

    /// Why a Flush failed.
    pub(crate) fn not_flushed(&self) -> Status {
        if self.flash.is_read_only() {
            return Status::WRITE_FAULT;
        }
        self.flash.refusal().map_or(Status::INTERNAL_ERROR, |why| kv_status(KvError::Unrecovered(why)))
    }
}

impl Device<crate::immediate::Untimed> {
    /// Tries what the host's file refused. True if something of it ended.
    pub(crate) fn resume(&mut self) -> bool {
        let resumed = self.flash.resume();
        self.settle() || resumed
    }

    /// The same, if nobody waits for it but time has passed.
    pub(crate) fn resume_if_due(&mut self) -> bool {
        let resumed = self.flash.resume_if_due();
        self.settle() || resumed
    }
}
