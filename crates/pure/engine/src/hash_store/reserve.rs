// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What each activity of a hash store takes and leaves. [`saker_log::reserve`] has the rule.
//!
//! | activity | slots taken, left | segments taken, left |
//! |---|---|---|
//! | repair | 2, 0 | 0 (1 while failed pages wait), 0 |
//! | collection | 2, 2 | 1, 0 |
//! | checkpoint | 2, 2 | 1, 1 |
//! | delete | 2, 4 | 1, 2 |
//! | store, group | 2, 6 | 1, 3 |

use saker_log::reserve::{
    Activity, Claim, FOR_COPIES, RECORD_SLOTS, Reserve, STORE_LEAVES_SLOTS, leaves, spare_segments,
};

/// Rows of [`TABLE`].
pub const REPAIR: usize = 0;
/// Row of a collection.
pub const COLLECTION: usize = 1;
/// Row of a checkpoint.
pub const CHECKPOINT: usize = 2;
/// Row of a delete.
pub const DELETE: usize = 3;
/// Row of a store or a group.
pub const STORE: usize = 4;

/// The activities.
pub const TABLE: [Activity; 5] = [
    Activity {
        name: "repair",
        slots: Claim::new(0, RECORD_SLOTS),
        segments: Claim::new(0, 0),
        why: "copies records of failed pages to the stream Gc, waits for nothing; others add its segment while pages wait",
    },
    Activity {
        name: "collection",
        slots: Claim::new(1, RECORD_SLOTS),
        segments: Claim::new(1, 1),
        why: "copies a segment's records to the stream Gc: into what is left of its segment, and into one more; it then gives \
              one back; waits for repairs, before which nothing is erased",
    },
    Activity {
        name: "checkpoint",
        slots: Claim::new(1, RECORD_SLOTS),
        segments: Claim::new(2, 1),
        why: "appends a chunk to the stream Checkpoint; begins when all its segments are free, and stores leave it those; \
              waits for collections",
    },
    Activity {
        name: "delete",
        slots: Claim::new(2, RECORD_SLOTS),
        segments: Claim::new(3, 1),
        why: "appends a tombstone to the stream User; waits for collections and checkpoints, but not for stores: only deletes \
              make room in a full store",
    },
    Activity {
        name: "store",
        slots: Claim::new(3, RECORD_SLOTS),
        segments: Claim::new(4, 1),
        why: "appends a record to the stream User; waits for all others",
    },
];

/// What a new pair, or a group, leaves.
pub const FOR_PAIRS: Reserve = leaves(&TABLE, STORE);
/// What a delete leaves.
pub const FOR_DELETES: Reserve = leaves(&TABLE, DELETE);
/// What a collection leaves.
pub const FOR_COLLECTIONS: Reserve = leaves(&TABLE, COLLECTION);
/// What a repair leaves.
pub const FOR_REPAIRS: Reserve = leaves(&TABLE, REPAIR);

/// Streams of records, each with an open segment: User and Gc. That of checkpoints is counted with them.
pub const APPEND_POINTS: u32 = 2;
/// Segments the log never gives to new pairs.
pub const SPARE_SEGMENTS: u32 = spare_segments(FOR_PAIRS, APPEND_POINTS);
/// Part of the remaining segments that pairs may fill, so that collections always gain something.
pub const FILL_PERCENT_MAX: u64 = 93;

/// Free segments at which stores are about to wait: the next that takes one is the last.
pub const FREE_SEGMENTS_PRESSED: u32 = FOR_PAIRS.segments + 1;
/// Free segments below which collections start, two before stores wait; a share of the quota is added.
pub const FREE_SEGMENTS_LOW: u32 = FOR_PAIRS.segments + 2;

/// Checkpoints that the capacity counts: the complete one and the next.
pub const CHECKPOINTS: u32 = 2;
/// Segments that must be free beyond twice the credit. Each of the checkpoints that the capacity counts grows by a whole one.
/// The rest is slack: a credit that ends early costs one look at the capacity.
pub const MARGIN_SEGMENTS: u64 = CHECKPOINTS as u64 + MARGIN_SLACK;
/// Slack of the margin: a longer look ahead would not be cheaper, a shorter one would refuse nothing more.
const MARGIN_SLACK: u64 = 6;

const _: () = {
    let checkpoint = leaves(&TABLE, CHECKPOINT);
    assert!(checkpoint.slots == FOR_COPIES.slots && checkpoint.segments == FOR_COPIES.segments);
    assert!(
        FOR_REPAIRS.slots + RECORD_SLOTS as u16 <= FOR_COLLECTIONS.slots,
        "a repair goes on with what is left to it"
    );
    assert!(FOR_PAIRS.slots <= STORE_LEAVES_SLOTS, "the device lets no value in that cannot land");
};
