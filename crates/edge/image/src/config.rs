// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an image is made for; all of it is kept in the header.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use super::ImageError;
use saker_engine::{EngineKind, Settings};
use saker_flash::nand::Shape;
use saker_flash::page_map::PageMapConfig;
use saker_segment_store::Geometry;
use saker_segment_store::header::HEADER_BYTES;

/// Bytes in which a record counts the memory of a cached mapping table.
pub const MAP_CACHE_UNIT: u64 = 1024;
/// The most of that memory that a record can say: 24 bits of units.
pub const MAP_CACHE_MAX: u64 = ((1 << 24) - 1) * MAP_CACHE_UNIT;

/// Namespaces an image can record.
pub const NAMESPACES_MAX: usize = 16;
/// Bytes of a profile's name.
pub const PROFILE_BYTES_MAX: usize = 64;
const PAGE_BYTES_MAX: u32 = 1 << 20;
/// Out-of-band bytes that a page has for each of its blocks.
const SECTOR_ENTRY_BYTES: u32 = saker_flash::page_map::entry::ENTRY_BYTES as u32;
const OOB_BYTES_MAX: u32 = 1 << 16;
const SEGMENTS_MAX: u32 = 1 << 24;
/// Two bits of state a page: 1 GiB of (lazily touched) memory at the limit.
const PAGES_MAX: u64 = 1 << 32;

/// Shape, profile and namespaces of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageConfig {
    /// Pages and segments.
    pub geometry: Geometry,
    /// Channels.
    pub channels: u32,
    /// LUNs over all channels.
    pub luns: u32,
    /// Page-sized slots of the power-safe page buffer.
    pub ring_slots: u16,
    /// Whether the ring survives a power cut.
    pub capacitor: bool,
    /// Seed of the device's own random choices.
    pub seed: u64,
    /// Shards of the format, at least 1.
    pub shards: u16,
    /// Name of the profile, at most [`PROFILE_BYTES_MAX`] bytes without a zero byte.
    pub profile: String,
    /// At most [`NAMESPACES_MAX`].
    pub namespaces: Vec<NamespaceRecord>,
    /// Names this image among all.
    pub uuid: [u8; 16],
}

/// What a namespace speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceKind {
    /// The Key Value command set.
    Kv,
    /// The NVM command set.
    Block,
}

/// A namespace as the header records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamespaceRecord {
    /// Its identifier, 1 to 65535 (page headers carry it as the owner).
    pub nsid: u32,
    /// Its command set.
    pub kind: NamespaceKind,
    /// The engine of a namespace of pairs; of others the default.
    pub engine: EngineKind,
    /// Segments it may hold.
    pub quota_segments: u32,
    /// Bytes of a logical block; 0 for KV.
    pub block_bytes: u32,
    /// Logical blocks; 0 for KV.
    pub blocks: u64,
    /// See [`NamespaceRecord::EDNEK`] and [`NamespaceRecord::settings`].
    pub flags: u32,
    /// Longest value in bytes; 0 for block.
    pub value_bytes_max: u32,
    /// Seed of the namespace's hash.
    pub seed: u64,
}

impl NamespaceRecord {
    /// Flag: deleting a key that does not exist is an error (NVM Express KV Command Set, feature EDNEK).
    pub const EDNEK: u32 = 1;
    /// Where in the flags an engine's settings are.
    const SETTINGS_MASK: u32 = !0 << 8;
    /// The setting that programs know which do not know of others: packing of the LSM engine.
    const FIRST_SETTING_MASK: u32 = 0xf << 8;

    /// Memory of the cached mapping table of blocks whose map lies on flash; 0: the map is in memory. Bits 31:8 of the flags, in KiB.
    pub const fn map_cache_bytes(&self) -> u64 {
        match self.kind {
            NamespaceKind::Kv => 0,
            NamespaceKind::Block => (self.flags >> 8) as u64 * MAP_CACHE_UNIT,
        }
    }

    /// A record of blocks with so much memory for that, in whole KiB.
    #[must_use]
    pub fn with_map_cache(self, bytes: u64) -> Self {
        Self { flags: self.flags & 0xff | ((bytes / MAP_CACHE_UNIT) as u32) << 8, ..self }
    }

    /// What was asked of its engine and belongs to the image.
    pub fn settings(&self) -> Settings {
        if self.kind == NamespaceKind::Block {
            return Settings::NONE;
        }
        Settings::of_image(self.engine.settings(), self.flags & Self::SETTINGS_MASK)
    }

    /// Whether all that was asked of its engine is known here.
    pub(crate) fn is_known(&self) -> bool {
        self.kind != NamespaceKind::Kv || self.with_settings(&self.settings()).flags == self.flags
    }

    /// The same record with what of these settings belongs to the image.
    #[must_use]
    pub fn with_settings(self, settings: &Settings) -> Self {
        if self.kind == NamespaceKind::Block {
            return self;
        }
        let kept = settings.stored(self.engine.settings());
        Self { flags: self.flags & !Self::SETTINGS_MASK | kept, ..self }
    }

    /// Whether a program that knows only [`Self::FIRST_SETTING_MASK`] would open it otherwise than it was made.
    pub(crate) fn has_later_settings(&self) -> bool {
        self.kind == NamespaceKind::Kv && self.flags & Self::SETTINGS_MASK & !Self::FIRST_SETTING_MASK != 0
    }
}

impl ImageConfig {
    /// The shape of the flash.
    pub fn shape(&self) -> Shape {
        Shape { geometry: self.geometry, channels: self.channels, luns: self.luns }
    }

    /// Whether a namespace of pairs is kept by a hash FTL.
    pub fn has_hash_ftl(&self) -> bool {
        self.namespaces.iter().any(|n| n.kind == NamespaceKind::Kv && n.engine.has_grains())
    }

    /// Refuses what has no layout. Headers read from a file pass through here too.
    pub fn validate(&self) -> Result<(), ImageError> {
        self.check_flash()
            .and_then(|()| self.check_names())
            .and_then(|()| check_namespaces(&self.namespaces))
            .map_err(ImageError::Config)
    }

    fn check_flash(&self) -> Result<(), String> {
        let g = &self.geometry;
        let pages = u64::from(g.segments) * u64::from(g.segment_pages);
        within("page_bytes", g.page_bytes, 64, PAGE_BYTES_MAX)?;
        within("oob_bytes", g.oob_bytes, HEADER_BYTES as u32, OOB_BYTES_MAX)?;
        within("segments", g.segments, 1, SEGMENTS_MAX)?;
        within("segment_pages", g.segment_pages, 1, u32::MAX)?;
        within("luns", self.luns, 1, 1 << 16)?;
        within("channels", self.channels, 1, self.luns)?;
        within("ring_slots", u32::from(self.ring_slots), 1, u32::from(u16::MAX))?;
        within("shards", u32::from(self.shards), 1, u32::from(u16::MAX))?;
        if !g.page_bytes.is_multiple_of(8) || !g.oob_bytes.is_multiple_of(8) {
            return Err("page_bytes and oob_bytes must be multiples of 8".into());
        }
        if pages > PAGES_MAX {
            return Err(format!("{pages} pages are more than {PAGES_MAX}"));
        }
        Ok(())
    }

    /// Refuses namespaces that cannot be on this flash. Only headers that somebody has forged say so.
    ///
    /// # Errors
    /// What does not fit, in words.
    pub fn check_fit(&self) -> Result<(), String> {
        self.namespaces.iter().try_for_each(|record| {
            within("a quota of segments", record.quota_segments, 1, self.geometry.segments)?;
            match record.kind {
                NamespaceKind::Kv => self.check_engine(record),
                NamespaceKind::Block => self.check_blocks(record),
            }
        })
    }

    fn check_engine(&self, record: &NamespaceRecord) -> Result<(), String> {
        let (page_bytes, settings) = (self.geometry.page_bytes, record.settings());
        record.engine.fits(page_bytes, &settings)?;
        let needed = record.engine.oob_bytes(page_bytes, &settings);
        let what = || format!("{} needs {needed} out-of-band bytes", record.engine.name());
        if self.geometry.oob_bytes < needed { Err(what()) } else { Ok(()) }
    }

    fn check_blocks(&self, record: &NamespaceRecord) -> Result<(), String> {
        let g = &self.geometry;
        within("the length of a block", record.block_bytes, 1, g.page_bytes)?;
        let entries = g.oob_bytes.saturating_sub(HEADER_BYTES as u32) / SECTOR_ENTRY_BYTES;
        if !g.page_bytes.is_multiple_of(record.block_bytes) || g.page_bytes / record.block_bytes > entries {
            return Err(format!("blocks of {} bytes do not fit its pages", record.block_bytes));
        }
        let least = PageMapConfig::map_cache_bytes_min(g, record.block_bytes);
        // A translation page is a block, and has a few words at least.
        if record.map_cache_bytes() > 0 && (record.map_cache_bytes() < least || record.block_bytes < 8) {
            return Err(format!("a cached mapping table of {} bytes is too small", record.map_cache_bytes()));
        }
        let bytes = u64::from(record.quota_segments) * g.segment_bytes();
        if record.blocks > bytes / u64::from(record.block_bytes) {
            return Err(format!("{} blocks do not fit {} segments", record.blocks, record.quota_segments));
        }
        Ok(())
    }

    fn check_names(&self) -> Result<(), String> {
        if self.profile.len() > PROFILE_BYTES_MAX || self.profile.contains('\0') {
            return Err(format!(
                "the profile name must have at most {PROFILE_BYTES_MAX} bytes and no zero byte"
            ));
        }
        Ok(())
    }
}

fn within(name: &str, value: u32, min: u32, max: u32) -> Result<(), String> {
    if (min..=max).contains(&value) { Ok(()) } else { Err(format!("{name} is {value}, not {min} to {max}")) }
}

pub(super) fn check_namespaces(records: &[NamespaceRecord]) -> Result<(), String> {
    if records.len() > NAMESPACES_MAX {
        return Err(format!("{} namespaces are more than {NAMESPACES_MAX}", records.len()));
    }
    for (n, record) in records.iter().enumerate() {
        within("a namespace identifier", record.nsid, 1, u32::from(u16::MAX))?;
        if records.iter().take(n).any(|other| other.nsid == record.nsid) {
            return Err(format!("namespace {} is there twice", record.nsid));
        }
        if record.engine.code().is_none() {
            return Err(format!("engine {} is not for images", record.engine.name()));
        }
    }
    Ok(())
}
