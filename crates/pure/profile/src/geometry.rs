// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How the flash is laid out: channels, LUNs, blocks, pages, and what is kept from the user.

use serde::{Deserialize, Serialize};

use super::error::ensure;
use super::{ProfileError, Sourced};

/// Layout of the flash array. A LUN is one way of one channel; a superblock is one block of every LUN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Channels, each with its own bus.
    pub channels: Sourced<u32>,
    /// LUNs behind each channel.
    pub ways_per_channel: Sourced<u32>,
    /// Blocks of each LUN, unless the image asks for another capacity.
    pub blocks_per_lun: Sourced<u32>,
    /// Pages of each block, programmed in order.
    pub pages_per_block: Sourced<u32>,
    /// Data bytes of a page: a power of two, at least 512.
    pub page_bytes: Sourced<u32>,
    /// Spare bytes of a page, for epoch, sequence, owner and checksum.
    pub oob_bytes: Sourced<u32>,
    /// Share of the raw capacity that the user does not see.
    pub over_provisioning_percent: Sourced<u32>,
    /// Slots of the power-safe page buffer; what programs and erases are in flight is described there.
    pub power_safe_ring_slots: Sourced<u32>,
    /// Erases that a block endures. Reserved: wear is counted, not yet acted on.
    pub endurance_cycles: Sourced<u32>,
}

/// Raw capacity above this is refused: addresses and byte counts stay far from overflow.
const RAW_BYTES_MAX: u64 = 1 << 47;
/// Smallest spare area that holds our page header.
const OOB_BYTES_MIN: u32 = 32;

impl Geometry {
    /// LUNs of the device.
    pub const fn luns(&self) -> u32 {
        self.channels.value * self.ways_per_channel.value
    }

    /// Data bytes of one block.
    pub const fn block_bytes(&self) -> u64 {
        self.pages_per_block.value as u64 * self.page_bytes.value as u64
    }

    /// Data bytes of one superblock.
    pub const fn superblock_bytes(&self) -> u64 {
        self.block_bytes() * self.luns() as u64
    }

    /// Data bytes of the device before over-provisioning.
    pub const fn raw_bytes(&self) -> u64 {
        self.superblock_bytes() * self.blocks_per_lun.value as u64
    }

    /// Data bytes after over-provisioning, rounded down to pages.
    pub const fn user_bytes(&self) -> u64 {
        let page = self.page_bytes.value as u64;
        let pages = self.raw_bytes() / page;
        (pages - (pages * self.over_provisioning_percent.value as u64).div_ceil(100)) * page
    }

    pub(super) fn check(&self) -> Result<(), ProfileError> {
        let small_count = "must be between 1 and 1024";
        let in_count = |n: u32| (1..=1024).contains(&n);
        ensure(in_count(self.channels.value), "geometry.channels", small_count)?;
        ensure(in_count(self.ways_per_channel.value), "geometry.ways_per_channel", small_count)?;
        ensure(self.blocks_per_lun.value >= 2, "geometry.blocks_per_lun", "must be at least 2")?;
        ensure(self.pages_per_block.value >= 1, "geometry.pages_per_block", "must be at least 1")?;
        self.check_page()?;
        let raw_bytes = [self.luns(), self.blocks_per_lun.value, self.pages_per_block.value]
            .into_iter()
            .try_fold(u64::from(self.page_bytes.value), |n, m| n.checked_mul(u64::from(m)));
        let fits = raw_bytes.is_some_and(|n| n <= RAW_BYTES_MAX);
        ensure(fits, "geometry.blocks_per_lun", "makes a device of more than 128 TiB")?;
        let percent = self.over_provisioning_percent.value;
        ensure(percent <= 90, "geometry.over_provisioning_percent", "must be at most 90")?;
        ensure(self.power_safe_ring_slots.value >= 2, "geometry.power_safe_ring_slots", "must be at least 2")
    }

    fn check_page(&self) -> Result<(), ProfileError> {
        let page = self.page_bytes.value;
        let good = page.is_power_of_two() && (512..=1 << 20).contains(&page);
        ensure(good, "geometry.page_bytes", "must be a power of two between 512 and 1048576")?;
        let oob = self.oob_bytes.value;
        ensure(oob >= OOB_BYTES_MIN && oob <= page, "geometry.oob_bytes", "must be between 32 and a page")
    }
}
