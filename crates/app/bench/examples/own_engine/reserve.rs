// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What each activity takes and leaves: the rule of [`saker_log::reserve`].

use saker_log::reserve::{Activity, Claim, RECORD_SLOTS, Reserve, leaves, spare_segments};

/// The activities.
const TABLE: [Activity; 4] = [
    Activity {
        name: "repair",
        slots: Claim::new(0, RECORD_SLOTS),
        segments: Claim::new(0, 0),
        why: "copies records of failed pages; collections leave it a segment while pages wait",
    },
    Activity {
        name: "collection",
        slots: Claim::new(1, RECORD_SLOTS),
        segments: Claim::new(1, 1),
        why: "copies a segment's records into one more at most, then gives one back; waits for repairs",
    },
    Activity {
        name: "delete",
        slots: Claim::new(2, RECORD_SLOTS),
        segments: Claim::new(2, 1),
        why: "appends a tombstone; waits for collections, not for stores: only deletes make room in a full store",
    },
    Activity {
        name: "store",
        slots: Claim::new(3, RECORD_SLOTS),
        segments: Claim::new(3, 1),
        why: "appends a pair; waits for all others",
    },
];

/// What a repair leaves.
pub const FOR_REPAIRS: Reserve = leaves(&TABLE, 0);
/// What a collection leaves.
pub const FOR_COLLECTIONS: Reserve = leaves(&TABLE, 1);
/// What a delete leaves.
pub const FOR_DELETES: Reserve = leaves(&TABLE, 2);
/// What a store leaves.
pub const FOR_PAIRS: Reserve = leaves(&TABLE, 3);

/// Segments that pairs never fill. Two streams have an open one: new records, and copies.
pub const SPARE_SEGMENTS: u32 = spare_segments(FOR_PAIRS, 2);
/// Free segments at which collections begin, two before stores wait.
pub const FREE_SEGMENTS_LOW: u32 = FOR_PAIRS.segments + 2;
