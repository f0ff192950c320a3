// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What each activity of a block namespace takes and leaves. [`saker_log::reserve`] has the rule.
//!
//! | activity | slots taken, left | segments taken, left |
//! |---|---|---|
//! | repair | 2, 0 | 0 (1 while failed pages wait), 0 |
//! | collection | 2, 2 | 1, 0 |
//! | eviction | 2, 2 | 0, of segments that are set aside, 0 |
//! | checkpoint | 2, 2 | 1, 1 |
//! | trim | 2, 4 | 1, 2 |
//! | write | 2, 6 | 1, 3 |

use saker_log::reserve::{
    Activity, Claim, FOR_COPIES, RECORD_SLOTS, Reserve, STORE_LEAVES_SLOTS, leaves, spare_segments,
};
use saker_segment_store::Geometry;

/// Row of a repair in [`TABLE`].
pub const REPAIR: usize = 0;
/// Row of a collection.
pub const COLLECTION: usize = 1;
/// Row of a checkpoint.
pub const CHECKPOINT: usize = 2;
/// Row of a trim.
pub const TRIM: usize = 3;
/// Row of a write.
pub const WRITE: usize = 4;
/// Row of an eviction.
pub const EVICTION: usize = 5;

/// The activities.
pub const TABLE: [Activity; 6] = [
    Activity {
        name: "repair",
        slots: Claim::new(0, RECORD_SLOTS),
        segments: Claim::new(0, 0),
        why: "copies sectors of failed pages to the stream Gc, waits for nothing; others add its segment while pages wait",
    },
    Activity {
        name: "collection",
        slots: Claim::new(1, RECORD_SLOTS),
        segments: Claim::new(1, 1),
        why: "copies a segment's sectors to the stream Gc and then gives the segment back; waits for repairs",
    },
    Activity {
        name: "checkpoint",
        slots: Claim::new(1, RECORD_SLOTS),
        segments: Claim::new(2, 1),
        why: "appends a chunk to the stream Checkpoint; waits for collections",
    },
    Activity {
        name: "trim",
        slots: Claim::new(2, RECORD_SLOTS),
        segments: Claim::new(3, 1),
        why: "appends records of ranges to the stream User; waits for collections and checkpoints, but not for writes",
    },
    Activity {
        name: "write",
        slots: Claim::new(3, RECORD_SLOTS),
        segments: Claim::new(4, 1),
        why: "appends sectors to the stream User; one that is longer asks for the segments it fills besides; waits for all others",
    },
    Activity {
        name: "eviction",
        slots: Claim::new(1, RECORD_SLOTS),
        segments: Claim::new(0, 0),
        why: "of a map on flash: appends translation pages to the stream Map, whose segments all others leave to it; waits for repairs",
    },
];

/// What a write leaves.
pub const FOR_WRITES: Reserve = leaves(&TABLE, WRITE);
/// What a trim leaves.
pub const FOR_TRIMS: Reserve = leaves(&TABLE, TRIM);
/// What a collection leaves.
pub const FOR_COLLECTIONS: Reserve = leaves(&TABLE, COLLECTION);
/// What an eviction leaves, and a collection of translation pages.
pub const FOR_EVICTIONS: Reserve = leaves(&TABLE, EVICTION);
/// What a repair leaves.
pub const FOR_REPAIRS: Reserve = leaves(&TABLE, REPAIR);

/// Streams of sectors, each with an open segment: User and Gc.
pub const APPEND_POINTS: u32 = 2;
/// Segments of the records of trims, which live until a checkpoint: blocks are promised whatever was trimmed. Half of it may be
/// filled ([`TRIMS_PART_MAX`]), and one record more.
pub const TRIM_SEGMENTS: u32 = 1;
/// Part of a segment that the records of trims may fill on a device short of room.
pub const TRIMS_PART_MAX: u64 = 2;
/// Segments the log never gives to blocks.
pub const SPARE_SEGMENTS: u32 = spare_segments(FOR_WRITES, APPEND_POINTS) + TRIM_SEGMENTS;
/// Translation pages that live for each one: its current version, and what two checkpoints name.
pub const TRANSLATION_VERSIONS: u64 = 3;
/// Segments of translation pages that are not closed: the open one, and one that a collection fills before it gives one back.
pub const MAP_SEGMENTS_OPEN: u32 = 2;

/// Segments that are set aside for so many translation pages. When one waits for room, all segments but one are taken and all of these
/// but the open one closed. So many are closed that what lives fills at most half of the emptiest, on average.
pub fn map_segments(geometry: &Geometry, block_bytes: u32, pages: u64) -> u32 {
    let live = TRANSLATION_VERSIONS * pages * block_bytes as u64;
    let closed = (2 * live).div_ceil(geometry.segment_bytes()) as u32;
    closed + MAP_SEGMENTS_OPEN
}

/// Part of the remaining segments that blocks may fill.
pub const FILL_PERCENT_MAX: u64 = 93;

/// Free segments at which writes are about to wait.
pub const FREE_SEGMENTS_PRESSED: u32 = FOR_WRITES.segments + 1;
/// Free segments below which collections start, two before writes wait; a share of the quota is added.
pub const FREE_SEGMENTS_LOW: u32 = FOR_WRITES.segments + 2;

const _: () = {
    let checkpoint = leaves(&TABLE, CHECKPOINT);
    assert!(checkpoint.slots == FOR_COPIES.slots && checkpoint.segments == FOR_COPIES.segments);
    assert!(FOR_WRITES.slots <= STORE_LEAVES_SLOTS, "no namespace leaves more than others count with");
    assert!(
        FOR_EVICTIONS.slots == FOR_COLLECTIONS.slots,
        "collections wait for evictions, and take no slots of theirs"
    );
    assert!(TRIMS_PART_MAX >= 2, "what trims may fill leaves their segment room for one more");
};
