//! What a device tells of itself, and what was counted.

use super::Kv;
use saker_device::Stats;
use saker_host::CacheStats;
use saker_runtime::AnyDriver;

impl Kv {
    /// Everything countable; nothing while the device runs on a thread of its own.
    pub fn stats(&mut self) -> Option<Stats> {
        match self.store.native().driver_mut() {
            AnyDriver::Inline(device) => Some(device.stats()),
            AnyDriver::Thread(_) | AnyDriver::Sharded(_) | AnyDriver::Remote(_) | AnyDriver::Linux(_) => None,
        }
    }

    /// Counters of the read cache.
    #[must_use]
    pub fn cache_stats(&self) -> CacheStats {
        self.cache.stats()
    }

    /// The page that keeps the value of a key from being read, or the first one that it is in; in words, as `saker check` names
    /// it. `None` where the device is not on this thread, or the key not there.
    pub fn page_of(&mut self, key: &[u8]) -> Option<String> {
        match self.store.native().driver_mut() {
            AnyDriver::Inline(device) => device.page_of(self.nsid, key),
            AnyDriver::Thread(_) | AnyDriver::Sharded(_) | AnyDriver::Remote(_) | AnyDriver::Linux(_) => None,
        }
    }

    /// How often the connection to a target was lost and made again; of a device of the kernel's, how many commands were
    /// repeated because of that; 0 for devices of this process.
    pub fn reconnects(&mut self) -> u64 {
        match self.store.native().driver_mut() {
            AnyDriver::Remote(remote) => remote.reconnects(),
            AnyDriver::Linux(namespace) => namespace.repeated(),
            AnyDriver::Inline(_) | AnyDriver::Thread(_) | AnyDriver::Sharded(_) => 0,
        }
    }

    /// Name of the device's profile; of a target, `remote`.
    pub fn profile(&self) -> &str {
        &self.profile
    }

    /// Serial number, model and firmware revision, as Identify Controller tells them.
    pub fn identity(&self) -> (String, String, String) {
        let c = self.connection.controller();
        let text = |b: &[u8]| String::from_utf8_lossy(b).trim_end().to_owned();
        (text(&c.sn), text(&c.mn), text(&c.fr))
    }
}
