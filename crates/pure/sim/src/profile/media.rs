//! How long the flash takes: a model with its numbers.

use serde::{Deserialize, Serialize};

use super::error::ensure;
use super::{ProfileError, Sourced};

/// A media model, chosen by the key `model`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case")]
pub enum Media {
    /// One latency and one bandwidth for each direction.
    FourParameter(FourParameter),
    /// LUNs that sense, program and erase behind shared channels.
    Nand(Nand),
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
    /// Program time of a page.
    pub program_ns: Sourced<u64>,
    /// Erase time of a block.
    pub erase_ns: Sourced<u64>,
    /// Bytes a second of one channel.
    pub channel_bandwidth_bytes_per_s: Sourced<u64>,
    /// Bytes after which a transfer lets other LUNs of its channel in.
    pub channel_transfer_bytes_max: Sourced<u64>,
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

impl Media {
    /// Erase time of a block, whatever the model.
    pub const fn erase_ns(&self) -> u64 {
        match self {
            Self::FourParameter(m) => m.erase_ns.value,
            Self::Nand(m) => m.erase_ns.value,
        }
    }

    pub(super) fn check(&self) -> Result<(), ProfileError> {
        match self {
            Self::FourParameter(m) => m.check(),
            Self::Nand(m) => m.check(),
        }
    }
}
