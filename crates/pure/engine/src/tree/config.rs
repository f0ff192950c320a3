// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings of the tree.

use crate::ordered::Settings;
use saker_engine_api::settings::{Phase, Setting, Settings as Asked, Values};
use saker_segment_store::Geometry;

/// Settings of a tree store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeConfig {
    /// The namespace it serves, 1-based; marks its segments.
    pub owner: u16,
    /// Whether the power-safe page buffer survives a power cut (a capacitor).
    pub ring_lasts: bool,
    /// Largest value in bytes.
    pub value_bytes_max: u32,
    /// A manifest is due when the log has grown by this many bytes.
    pub checkpoint_bytes_min: u64,
    /// Modelled bytes of a buffer that make it full.
    pub write_buffer_size: u64,
    /// Free segments up to which nodes are moved out of segments that are nearly empty; at least where collections start.
    pub move_nodes_up_to_free: u32,
    /// Bytes of nodes kept in memory; 0: none.
    pub node_cache_bytes: u64,
}

/// The smallest buffer: 64 updates.
const BUFFER_BYTES_MIN: u64 = 64 * crate::ordered::memtable::ENTRY_BYTES;

/// Memory for nodes.
const CACHE: &str = "cache_bytes";
/// Bytes of a buffer.
const BUFFER: &str = "write_buffer_size";

/// All of them.
pub static SETTINGS: [Setting; 2] = [
    Setting {
        name: CACHE,
        values: Values::Number(0, 1 << 48),
        phase: Phase::Live,
        default: "S/256, at most 64MiB",
        help: "memory for nodes; 0: none",
    },
    Setting {
        name: BUFFER,
        values: Values::Number(1 << 10, 1 << 32),
        phase: Phase::AtOpen,
        default: "S/64, 16KiB to 64MiB",
        help: "bytes that fill a buffer",
    },
];

/// A store's settings with what was asked for.
pub fn apply(settings: &Asked, config: TreeConfig) -> TreeConfig {
    TreeConfig {
        node_cache_bytes: settings.get(CACHE).unwrap_or(config.node_cache_bytes),
        write_buffer_size: settings.get(BUFFER).unwrap_or(config.write_buffer_size).max(BUFFER_BYTES_MIN),
        ..config
    }
}

/// A store's settings by name.
pub fn told(config: &TreeConfig) -> Asked {
    Asked::told(&[(CACHE, config.node_cache_bytes), (BUFFER, config.write_buffer_size)])
}

/// The settings with those that may change while a store is open as `now` has them.
pub fn retuned(config: TreeConfig, now: &TreeConfig) -> TreeConfig {
    TreeConfig { node_cache_bytes: now.node_cache_bytes, ..config }
}

impl TreeConfig {
    /// Settings for a medium. The cache holds the upper nodes of a full device.
    pub fn new(owner: u16, geometry: &Geometry, quota_segments: u32, ring_lasts: bool) -> Self {
        let Settings { value_bytes_max, checkpoint_bytes_min, write_buffer_size, .. } =
            Settings::new(owner, geometry, quota_segments, ring_lasts);
        let bytes = geometry.segment_bytes() * u64::from(quota_segments);
        Self {
            owner,
            ring_lasts,
            value_bytes_max,
            checkpoint_bytes_min,
            write_buffer_size,
            move_nodes_up_to_free: 0,
            node_cache_bytes: (bytes / 256).min(64 << 20),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_asks_for_the_same() {
        let geometry = Geometry { page_bytes: 4096, oob_bytes: 64, segment_pages: 256, segments: 64 };
        let plain = TreeConfig::new(1, &geometry, 64, true);
        let there = apply(&Asked::told(&[(CACHE, 4096), (BUFFER, 1 << 20)]), plain);
        assert_eq!((there.node_cache_bytes, there.write_buffer_size), (4096, 1 << 20));
        assert_eq!(apply(&told(&there), plain), there);
    }
}
