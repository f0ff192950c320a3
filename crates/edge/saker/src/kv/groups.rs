//! Groups, whose operations are put together by the caller.

use super::Kv;
use saker_host::group::Form;
use saker_host::{GroupBuilder, GroupStats, HostError};
use saker_runtime::AnyDriver;

impl Kv {
    /// Begins a group: operations, then `commit`. Keys of more than 16 bytes need a device that takes them
    /// ([`Kv::has_long_keys_by_pointer`]).
    pub fn begin(&mut self, form: Form) -> GroupBuilder<'_, AnyDriver> {
        // Its writes are the builder's.
        self.cache.clear();
        self.store.native().begin(form)
    }

    /// Groups so far, and what was done one by one instead.
    pub fn group_stats(&mut self) -> GroupStats {
        self.store.native().group_stats()
    }

    /// Whether keys of more than 16 bytes go to the device by pointer, one command each.
    pub fn has_long_keys_by_pointer(&self) -> bool {
        self.store.has_long_keys_by_pointer()
    }

    /// Tells the device that these keys are read together: a read of one brings the others to its memory. `name` has 1 to
    /// 16 bytes; the same name again replaces the keys. Returns whether the device has prefetch groups.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn prefetch_group(&mut self, name: &[u8], keys: &[&[u8]]) -> Result<bool, HostError> {
        self.store.prefetch_group(name, keys)
    }
}
