// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings that change while the device runs.

use super::Device;
use crate::namespace::Store;
use saker_engine::{Engine, Settings, Unsupported};
use saker_nvme::Status;
use saker_segment_store::SegmentStore;
use saker_sim::Class;

impl<T> Device<T> {
    /// A live setting of a namespace gets another value, which lasts as long as the device runs; a Format does not end it.
    pub(super) fn set_setting(&mut self, nsid: u32, name: &'static str, number: u64) -> Result<(), Status> {
        let Some(n) = self.index_of(nsid) else { return Err(Status::INVALID_NAMESPACE_OR_FORMAT) };
        let namespace = &mut self.namespaces[n];
        let asked = Settings::told(&[(name, number)]).over(&namespace.config.settings);
        let view = self.flash.view(namespace.owner(), Class::Foreground);
        retune(&mut namespace.store, &asked, &view)?;
        namespace.config.settings = asked.clone();
        // A namespace that recovers after a Format is made by this.
        if let Some(config) = self.config.namespaces.iter_mut().find(|config| config.nsid == nsid) {
            config.settings = asked;
        }
        self.retuned = true;
        Ok(())
    }
}

fn retune(store: &mut Store, asked: &Settings, m: &dyn SegmentStore) -> Result<(), Status> {
    match store {
        Store::Kv(store) => store.retune(asked, m).map_err(|Unsupported(_)| Status::INVALID_FIELD),
        // What it was before says how it is made again when it is empty.
        Store::Erasing(before, _) => retune(before, asked, m),
        Store::KvRecovery(_) | Store::BlockRecovery(_) => Err(Status::NAMESPACE_NOT_READY),
        Store::Block(_) | Store::Damaged(_) => Err(Status::INVALID_NAMESPACE_OR_FORMAT),
    }
}
