// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The write cache is the device's: it is off while any host wants it off.

use saker_nvme::admin::{SetFeatures, build, feature::fid};

use super::Engine;

impl Engine {
    /// A host that wanted every write flushed may be gone.
    pub(super) fn follow_write_cache(&mut self) {
        if self.is_written_through && !self.subsystem.wants_write_through() {
            self.set_write_cache(true);
        }
    }

    fn set_write_cache(&mut self, enabled: bool) {
        let (fid, cdw11) = (fid::VOLATILE_WRITE_CACHE, u32::from(enabled));
        let sqe = build::set_features(&SetFeatures { nsid: 0, fid, save: false, cdw11 });
        if let Some(local) = &mut self.local
            && local.admin(sqe).0.is_success()
        {
            self.is_written_through = !enabled;
        }
    }
}
