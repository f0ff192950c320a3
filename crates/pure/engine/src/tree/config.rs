//! Settings of the tree.

use crate::ordered::Settings;
use saker_medium::Geometry;

/// Settings of a tree store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeConfig {
    /// The namespace it serves, 1-based; marks its segments.
    pub owner: u16,
    /// Whether the power-safe ring survives a power cut (a capacitor).
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

/// What can be asked of a tree store; `None`: as the engine likes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeTuning {
    /// Bytes of nodes kept in memory; 0: none.
    pub node_cache_bytes: Option<u64>,
    /// Modelled bytes of a buffer that make it full.
    pub write_buffer_bytes: Option<u64>,
}

/// The smallest buffer: 64 updates.
const BUFFER_BYTES_MIN: u64 = 64 * crate::ordered::memtable::ENTRY_BYTES;

impl TreeTuning {
    /// Settings with what was asked for.
    pub fn apply(&self, config: TreeConfig) -> TreeConfig {
        TreeConfig {
            node_cache_bytes: self.node_cache_bytes.unwrap_or(config.node_cache_bytes),
            write_buffer_size: self
                .write_buffer_bytes
                .unwrap_or(config.write_buffer_size)
                .max(BUFFER_BYTES_MIN),
            ..config
        }
    }
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
