// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where write amplification comes from: bytes by layer, and what packing values came to.

use saker_device::Stats;
use saker_segment_store::Stream;
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
    pub fn of(snapshot: &Stats) -> Self {
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

/// What packing values into a value log came to (the engine `lsm`; of others the pages of records alone).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValueLog {
    /// NAND pages of new records.
    pub pages: u64,
    /// Bytes of values that a core copied into them.
    pub copied_bytes: u64,
    /// Bytes of gaps that nothing fills.
    pub gap_bytes: u64,
}

impl ValueLog {
    /// The sum over all namespaces of a device.
    pub fn of(snapshot: &Stats) -> Self {
        let named = |name: &str| -> u64 {
            let all = snapshot.namespaces.iter().flat_map(|n| &n.counters);
            all.filter(|(known, _)| *known == name).map(|(_, count)| count).sum()
        };
        Self {
            pages: snapshot.namespaces.iter().map(|n| n.log.pages_programmed[Stream::User as usize]).sum(),
            copied_bytes: named("memcpy_bytes"),
            gap_bytes: named("gap_bytes"),
        }
    }
}
