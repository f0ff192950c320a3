// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which run of the kernel this is. A process that dies leaves the page cache behind, a kernel that dies
//! does not; comparing boots tells the two apart.

use xxhash_rust::xxh3::xxh3_64;

/// A hash of the kernel's boot identifier; zero when there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootId(pub(super) u64);

impl BootId {
    /// Nothing is known about the boot; equal to no boot, itself included.
    pub const UNKNOWN: Self = Self(0);

    /// This boot, from `/proc/sys/kernel/random/boot_id` (proc(5)).
    pub fn current() -> Self {
        std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map_or(Self::UNKNOWN, |text| Self::of(&text))
    }

    /// The boot with that identifier.
    pub fn of(text: &str) -> Self {
        Self(xxh3_64(text.trim().as_bytes()).max(1))
    }

    /// Whether both are known and the same.
    pub fn is_same(self, other: Self) -> bool {
        self.0 != 0 && self.0 == other.0
    }
}
