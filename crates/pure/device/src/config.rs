// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a device is made of, as its image says.

use saker_engine::{EngineKind, HashStoreConfig, KeyCost, Settings};
use saker_flash::page_map::PageMapConfig;
use saker_long_keys::NarrowDigest;
use saker_nvme::vendor_specific::Methods;
use saker_segment_store::Geometry;

/// What a namespace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceKind {
    /// Key-value pairs.
    Kv {
        /// Which engine keeps them.
        engine: EngineKind,
        /// Largest value in bytes.
        value_bytes_max: u32,
        /// Seed of the store's key order.
        seed: u64,
        /// Feature 20h: deleting a missing key is an error.
        error_on_delete: bool,
    },
    /// Logical blocks over a page map.
    Block {
        /// Bytes of a block.
        block_bytes: u32,
        /// Number of blocks.
        blocks: u64,
        /// Memory of the cached mapping table, if the map lies on flash; 0: the whole map is in memory.
        map_cache_bytes: u64,
    },
}

/// A namespace of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceConfig {
    /// Its number, from 1.
    pub nsid: u32,
    /// Superblocks it may hold.
    pub quota_segments: u32,
    /// What it is.
    pub kind: NamespaceKind,
    /// What was asked of its engine; nothing, if it has blocks.
    pub settings: Settings,
}

/// The device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceConfig {
    /// Its namespaces in ascending order.
    pub namespaces: Vec<NamespaceConfig>,
    /// Whether a capacitor keeps the power-safe page buffer through a power cut.
    pub capacitor: bool,
    /// Serial number, SUBNQN and identifiers derive from it; two devices on one network need different ones.
    pub identity: u64,
    /// I/O queue pairs.
    pub queue_pairs_max: u16,
    /// Entries of a queue.
    pub queue_entries_max: u32,
    /// Vendor methods of transfer it offers.
    pub methods: Methods,
    /// Whether I/O commands may name their data by SGLs.
    pub sgl: bool,
    /// A checkpoint is due when the log of a KV namespace has grown by this many bytes; `None`: by size.
    pub checkpoint_bytes: Option<u64>,
    /// What metering charges for the keys of a group.
    pub group_keys: KeyCost,
    /// The digest under which keys of 17 to 255 bytes are kept. Anything but the default is for tests of collisions.
    pub long_key_digest: NarrowDigest,
    /// Writes are refused, and nothing is collected or merged.
    pub read_only: bool,
}

/// Bytes that one command can move.
pub const TRANSFER_BYTES_MAX: u32 = 4 << 20;
/// Bytes that one Copy moves at most (MSSRL and MCL): what the device keeps of it in memory.
pub const COPY_BYTES_MAX: u32 = 1 << 20;
/// Source ranges of one Copy (MSRC is one less).
pub const COPY_RANGES_MAX: u32 = 128;

impl DeviceConfig {
    /// One KV namespace over all of the flash.
    pub fn kv(geometry: &Geometry, capacitor: bool, seed: u64) -> Self {
        Self::with(vec![NamespaceConfig::kv(1, geometry, geometry.segments, seed)], capacitor, seed)
    }

    /// The same with another engine for all pairs.
    #[must_use]
    pub fn with_engine(mut self, kind: EngineKind) -> Self {
        self.namespaces = self.namespaces.into_iter().map(|n| n.with_engine(kind)).collect();
        self
    }

    /// Asks each engine for what it has of these settings; what is asked for here goes before what was.
    pub fn ask(&mut self, settings: &Settings) {
        for namespace in &mut self.namespaces {
            if let NamespaceKind::Kv { engine, .. } = namespace.kind {
                namespace.settings = settings.within(engine.settings()).over(&namespace.settings);
            }
        }
    }

    /// By how many owners pages can be open at a time, each of which may hold [`saker_log::reserve::OPEN_PAGES`]: a map on flash has a page
    /// more, so such a namespace counts twice.
    pub(crate) fn holders_of_open_pages(&self) -> u16 {
        self.namespaces.iter().map(|n| 1 + u16::from(n.has_map_on_flash())).sum()
    }

    /// One block namespace over all of the flash.
    pub fn block(geometry: &Geometry, capacitor: bool, seed: u64, block_bytes: u32) -> Self {
        let ns = NamespaceConfig::block(1, geometry, geometry.segments, capacitor, block_bytes);
        Self::with(vec![ns], capacitor, seed)
    }

    /// A device with these namespaces, whose identity is `seed`.
    pub fn with(namespaces: Vec<NamespaceConfig>, capacitor: bool, seed: u64) -> Self {
        Self {
            namespaces,
            capacitor,
            identity: seed,
            queue_pairs_max: 64,
            queue_entries_max: 4096,
            methods: Methods::ALL,
            sgl: true,
            checkpoint_bytes: None,
            group_keys: KeyCost::default(),
            long_key_digest: NarrowDigest::default(),
            read_only: false,
        }
    }
}

impl NamespaceConfig {
    /// A KV namespace with the largest values the geometry allows (up to 2 MiB).
    pub fn kv(nsid: u32, geometry: &Geometry, quota_segments: u32, seed: u64) -> Self {
        let defaults = HashStoreConfig::new(nsid as u16, geometry, quota_segments, true);
        let kind = NamespaceKind::Kv {
            engine: EngineKind::default(),
            value_bytes_max: defaults.value_bytes_max,
            seed,
            error_on_delete: false,
        };
        Self { nsid, quota_segments, kind, settings: Settings::NONE }
    }

    /// Whether its engine has threads of its own: no device that keeps time takes it.
    pub fn has_workers(&self) -> bool {
        let NamespaceKind::Kv { engine, .. } = &self.kind else { return false };
        engine.has_workers()
    }

    /// The same with another engine, if it has pairs.
    #[must_use]
    pub fn with_engine(mut self, kind: EngineKind) -> Self {
        if let NamespaceKind::Kv { engine, .. } = &mut self.kind {
            *engine = kind;
        }
        self
    }

    /// A block namespace as large as its quota allows.
    pub fn block(
        nsid: u32,
        geometry: &Geometry,
        quota_segments: u32,
        capacitor: bool,
        block_bytes: u32,
    ) -> Self {
        let defaults = PageMapConfig::new(nsid as u16, geometry, quota_segments, capacitor, block_bytes);
        let kind = NamespaceKind::Block { block_bytes, blocks: defaults.blocks, map_cache_bytes: 0 };
        Self { nsid, quota_segments, kind, settings: Settings::NONE }
    }

    /// Whether it has blocks whose map is on flash.
    pub(crate) const fn has_map_on_flash(&self) -> bool {
        matches!(self.kind, NamespaceKind::Block { map_cache_bytes: 1.., .. })
    }

    /// The same with its map on flash, if it has blocks, and so much memory for the cached mapping table. 0: with the map in memory.
    #[must_use]
    pub fn with_map_cache(mut self, geometry: &Geometry, capacitor: bool, bytes: u64) -> Self {
        if let NamespaceKind::Block { block_bytes, blocks, map_cache_bytes } = &mut self.kind {
            let (owner, quota) = (self.nsid as u16, self.quota_segments);
            let config = PageMapConfig::new(owner, geometry, quota, capacitor, *block_bytes);
            *blocks = config.with_map_cache(geometry, quota, bytes).blocks;
            *map_cache_bytes = bytes;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the longest value leaves in a page buffer goes by it.
    #[test]
    fn a_map_on_flash_has_a_page_more_open() {
        let g = Geometry { page_bytes: 512, oob_bytes: 64, segment_pages: 16, segments: 64 };
        let blocks = NamespaceConfig::block(2, &g, 32, true, 512);
        let with = |blocks| DeviceConfig::with(vec![NamespaceConfig::kv(1, &g, 32, 7), blocks], true, 7);
        assert_eq!(with(blocks.clone()).holders_of_open_pages(), 2);
        assert_eq!(with(blocks.with_map_cache(&g, true, 2048)).holders_of_open_pages(), 3);
    }
}
