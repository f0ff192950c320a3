// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What each activity of an LSM store takes and leaves. [`saker_log::reserve`] has the rule.
//!
//! Two claims change while it runs: the segments that a manifest will still take (M), and those that a merge of tables takes
//! before it gives any back (T). The rule adds, so constants come from a table in which both are 0, and both are added later. Where
//! memtables have values, what flushes write of them is more than the one segment of the table: it is counted with T, and so is the room to
//! merge that (`space.rs`).
//!
//! | activity | slots taken, left | segments taken, left |
//! |---|---|---|
//! | repair of tables | 1, 0 | 1, 0 |
//! | repair of records | 2, 0 | 1, 0 |
//! | manifest | 2, 2 | M, 1 |
//! | moving pages of tables | 1, 1 | 1, 1 + M |
//! | flush | 1, 2 | 1, 1 + M |
//! | compaction | 1, 2 | T, 2 + M |
//! | collection | 2, 2 | 1, 2 + M |
//! | tables of tombstones | 0 | 1, 3 + M + T |
//! | delete | 2, 4 | 1, 4 + M + T |
//! | store | 2, 6 | 1, 5 + M + T |
//!
//! While jobs go on side by side (`jobs.rs`) a flush may be half done when merges go on, so what it takes is a claim of its own (F), and
//! merges and collections leave F more: [`side_by_side`]. A merge within level 0 is one of the merges. Each of several merges is a row
//! then, beside the others; T is their sum.

use crate::ordered::reserve::{
    APPEND_POINTS, DELETE_SEGMENTS, DELETE_SLOTS, LAST_RESORT_SEGMENTS, MOVE_SLOTS, PAGE_WORK_SLOTS,
    REPAIR_SLOTS, STORE_SLOTS, TABLE_REPAIR_SLOTS, WORK_SLOTS, assert_common,
};
use saker_log::reserve::{Activity, Claim, FOR_COPIES, Reserve, leaves, spare_segments};

/// Rows of a table, in the order above.
pub const TABLE_REPAIR: usize = 0;
/// Row of a repair of records.
pub const REPAIR: usize = 1;
/// Row of a manifest.
pub const MANIFEST: usize = 2;
/// Row of moving pages of tables.
pub const MOVE: usize = 3;
/// Row of a flush.
pub const FLUSH: usize = 4;
/// Row of a compaction.
pub const COMPACTION: usize = 5;
/// Row of a collection.
pub const COLLECTION: usize = 6;
/// Row of the tables that tombstones go to.
pub const TOMBSTONES: usize = 7;
/// Row of a delete.
pub const DELETE: usize = 8;
/// Row of a store or a group.
pub const STORE: usize = 9;

/// The activities, while a manifest will take `manifest` segments and a merge `merge`.
pub const fn table(manifest: u32, merge: u32) -> [Activity; 10] {
    [
        Activity {
            name: "repair of tables",
            slots: TABLE_REPAIR_SLOTS,
            segments: Claim::new(0, 1),
            why: "copies failed pages to the stream Table, waits for nothing",
        },
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
            why: "appends a chunk to the stream Checkpoint; frees the pages of tables that compactions have replaced; waits for \
                  the flush of what was frozen before it began, which leaves it its segments",
        },
        Activity {
            name: "moving pages of tables",
            slots: MOVE_SLOTS,
            segments: Claim::new(2, 1),
            why: "empties a segment of tables into the stream Table; the next manifest frees it",
        },
        Activity {
            name: "flush",
            slots: PAGE_WORK_SLOTS,
            segments: Claim::new(2, 1),
            why: "writes a memtable to the stream Table; waits for manifests",
        },
        Activity {
            name: "compaction",
            slots: PAGE_WORK_SLOTS,
            segments: Claim::new(3, merge).beside(),
            why: "writes merged tables to the stream Table; the next manifest frees those that it read; waits for flushes",
        },
        Activity {
            name: "collection",
            slots: WORK_SLOTS,
            segments: Claim::new(3, 1).beside(),
            why: "copies a segment's records to the stream Gc, enters them anew and gives the segment back; waits for flushes",
        },
        Activity {
            name: "tables of tombstones",
            slots: Claim::new(0, 0),
            segments: Claim::new(4, 1),
            why: "the flush of tombstones that were let in when nothing else had room; waits for compactions and collections",
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
    ]
}

/// The same while jobs go on side by side: a flush that takes `flush` segments, and two compactions that take `merge` each.
pub const fn side_by_side(manifest: u32, flush: u32, merge: u32) -> [Activity; 11] {
    let [tables, records, checkpoint, moves, one_flush, compaction, collection, tombstones, delete, store] =
        table(manifest, merge);
    let flush = Activity { segments: Claim::new(one_flush.segments.rank, flush), ..one_flush };
    [tables, records, checkpoint, moves, flush, compaction, compaction, collection, tombstones, delete, store]
}

const TABLE: [Activity; 10] = table(0, 0);
const SIDE_BY_SIDE: [Activity; 11] = side_by_side(0, 0, 0);

/// What stores and groups leave, without M and T.
pub const FOR_PAIRS: Reserve = leaves(&TABLE, STORE);
/// What deletes leave, without M and T.
pub const FOR_DELETES: Reserve = leaves(&TABLE, DELETE);
/// What compactions and collections leave, without M.
pub const FOR_MERGES: Reserve = leaves(&TABLE, COMPACTION);
/// What flushes leave, without M.
pub const FOR_FLUSHES: Reserve = leaves(&TABLE, FLUSH);
/// What a page leaves that is moved, without M.
pub const FOR_MOVES: Reserve = leaves(&TABLE, MOVE);
/// What a page leaves that is copied because its program failed.
pub const FOR_TABLE_REPAIRS: Reserve = leaves(&TABLE, TABLE_REPAIR);

/// Segments that records never fill. The one for repairs is counted with each of the two manifests; of the complete manifest's
/// it is slack, for that can be a segment longer than the next.
pub const SPARE_SEGMENTS: u32 = spare_segments(FOR_PAIRS, APPEND_POINTS) - FOR_COPIES.segments;

const _: () = {
    assert_common(FOR_PAIRS, FOR_DELETES, leaves(&TABLE, COLLECTION));
    let (collection, manifest) = (leaves(&TABLE, COLLECTION), leaves(&TABLE, MANIFEST));
    assert!(collection.segments == FOR_MERGES.segments, "collections and compactions leave as many");
    assert!(manifest.slots == FOR_COPIES.slots && manifest.segments == FOR_COPIES.segments);
    assert!(
        FOR_FLUSHES.segments == FOR_COPIES.segments,
        "flushes leave what manifests take, and what these leave"
    );
    let beside = leaves(&SIDE_BY_SIDE, COMPACTION).segments;
    assert!(beside <= FOR_MERGES.segments, "with F more merges leave enough while jobs go on side by side");
    let unused = TABLE[COLLECTION].segments.most + TABLE[TOMBSTONES].segments.most;
    assert!(LAST_RESORT_SEGMENTS == unused, "a delete takes them when neither goes on");
};
