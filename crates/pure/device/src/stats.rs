// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the device counts.

use saker_engine::write_gate::Stalls;
use saker_engine::{Memory, StoreStats};
use saker_flash::FlashStats;
use saker_link::Traffic;
use saker_log::LogStats;

/// What the health log tells of a device's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Life {
    /// Openings to write.
    pub power_cycles: u64,
    /// Of these, behind a run that had no orderly end.
    pub unsafe_shutdowns: u64,
    /// Seconds that it was open to write.
    pub power_on_seconds: u64,
    /// Wear in percent of what is rated: up to 255.
    pub percent_used: u8,
}

/// What a device did for all its hosts: since it was opened where it is counted, in its life where the health log tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HealthCounters {
    /// Commands that read user data.
    pub reads: u64,
    /// Bytes of user data that they, and Verify, read.
    pub bytes_read: u64,
    /// Commands that wrote user data.
    pub writes: u64,
    /// Bytes of user data that they wrote.
    pub bytes_written: u64,
    /// Commands that ended because data could not be read, or was not what had been written.
    pub media_errors: u64,
    /// Of the device's life; zeros where commands are counted.
    pub life: Life,
}

impl HealthCounters {
    /// Counts a command that read `bytes`.
    #[inline(always)]
    pub fn read(&mut self, bytes: u32) {
        self.reads += 1;
        self.bytes_read += u64::from(bytes);
    }

    /// Counts a command that wrote `bytes`.
    #[inline(always)]
    pub fn wrote(&mut self, bytes: u32) {
        self.writes += 1;
        self.bytes_written += u64::from(bytes);
    }
}

/// Counters of commands and of the link, as the device sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceStats {
    /// I/O commands completed.
    pub commands: u64,
    /// Of these, with an error status.
    pub errors: u64,
    /// What hosts read and wrote, as the health log counts it.
    pub work: HealthCounters,
    /// Bytes that the device's cores copied, for commands and in the background (timed devices).
    pub copied_bytes: u64,
    /// What crossed the link for them, but for doorbells and stores, which the host counts.
    pub traffic: Traffic,
}

/// Everything countable of a device at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Commands and link.
    pub device: DeviceStats,
    /// Media operations.
    pub flash: FlashStats,
    /// Bytes of flash in use.
    pub flash_bytes_in_use: u64,
    /// Superblocks lost to failed erases.
    pub retired_segments: u32,
    /// Each namespace.
    pub namespaces: Vec<NamespaceSnapshot>,
}

/// Pairs of one size that a namespace holds if it has no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fits {
    /// Bytes of a value; its key has 16.
    pub value_bytes: u32,
    /// So many of them.
    pub pairs: u64,
}

/// Everything countable of a namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamespaceSnapshot {
    /// Its number.
    pub nsid: u32,
    /// "kv" or "block".
    pub kind: &'static str,
    /// Engine counters; of a block namespace only checkpoints and collected segments.
    pub store: StoreStats,
    /// Log counters.
    pub log: LogStats,
    /// Modelled controller memory by structure.
    pub memory: Memory,
    /// Bytes of records that live, and that may live.
    pub live_bytes: u64,
    /// Bytes of records that may live at once.
    pub capacity_bytes: u64,
    /// Pairs that fit if there are no others, by the length of their values; empty for blocks.
    pub fits: Vec<Fits>,
    /// Bytes of a logical block; 0 for KV.
    pub block_bytes: u32,
    /// Blocks written (block namespaces).
    pub blocks_written: u64,
    /// Blocks copied by garbage collection (block namespaces).
    pub gc_blocks_copied: u64,
    /// Which engine keeps the pairs; empty for blocks.
    pub engine: &'static str,
    /// Counters of the engine's own mechanisms, by name; those of a map of blocks that lies on flash.
    pub counters: Vec<(&'static str, u64)>,
    /// When its engine stopped or delayed writes, if the device keeps time.
    pub stalls: Stalls,
    /// Damage that keeps the namespace from being opened.
    pub damage: Option<String>,
}
