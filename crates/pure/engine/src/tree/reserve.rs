// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What each activity of a tree store takes and leaves. [`saker_log::reserve`] has the rule.
//!
//! Two claims change while it runs: the segments that a manifest will still take (M), and those that a merge of the buffers
//! takes before it gives any back (T). A merge gives nothing back for certain unless it writes the whole tree anew (`pack.rs`), so T is the
//! whole tree, and what a merge on its way will still write. The rule adds, so constants come from a table in which both are 0, and both are
//! added later.
//!
//! | activity | slots taken, left | segments taken, left |
//! |---|---|---|
//! | repair of records | 2, 0 | 1, 0 |
//! | repair of nodes | 1, 0 | 0, 1 + M |
//! | manifest | 2, 2 | M, 1 |
//! | merge | 1, 2 | T, 1 + M |
//! | moving nodes | 1, 2 | 1, 1 + M |
//! | collection | 2, 2 | 1, 2 + M + T |
//! | nodes of tombstones | 0 | 1, 3 + M + T |
//! | nodes above those that move | 0 | 1, 3 + M + T |
//! | delete | 2, 4 | 1, 5 + M + T |
//! | store | 2, 6 | 1, 6 + M + T |

use crate::ordered::reserve::{
    APPEND_POINTS, DELETE_SEGMENTS, DELETE_SLOTS, LAST_RESORT_SEGMENTS, PAGE_WORK_SLOTS, REPAIR_SLOTS,
    STORE_SLOTS, TABLE_REPAIR_SLOTS, WORK_SLOTS, assert_common,
};
use saker_log::reserve::{Activity, Claim, FOR_COPIES, Reserve, leaves, spare_segments};

/// Rows of a table, in the order above.
pub const REPAIR: usize = 0;
/// Row of a manifest.
pub const MANIFEST: usize = 1;
/// Row of a merge.
pub const MERGE: usize = 2;
/// Row of moving nodes.
pub const MOVE: usize = 3;
/// Row of a collection.
pub const COLLECTION: usize = 4;
/// Row of the nodes that tombstones go to.
pub const TOMBSTONES: usize = 5;
/// Row of the nodes above those that move.
pub const ABOVE: usize = 6;
/// Row of a delete.
pub const DELETE: usize = 7;
/// Row of a store or a group.
pub const STORE: usize = 8;
/// Row of a repair of nodes.
pub const NODE_REPAIR: usize = 9;

/// The activities, while a manifest will take `manifest` segments and a merge `merge`.
pub const fn table(manifest: u32, merge: u32) -> [Activity; 10] {
    [
        Activity {
            name: "repair of records",
            slots: REPAIR_SLOTS,
            segments: Claim::new(0, 1),
            why: "copies records of failed pages to the stream Gc, waits for nothing",
        },
        Activity {
            name: "manifest",
            slots: WORK_SLOTS,
            segments: Claim::new(1, manifest),
            why: "appends a chunk to the stream Checkpoint; frees the nodes that merges have replaced; waits for the merge of \
                  what was frozen before it began, which leaves it its segments",
        },
        Activity {
            name: "merge",
            slots: PAGE_WORK_SLOTS,
            segments: Claim::new(2, merge).beside(),
            why: "writes changed nodes to the stream Table; the next manifest frees those that they replace",
        },
        Activity {
            name: "moving nodes",
            slots: PAGE_WORK_SLOTS,
            segments: Claim::new(2, 1).beside(),
            why: "writes the nodes of a segment anew to the stream Table; a merge can follow before a manifest frees either",
        },
        Activity {
            name: "collection",
            slots: WORK_SLOTS,
            segments: Claim::new(3, 1),
            why: "copies a segment's records to the stream Gc, enters them anew and gives the segment back; waits for merges",
        },
        Activity {
            name: "nodes of tombstones",
            slots: Claim::new(0, 0),
            segments: Claim::new(4, 1).beside(),
            why: "the merge of tombstones that were let in when nothing else had room; waits for collections",
        },
        Activity {
            name: "nodes above those that move",
            slots: Claim::new(0, 0),
            segments: Claim::new(4, 1).beside(),
            why: "each node that moves changes all above it, which are seldom in the segment that is emptied",
        },
        Activity {
            name: "delete",
            slots: DELETE_SLOTS,
            segments: Claim::new(5, DELETE_SEGMENTS),
            why: "appends a tombstone to the stream User; waits for all background work, but not for stores",
        },
        Activity {
            name: "store",
            slots: STORE_SLOTS,
            segments: Claim::new(6, 1),
            why: "appends a record to the stream User; waits for all others",
        },
        Activity {
            name: "repair of nodes",
            slots: TABLE_REPAIR_SLOTS,
            segments: Claim::new(2, 0),
            why: "writes failed nodes of a merge again; its segments are the merge's",
        },
    ]
}

const TABLE: [Activity; 10] = table(0, 0);

/// What stores and groups leave, without M and T.
pub const FOR_PAIRS: Reserve = leaves(&TABLE, STORE);
/// What deletes leave, without M and T.
pub const FOR_DELETES: Reserve = leaves(&TABLE, DELETE);
/// What collections leave, without M and T.
pub const FOR_COLLECTIONS: Reserve = leaves(&TABLE, COLLECTION);
/// What nodes leave, without M.
pub const FOR_NODES: Reserve = leaves(&TABLE, MERGE);
/// What nodes leave that are written again because their programs failed, without M.
pub const FOR_NODE_REPAIRS: Reserve = leaves(&TABLE, NODE_REPAIR);

/// Segments that records never fill. The one for repairs is counted with each of the two manifests; of the complete manifest's
/// it is slack, for that can be a segment longer than the next.
pub const SPARE_SEGMENTS: u32 = spare_segments(FOR_PAIRS, APPEND_POINTS) - FOR_COPIES.segments;

const _: () = {
    assert_common(FOR_PAIRS, FOR_DELETES, leaves(&TABLE, COLLECTION));
    let (manifest, moved) = (leaves(&TABLE, MANIFEST), leaves(&TABLE, MOVE));
    assert!(manifest.slots == FOR_COPIES.slots && manifest.segments == FOR_COPIES.segments);
    assert!(FOR_NODES.segments == FOR_COPIES.segments && moved.segments == FOR_COPIES.segments);
    let unused = TABLE[COLLECTION].segments.most + TABLE[TOMBSTONES].segments.most;
    assert!(LAST_RESORT_SEGMENTS == unused, "a delete takes them when neither goes on");
};
