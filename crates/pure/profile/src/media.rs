// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How long the flash takes: a model with its numbers.

use serde::{Deserialize, Serialize};

use super::error::ensure;
use super::{ProfileError, Source, Sourced};

/// A media model, chosen by the key `model`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case")]
pub enum Media {
    /// One latency and one bandwidth for each direction.
    FourParameter(FourParameter),
    /// LUNs that sense, program and erase behind shared channels.
    Nand(Nand),
    /// Whole operations by their sizes; the flash itself takes no time.
    LatencyTable(LatencyTable),
    /// Whole operations, always the same; the flash itself takes no time.
    Fixed(Fixed),
}

/// Measured times of whole operations, as KVEMU has them (HotStorage'19, section 3.2). A point is `[longest key in bytes,
/// value in bytes, ns]`; between values times are interpolated, beyond them the next point holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyTable {
    /// Store, by the value.
    pub store_ns: Sourced<Vec<[u64; 3]>>,
    /// Retrieve, by the buffer.
    pub retrieve_ns: Sourced<Vec<[u64; 3]>>,
    /// Delete.
    pub delete_ns: Sourced<Vec<[u64; 3]>>,
    /// Exist.
    pub exist_ns: Sourced<Vec<[u64; 3]>>,
    /// A group of stores as one value under a short key, by its payload: points `[bytes, ns]`. Each pair after the first
    /// adds `key_handling_ns`.
    pub group_store_ns: Sourced<Vec<[u64; 2]>>,
    /// The same for a group of retrieves.
    pub group_retrieve_ns: Sourced<Vec<[u64; 2]>>,
    /// What the handling of one key is of a store.
    pub key_handling_ns: Sourced<u64>,
    /// A read of 4 KiB of blocks.
    pub block_read_ns: Sourced<u64>,
    /// A write of 4 KiB of blocks.
    pub block_write_ns: Sourced<u64>,
}

/// Times of whole operations, whatever their sizes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixed {
    /// Store.
    pub store_ns: Sourced<u64>,
    /// Retrieve.
    pub retrieve_ns: Sourced<u64>,
    /// Delete.
    pub delete_ns: Sourced<u64>,
    /// Exist.
    pub exist_ns: Sourced<u64>,
    /// What each further operation of a group adds, unless keys are batched.
    pub pair_ns: Sourced<u64>,
    /// Block read.
    pub block_read_ns: Sourced<u64>,
    /// Block write.
    pub block_write_ns: Sourced<u64>,
}

/// Latency and bandwidth for each direction: a request takes its latency plus its bytes at the bandwidth that
/// all requests share. The device model of SAKER (SYSTOR'25), section 3.1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FourParameter {
    /// Time of a read besides its bytes.
    pub read_latency_ns: Sourced<u64>,
    /// Bytes read a second, over the whole device.
    pub read_bandwidth_bytes_per_s: Sourced<u64>,
    /// Time of a write besides its bytes.
    pub write_latency_ns: Sourced<u64>,
    /// Bytes written a second, over the whole device.
    pub write_bandwidth_bytes_per_s: Sourced<u64>,
    /// Time of one block erase; it holds the block's LUN, not the shared bandwidth.
    pub erase_ns: Sourced<u64>,
}

/// NAND timing, after the model of NVMeVirt (FAST'23): an operation holds its LUN, its bytes hold the channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nand {
    /// Sense time of a whole page, one entry for each page of a cell (lower first); page `p` of a block takes
    /// entry `p mod entries`.
    pub read_ns: Sourced<Vec<u64>>,
    /// The same for a sense of at most `read_small_bytes_max` bytes.
    pub read_small_ns: Sourced<Vec<u64>>,
    /// Largest sense that takes `read_small_ns`.
    pub read_small_bytes_max: Sourced<u64>,
    /// Time of a program.
    pub program_ns: Sourced<u64>,
    /// Pages of a LUN that one program writes: the last of them takes its time, the others only their way over the channel to the
    /// registers. They count as written then, so a profile with several has a capacitor.
    #[serde(default = "one_page")]
    pub program_pages: Sourced<u32>,
    /// Whether programs take time of what collections copy. Public emulators leave them out.
    #[serde(default = "charged")]
    pub copies_charged: Sourced<bool>,
    /// Erase time of a block.
    pub erase_ns: Sourced<u64>,
    /// Bytes a second of one channel.
    pub channel_bandwidth_bytes_per_s: Sourced<u64>,
    /// Bytes after which a transfer lets other LUNs of its channel in.
    pub channel_transfer_bytes_max: Sourced<u64>,
}

fn one_page() -> Sourced<u32> {
    Sourced { value: 1, source: Source::Default, note: "a program for each page".into() }
}

fn charged() -> Sourced<bool> {
    Sourced { value: true, source: Source::Default, note: "copies are programmed as all else is".into() }
}

impl Nand {
    /// How long a LUN senses for `bytes` of page `page` (its index in the block), in nanoseconds.
    pub fn sense_ns(&self, page: u32, bytes: u64) -> u64 {
        let small = bytes <= self.read_small_bytes_max.value;
        let times = if small { &self.read_small_ns.value } else { &self.read_ns.value };
        times[page as usize % times.len()]
    }

    fn check(&self) -> Result<(), ProfileError> {
        let entries = self.read_ns.value.len();
        ensure((1..=8).contains(&entries), "media.read_ns", "must have 1 to 8 entries")?;
        let same = self.read_small_ns.value.len() == entries;
        ensure(same, "media.read_small_ns", "must have as many entries as media.read_ns")?;
        let pages = self.program_pages.value;
        ensure((1..=1024).contains(&pages), "media.program_pages", "must be between 1 and 1024")?;
        let fast = self.channel_bandwidth_bytes_per_s.value;
        ensure(fast > 0, "media.channel_bandwidth_bytes_per_s", "must not be zero")?;
        let chunk = self.channel_transfer_bytes_max.value;
        ensure(chunk >= 512, "media.channel_transfer_bytes_max", "must be at least 512")
    }
}

impl FourParameter {
    fn check(&self) -> Result<(), ProfileError> {
        let read = self.read_bandwidth_bytes_per_s.value;
        ensure(read > 0, "media.read_bandwidth_bytes_per_s", "must not be zero")?;
        let write = self.write_bandwidth_bytes_per_s.value;
        ensure(write > 0, "media.write_bandwidth_bytes_per_s", "must not be zero")
    }
}

impl LatencyTable {
    fn check(&self) -> Result<(), ProfileError> {
        let singles = [
            ("media.store_ns", &self.store_ns),
            ("media.retrieve_ns", &self.retrieve_ns),
            ("media.delete_ns", &self.delete_ns),
            ("media.exist_ns", &self.exist_ns),
        ];
        for (path, points) in singles {
            let good = points.value.iter().any(|p| p[0] >= 255);
            ensure(good, path, "must have a point for keys of 255 bytes")?;
        }
        ensure(!self.group_store_ns.value.is_empty(), "media.group_store_ns", "must have a point")?;
        ensure(!self.group_retrieve_ns.value.is_empty(), "media.group_retrieve_ns", "must have a point")
    }
}

impl Media {
    pub(super) fn check(&self) -> Result<(), ProfileError> {
        match self {
            Self::FourParameter(m) => m.check(),
            Self::Nand(m) => m.check(),
            Self::LatencyTable(m) => m.check(),
            Self::Fixed(_) => Ok(()),
        }
    }
}
