//! Where write amplification comes from: bytes by layer.

use saker_device::Snapshot;
use saker_medium::Stream;
use std::ops::Sub;

/// Bytes that stores appended to their logs, by cause. Programmed pages hold them, and what pages leave unused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// Records of new writes, headers included.
    pub records: u64,
    /// What garbage collection copied.
    pub collected: u64,
    /// Checkpoints of the index.
    pub checkpoints: u64,
}

impl Layers {
    /// The sum over all namespaces of a device.
    pub fn of(snapshot: &Snapshot) -> Self {
        let sum = |stream: Stream| -> u64 {
            snapshot.namespaces.iter().map(|n| n.log.bytes_appended[stream as usize]).sum()
        };
        Self { records: sum(Stream::User), collected: sum(Stream::Gc), checkpoints: sum(Stream::Checkpoint) }
    }
}

impl Sub for Layers {
    type Output = Self;

    /// What was written since `other`, an earlier count.
    fn sub(self, other: Self) -> Self {
        Self {
            records: self.records - other.records,
            collected: self.collected - other.collected,
            checkpoints: self.checkpoints - other.checkpoints,
        }
    }
}
