// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What processors cost, at both ends of the link.

use serde::{Deserialize, Serialize};

use super::error::ensure;
use super::{ProfileError, Source, Sourced};

/// Prices of the units of CPU work that stores and host code meter, in picoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// Decoding one command or record header.
    pub decode_ps: Sourced<u64>,
    /// Building one record header.
    pub encode_ps: Sourced<u64>,
    /// A dependent access to a random cache line (one index probe).
    pub probe_ps: Sourced<u64>,
    /// Comparing one key.
    pub compare_ps: Sourced<u64>,
    /// Moving one byte between buffers.
    pub copy_byte_ps: Sourced<u64>,
    /// Checksumming one byte.
    pub checksum_byte_ps: Sourced<u64>,
    /// Taking and releasing an uncontended lock.
    pub lock_ps: Sourced<u64>,
    /// Opening or closing a page or segment.
    pub page_switch_ps: Sourced<u64>,
    /// Producing one entry of a list.
    pub list_entry_ps: Sourced<u64>,
    /// Moving one index entry.
    pub move_ps: Sourced<u64>,
}

impl Cpu {
    /// The prices in the order of the meter's units (`Unit::ALL`), which is the order of the fields.
    pub const fn picos(&self) -> [u64; 10] {
        [
            self.decode_ps.value,
            self.encode_ps.value,
            self.probe_ps.value,
            self.compare_ps.value,
            self.copy_byte_ps.value,
            self.checksum_byte_ps.value,
            self.lock_ps.value,
            self.page_switch_ps.value,
            self.list_entry_ps.value,
            self.move_ps.value,
        ]
    }
}

/// How the dispatcher hands commands to the I/O cores (SYSTOR'25, section 3.3: to I/O threads).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dispatch {
    /// To whichever core is free.
    #[default]
    Shared,
    /// To the cores in turn: commands on one key can overtake each other.
    RoundRobin,
    /// To the core of the key, and commands on one key in the order in which they came.
    ByKey,
}

/// The device's side of a command. `fetch`, `dispatch` and `complete` hold a core; the `_delay` fields are
/// pipeline time that passes without holding one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Firmware {
    /// Cores that fetch commands and hand them out.
    pub dispatcher_cores: Sourced<u32>,
    /// Cores that execute commands, and background work unless that has cores of its own.
    pub io_cores: Sourced<u32>,
    /// How commands get to the I/O cores: `shared`, `round_robin` or `by_key`.
    #[serde(default = "one_queue")]
    pub dispatch: Sourced<Dispatch>,
    /// Cores for background work alone (collections, evictions, flushes, compactions, checkpoints); 0: it shares the I/O cores. From two on
    /// the jobs that an engine hands out go on side by side, a core each.
    #[serde(default = "shared")]
    pub background_cores: Sourced<u32>,
    /// The device-CPU factor in percent: what a core does takes so much of the times that are stated here. 100 leaves them.
    #[serde(default = "as_stated")]
    pub cpu_factor_percent: Sourced<u32>,
    /// Dispatcher time to take one command from its queue.
    pub fetch_ns: Sourced<u64>,
    /// Dispatcher time to hand one command to an I/O core.
    pub dispatch_ns: Sourced<u64>,
    /// I/O core time to post one completion.
    pub complete_ns: Sourced<u64>,
    /// Delay of a read above 4 KiB, before the flash.
    pub read_delay_ns: Sourced<u64>,
    /// Delay of a read of at most 4 KiB, before the flash.
    pub read_small_delay_ns: Sourced<u64>,
    /// Delay of a write into the write buffer ...
    pub write_delay_ns: Sourced<u64>,
    /// ... and of each 4 KiB of it, counted up.
    pub write_delay_per_4kib_ns: Sourced<u64>,
    /// Bytes that may wait in the controller for their program; writes beyond wait for room.
    pub write_buffer_bytes: Sourced<u64>,
    /// Whether the keys of a group are charged as one index update and a move each (optimistic), and not as an update each
    /// (conservative).
    #[serde(default = "per_pair")]
    pub batched_group_keys: Sourced<bool>,
    /// Whether a command that fills pages of the write buffer holds its core until the flash has done all that was asked of it by
    /// then. Otherwise programs go on beside later commands.
    #[serde(default = "beside")]
    pub programs_awaited: Sourced<bool>,
    /// Prices of metered work on a device core.
    pub cpu: Cpu,
}

fn shared() -> Sourced<u32> {
    Sourced { value: 0, source: Source::Default, note: "background work shares the I/O cores".into() }
}

fn one_queue() -> Sourced<Dispatch> {
    Sourced { value: Dispatch::Shared, source: Source::Default, note: "any free core takes the next".into() }
}

fn as_stated() -> Sourced<u32> {
    Sourced { value: 100, source: Source::Default, note: "a core is as fast as stated".into() }
}

/// What profiles that do not say get: as the paper charges.
fn per_pair() -> Sourced<bool> {
    let note = "conservative (HotStorage'19, section 3.1)".into();
    Sourced { value: false, source: Source::Paper, note }
}

fn beside() -> Sourced<bool> {
    let note = "programs go on beside later commands".into();
    Sourced { value: false, source: Source::Default, note }
}

impl Firmware {
    pub(super) fn check(&self) -> Result<(), ProfileError> {
        let rule = "must be between 1 and 256";
        let good = |n: u32| (1..=256).contains(&n);
        ensure(good(self.dispatcher_cores.value), "firmware.dispatcher_cores", rule)?;
        ensure(good(self.io_cores.value), "firmware.io_cores", rule)?;
        ensure(self.background_cores.value <= 256, "firmware.background_cores", "must be at most 256")?;
        let factor = (1..=100_000).contains(&self.cpu_factor_percent.value);
        ensure(factor, "firmware.cpu_factor_percent", "must be between 1 and 100000")?;
        ensure(self.write_buffer_bytes.value > 0, "firmware.write_buffer_bytes", "must not be zero")
    }
}

/// The host's side of a command, through a user-level driver that polls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Cores for applications and their driver.
    pub cores: Sourced<u32>,
    /// Cores for background jobs of a store at the host, beside those of the threads. From two on the jobs that its engine hands out go
    /// on side by side, a core each. With one they take turns with the threads, on their cores, one at a time.
    #[serde(default = "in_turns")]
    pub background_cores: Sourced<u32>,
    /// What merging tables takes of the times that prices of metered work come to, in percent: 100 leaves them.
    #[serde(default = "as_metered")]
    pub merge_cpu_percent: Sourced<u32>,
    /// Time to build one command and put it into the queue, without the doorbell.
    pub submit_ns: Sourced<u64>,
    /// Time of one look at a completion queue that has nothing new.
    pub poll_ns: Sourced<u64>,
    /// Time to take one completion and call its owner.
    pub complete_ns: Sourced<u64>,
    /// Prices of metered work on a host core.
    pub cpu: Cpu,
}

fn in_turns() -> Sourced<u32> {
    let note = "background work takes turns with the threads".into();
    Sourced { value: 1, source: Source::Default, note }
}

fn as_metered() -> Sourced<u32> {
    let note = "not calibrated: merging costs what its metered work does".into();
    Sourced { value: 100, source: Source::Default, note }
}

impl Host {
    pub(super) fn check(&self) -> Result<(), ProfileError> {
        let rule = "must be between 1 and 1024";
        ensure((1..=1024).contains(&self.cores.value), "host.cores", rule)?;
        ensure((1..=1024).contains(&self.background_cores.value), "host.background_cores", rule)?;
        let rule = "must be between 1 and 100000";
        ensure((1..=100_000).contains(&self.merge_cpu_percent.value), "host.merge_cpu_percent", rule)
    }
}
