// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What both kinds of ordered store are told.

use saker_segment_store::Geometry;
use saker_value_log::packing::{PRICED_BYTES, Packing};
use saker_value_log::record::HEADER_BYTES;

/// What both kinds of store are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The namespace it serves, 1-based; marks its segments.
    pub owner: u16,
    /// Whether the power-safe page buffer survives a power cut (a capacitor).
    pub ring_lasts: bool,
    /// Largest value in bytes.
    pub value_bytes_max: u32,
    /// A manifest is due when the log has grown by this many bytes.
    pub checkpoint_bytes_min: u64,
    /// Modelled bytes of a memtable for which there is room.
    pub write_buffer_size: u64,
    /// Modelled bytes of a memtable that make it full, at most as many.
    pub full_memtable_bytes: u64,
    /// Where values go in the value log; `None`: DMA reaches any byte.
    pub packing: Option<Packing>,
    /// Bytes that a core copies while [`PRICED_BYTES`] are programmed, all dies at work.
    pub program_price: u32,
    /// Shorter values stay beside their keys (see [`Settings::may_be_inside`]), or some of all of them ([`AUTO`], [`BY_TURNS`]).
    pub min_blob_size: u32,
}

/// As `min_blob_size`: the store decides which values stay beside their keys (`placement.rs`).
pub const AUTO: u32 = u32::MAX - 1;
/// The same, but it decides by turns and not by costs: for tests of what follows from a change.
pub const BY_TURNS: u32 = u32::MAX - 2;

/// Largest memtable by default, RocksDB's: two of them and what tables need fit a modelled 256 MiB.
const WRITE_BUFFER_BYTES_MAX: u64 = 64 << 20;

impl Settings {
    /// The largest value whose record leaves half of a segment, in bytes.
    pub(super) fn value_bytes_most(geometry: &Geometry) -> u32 {
        (2 << 20).min((geometry.segment_bytes() as u32 - HEADER_BYTES - 16) / 2)
    }

    /// Settings for a namespace on a medium of that shape. Both kinds of store have the same, so that what differs between them is
    /// their structure.
    pub fn new(owner: u16, geometry: &Geometry, quota_segments: u32, ring_lasts: bool) -> Self {
        let segment = geometry.segment_bytes();
        let bytes = segment * u64::from(quota_segments);
        let write_buffer_size = (bytes / 64).clamp(16 << 10, WRITE_BUFFER_BYTES_MAX);
        Self {
            owner,
            ring_lasts,
            value_bytes_max: Self::value_bytes_most(geometry),
            checkpoint_bytes_min: (bytes / 8).min(64 << 20),
            write_buffer_size,
            full_memtable_bytes: write_buffer_size,
            packing: None,
            program_price: PRICED_BYTES,
            min_blob_size: 0,
        }
    }

    /// Whether a value of so many bytes may stay beside its key: in the memtable, and in the structure from the flush on. The value log
    /// then has its record only until a manifest says that the structure has it, as it has a tombstone's. A record of such a value that
    /// stays in the log says so.
    #[inline]
    pub fn may_be_inside(&self, value_bytes: u32) -> bool {
        value_bytes < self.min_blob_size
    }

    /// Whether the store decides which of them do.
    #[inline]
    pub fn is_auto(&self) -> bool {
        (BY_TURNS..=AUTO).contains(&self.min_blob_size)
    }

    /// Whether it decides by turns.
    pub fn places_by_turns(&self) -> bool {
        self.min_blob_size == BY_TURNS
    }

    /// Whether any value does.
    pub fn has_inside(&self) -> bool {
        self.min_blob_size > 0
    }
}
