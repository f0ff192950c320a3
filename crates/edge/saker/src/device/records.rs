// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Namespaces as the device is configured with them, and as an image's header records them.

use crate::image::{ImageConfig, ImageError, NamespaceKind as RecordKind, NamespaceRecord};
use saker_device::{DeviceConfig, EngineKind, NamespaceConfig, NamespaceKind};
use saker_sim::Seed;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// The configuration of the device in an open image.
///
/// # Errors
/// The header tells of namespaces that cannot be on its flash.
pub(crate) fn config_of(path: &Path, image: &ImageConfig) -> Result<DeviceConfig, ImageError> {
    image.check_fit().map_err(|what| ImageError::damaged(path, format!("its header is wrong: {what}")))?;
    Ok(device_config(image))
}

/// What an image's header says, as a device's configuration.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("disk.img");
/// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
/// use saker::image::{Access, open};
/// let config = saker::device_config(&open(&path, Access::Read)?.config);
/// assert_eq!((config.namespaces[0].nsid, config.namespaces.len()), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn device_config(image: &ImageConfig) -> DeviceConfig {
    let namespace = |r: &NamespaceRecord| NamespaceConfig {
        nsid: r.nsid,
        quota_segments: r.quota_segments,
        kind: match r.kind {
            RecordKind::Kv => NamespaceKind::Kv {
                engine: r.engine,
                value_bytes_max: r.value_bytes_max,
                seed: r.seed,
                error_on_delete: r.flags & NamespaceRecord::EDNEK != 0,
            },
            RecordKind::Block => NamespaceKind::Block {
                block_bytes: r.block_bytes,
                blocks: r.blocks,
                map_cache_bytes: r.map_cache_bytes(),
            },
        },
        settings: r.settings(),
    };
    let config =
        DeviceConfig::with(image.namespaces.iter().map(namespace).collect(), image.capacitor, image.seed);
    DeviceConfig { identity: identity(image), ..config }
}

/// The UUID of an image whose identity is its seed's.
pub(crate) fn seeded_uuid(seed: u64) -> [u8; 16] {
    let mut uuid = [0; 16];
    Seed(seed).child("image").rng().fill(&mut uuid);
    uuid
}

/// What the identity of an image's device derives from.
fn identity(image: &ImageConfig) -> u64 {
    if image.uuid == seeded_uuid(image.seed) { image.seed } else { xxh3_64(&image.uuid) }
}

/// The records of a device's namespaces.
pub(crate) fn records(config: &DeviceConfig) -> Vec<NamespaceRecord> {
    config.namespaces.iter().map(|ns| record(ns).with_settings(&ns.settings)).collect()
}

fn record(ns: &NamespaceConfig) -> NamespaceRecord {
    let blank = NamespaceRecord {
        nsid: ns.nsid,
        kind: RecordKind::Kv,
        engine: EngineKind::default(),
        quota_segments: ns.quota_segments,
        block_bytes: 0,
        blocks: 0,
        flags: 0,
        value_bytes_max: 0,
        seed: 0,
    };
    match ns.kind {
        NamespaceKind::Kv { engine, value_bytes_max, seed, error_on_delete } => {
            let flags = if error_on_delete { NamespaceRecord::EDNEK } else { 0 };
            NamespaceRecord { engine, value_bytes_max, seed, flags, ..blank }
        }
        NamespaceKind::Block { block_bytes, blocks, map_cache_bytes } => {
            let record = NamespaceRecord { kind: RecordKind::Block, block_bytes, blocks, ..blank };
            record.with_map_cache(map_cache_bytes)
        }
    }
}
