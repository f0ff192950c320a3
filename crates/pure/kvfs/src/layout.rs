// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where what lies on a device, and the superblock that says so.
//!
//! | blocks | content |
//! |---|---|
//! | 0 | superblock |
//! | 1 and on | two areas of the journal, equally long |
//! | behind them | data |
//! | the last | the superblock again |
//!
//! The superblock, little-endian: `SAKERFS1`, version 4, block bytes 4, blocks 8, identity 8, blocks of an area 8, CRC-32C of these 4.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of devices"
    )
)]

use crate::disk::Disk;
use crate::error::FsError;
use crate::extent::Extent;

const MAGIC: &[u8; 8] = b"SAKERFS1";
/// The format that this code makes.
pub const VERSION: u32 = 3;
/// Before [`crate::journal`] had passing records. Files of that format can be used; their flushes are syncs.
pub const VERSION_WITHOUT_PASSING: u32 = 1;
/// Before flushes left trailers ([`crate::trailer`]). Each flush of files of that format is told to the journal.
pub const VERSION_WITHOUT_FOLLOW: u32 = 2;
/// Bytes of a superblock.
pub const SUPERBLOCK_BYTES: usize = 44;
/// Blocks of this and more bytes can be used: a superblock and the head of a record fit.
pub const BLOCK_BYTES_MIN: u32 = 512;
/// An area of the journal has at least so many blocks: some for a checkpoint, and some for records behind it.
pub const AREA_BLOCKS_MIN: u64 = 16;
/// An area has at most so many bytes if its user does not say how many.
pub const AREA_BYTES_USUAL: u64 = 64 << 20;
/// An area has at most so many bytes: the length of a record has 32 bits.
pub const AREA_BYTES_MAX: u64 = 1 << 30;
/// The part of a device that an area is, if its user does not say.
const AREA_PART: u64 = 64;

/// Where what lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The format.
    pub version: u32,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Blocks of the device.
    pub blocks: u64,
    /// Different for each file system that was ever made, so that nothing left of an older one is taken for this one's.
    pub identity: u64,
    /// Blocks of each area of the journal.
    pub area_blocks: u64,
}

impl Layout {
    /// For a device, with areas of so many bytes.
    ///
    /// # Errors
    /// [`FsError::Geometry`].
    pub fn new(disk: &impl Disk, identity: u64, area_bytes: Option<u64>) -> Result<Self, FsError> {
        let (block_bytes, blocks) = (disk.block_bytes(), disk.blocks());
        if block_bytes < BLOCK_BYTES_MIN || !block_bytes.is_power_of_two() {
            return Err(FsError::Geometry(format!(
                "its blocks have {block_bytes} bytes; 512 or more are needed"
            )));
        }
        if let Some(bytes) = area_bytes.filter(|bytes| *bytes > AREA_BYTES_MAX) {
            return Err(FsError::Geometry(format!(
                "an area of its journal has at most 1 GiB, not {bytes} bytes"
            )));
        }
        let in_bytes = |bytes: u64| bytes.div_ceil(u64::from(block_bytes)).max(AREA_BLOCKS_MIN);
        let usual = (blocks / AREA_PART).clamp(AREA_BLOCKS_MIN, in_bytes(AREA_BYTES_USUAL));
        let area_blocks = area_bytes.map_or(usual, in_bytes);
        let layout = Self { version: VERSION, block_bytes, blocks, identity, area_blocks };
        // As much for data as for the journal, at least.
        if area_blocks.checked_mul(4).is_none_or(|needed| needed + 2 > blocks) {
            let needed = area_blocks.saturating_mul(4).saturating_add(2);
            return Err(FsError::Geometry(format!("it has {blocks} blocks; {needed} are needed")));
        }
        Ok(layout)
    }

    /// The first block of an area of the journal, 0 or 1.
    pub fn area(&self, n: u8) -> u64 {
        1 + u64::from(n) * self.area_blocks
    }

    /// Bytes of an area.
    pub fn area_bytes(&self) -> u64 {
        self.area_blocks * u64::from(self.block_bytes)
    }

    /// The blocks of files.
    pub fn data(&self) -> Extent {
        let start = 1 + 2 * self.area_blocks;
        Extent { start, blocks: self.blocks - start - 1 }
    }

    /// Where superblocks are.
    pub fn superblocks(&self) -> [u64; 2] {
        [0, self.blocks - 1]
    }

    /// The superblock's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&self.version.to_le_bytes());
        out.extend_from_slice(&self.block_bytes.to_le_bytes());
        [self.blocks, self.identity, self.area_blocks]
            .iter()
            .for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
        out.extend_from_slice(&crc_fast::crc32_iscsi(&out).to_le_bytes());
        assert_eq!(out.len(), SUPERBLOCK_BYTES, "a superblock is as long as the format says");
        out
    }

    /// What a block says that should be a superblock of this device. `Ok(None)`: it is none.
    fn decode(block: &[u8], disk: &impl Disk) -> Result<Option<Self>, FsError> {
        let Some((bytes, crc)) = block.get(..SUPERBLOCK_BYTES).and_then(|all| all.split_last_chunk::<4>())
        else {
            return Ok(None);
        };
        if !bytes.starts_with(MAGIC) {
            return Ok(None);
        }
        if crc_fast::crc32_iscsi(bytes) != u32::from_le_bytes(*crc) {
            return Err(FsError::Damaged("a superblock does not match its checksum".into()));
        }
        let number =
            |at: usize| bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes);
        let word =
            |at: usize| bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes);
        let (version, block_bytes) = (word(8), word(12));
        if !(VERSION_WITHOUT_PASSING..=VERSION).contains(&version) {
            return Err(FsError::Geometry(format!(
                "its format is {version}; this program knows 1 to {VERSION}"
            )));
        }
        let (blocks, identity, area_blocks) = (number(16), number(24), number(32));
        let layout = Self { version, block_bytes, blocks, identity, area_blocks };
        let fits =
            area_blocks >= AREA_BLOCKS_MIN && area_blocks.checked_mul(4).is_some_and(|n| n + 2 <= blocks);
        let is_short =
            area_blocks.checked_mul(u64::from(block_bytes)).is_some_and(|bytes| bytes <= AREA_BYTES_MAX);
        if block_bytes != disk.block_bytes() || blocks > disk.blocks() || !fits || !is_short {
            return Err(FsError::Damaged("the superblock is of another device".into()));
        }
        Ok(Some(layout))
    }

    /// What a device has: of the first superblock, or else of the one at its end.
    ///
    /// # Errors
    /// [`FsError::NoFileSystem`], or why both cannot be used.
    pub fn read(disk: &mut impl Disk) -> Result<Self, FsError> {
        if disk.blocks() == 0 || disk.block_bytes() < BLOCK_BYTES_MIN {
            return Err(FsError::NoFileSystem);
        }
        let mut block = vec![0; disk.block_bytes() as usize];
        let mut first = FsError::NoFileSystem;
        for (n, at) in [0, disk.blocks() - 1].into_iter().enumerate() {
            let found =
                disk.read(at, &mut block).map_err(FsError::from).and_then(|()| Self::decode(&block, disk));
            match found {
                Ok(Some(layout)) => return Ok(layout),
                Ok(None) => {}
                Err(error) if n == 0 => first = error,
                Err(_) => {}
            }
        }
        Err(first)
    }
}
