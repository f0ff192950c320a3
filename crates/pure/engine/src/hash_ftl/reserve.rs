// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What each activity of a hash FTL takes and leaves. [`saker_log::reserve`] has the rule.
//!
//! | activity | slots taken, left | segments taken, left |
//! |---|---|---|
//! | repair of sections or mappings | 1, 0 | 0 (1 while failed pages wait), 0 |
//! | repair of records | 1, 0 | 0 (1 while failed pages wait), 2 |
//! | collection of sections or mappings | 1, 1 | 1, 0 |
//! | sections for collections | 1, 1 | 1, 1 |
//! | page of mappings | 1, 2 | 1, 2 |
//! | sections for commands | 1, 3 | 1, 3 |
//! | collection of records | 1, 4 | 1, 2 |
//! | delete | 2, 4 | 1, 4 |
//! | division in the background | 1, 5 | 1, 4 |
//! | store | 2, 6 | 1, 5 |
//!
//! Slots and segments have different orders. A collection of records frees the segments that sections for commands wait for.
//! But sections go before its copies to the page buffer, because a command waits for them.

use saker_log::reserve::{
    Activity, Claim, PAGE_SLOTS, RECORD_SLOTS, Reserve, STORE_LEAVES_SLOTS, leaves, spare_segments,
};

/// Rows of [`TABLE`], in the order of the table above.
pub const REPAIR_PAGES: usize = 0;
/// Row of a repair of records.
pub const REPAIR_RECORDS: usize = 1;
/// Row of a collection of sections or mappings.
pub const PAGE_COPIES: usize = 2;
/// Row of sections that collections write.
pub const GC_SECTIONS: usize = 3;
/// Row of a page of invalid mappings.
pub const MAPPINGS: usize = 4;
/// Row of sections that commands write.
pub const USER_SECTIONS: usize = 5;
/// Row of a collection of records.
pub const RECORD_COPIES: usize = 6;
/// Row of a delete.
pub const DELETE: usize = 7;
/// Row of a division in the background.
pub const DIVISION: usize = 8;
/// Row of a store.
pub const STORE: usize = 9;

/// The activities.
pub const TABLE: [Activity; 10] = [
    Activity {
        name: "repair of sections or mappings",
        slots: Claim::new(0, PAGE_SLOTS),
        segments: Claim::new(0, 0),
        why: "copies failed pages to the stream Map or Invalid, waits for nothing",
    },
    Activity {
        name: "repair of records",
        slots: Claim::new(0, PAGE_SLOTS),
        segments: Claim::new(2, 0),
        why: "copies records of failed pages to the stream Gc and changes their sections, which leave its slots",
    },
    Activity {
        name: "collection of sections or mappings",
        slots: Claim::new(1, PAGE_SLOTS),
        segments: Claim::new(0, 1),
        why: "copies pages that are needed to the stream Map or Invalid, and then gives a segment back; waits for repairs",
    },
    Activity {
        name: "sections for collections",
        slots: Claim::new(1, PAGE_SLOTS),
        segments: Claim::new(1, 1),
        why: "writes sections to the stream Map, or divides one, to make room in memory for those of records that are copied; \
              waits for collections of sections",
    },
    Activity {
        name: "page of mappings",
        slots: Claim::new(2, PAGE_SLOTS),
        segments: Claim::new(2, 1),
        why: "writes a full buffer to the stream Invalid; waits for collections of mappings, and leaves sections theirs",
    },
    Activity {
        name: "sections for commands",
        slots: Claim::new(3, PAGE_SLOTS),
        segments: Claim::new(3, 1),
        why: "the same as for collections, for a command whose section has to come; waits for collections of records",
    },
    Activity {
        name: "collection of records",
        slots: Claim::new(4, PAGE_SLOTS),
        segments: Claim::new(2, 1),
        why: "copies records to the stream Gc and then gives a segment back; waits for sections for collections",
    },
    Activity {
        name: "delete",
        slots: Claim::new(4, RECORD_SLOTS),
        segments: Claim::new(4, 1),
        why: "appends a tombstone to the stream User; waits for its sections and for collections, but not for stores",
    },
    Activity {
        name: "division in the background",
        slots: Claim::new(4, PAGE_SLOTS)
            .with_slack(1, "for the other half of a section that a command divides"),
        segments: Claim::new(4, 1),
        why: "writes both halves of a section to the stream Map before anybody needs them",
    },
    Activity {
        name: "store",
        slots: Claim::new(5, RECORD_SLOTS),
        segments: Claim::new(5, 1),
        why: "appends a record to the stream User; waits for all others",
    },
];

/// What a new pair leaves.
pub const FOR_PAIRS: Reserve = leaves(&TABLE, STORE);
/// What a delete leaves.
pub const FOR_DELETES: Reserve = leaves(&TABLE, DELETE);
/// What halves leave that are written before anybody needs them.
pub const FOR_DIVISIONS: Reserve = leaves(&TABLE, DIVISION);
/// What sections, or halves of one, leave that a command waits for.
pub const FOR_USER_SECTIONS: Reserve = leaves(&TABLE, USER_SECTIONS);
/// What those leave that a collection waits for.
pub const FOR_GC_SECTIONS: Reserve = leaves(&TABLE, GC_SECTIONS);
/// What new pages of mappings leave.
pub const FOR_MAPPINGS: Reserve = leaves(&TABLE, MAPPINGS);
/// What copies of records leave.
pub const FOR_RECORD_COPIES: Reserve = leaves(&TABLE, RECORD_COPIES);
/// What copies of sections and mappings leave.
pub const FOR_PAGE_COPIES: Reserve = leaves(&TABLE, PAGE_COPIES);
/// What repairs of records leave.
pub const FOR_RECORD_REPAIRS: Reserve = leaves(&TABLE, REPAIR_RECORDS);
/// What repairs of sections and mappings leave.
pub const FOR_PAGE_REPAIRS: Reserve = leaves(&TABLE, REPAIR_PAGES);

/// Streams, each with an open segment: User, Gc, Map, Invalid.
pub const APPEND_POINTS: u32 = 4;
/// Segments that pairs never fill.
pub const SPARE_SEGMENTS: u32 = spare_segments(FOR_PAIRS, APPEND_POINTS);

/// Free segments at which commands are about to wait for collection: the next that takes one is the last.
pub const FREE_SEGMENTS_PRESSED: u32 = FOR_PAIRS.segments + 1;
/// Free segments below which collection starts; a share of the quota is added. One more than other engines start ahead, for a
/// collection of records makes one of sections necessary.
pub const FREE_SEGMENTS_LOW: u32 = FOR_PAIRS.segments + 3;

/// Part of the segments that remain that what is needed may fill, in percent.
pub const fn fill_percent_max(over_provisioning_percent: u64) -> u64 {
    100 - over_provisioning_percent
}

const _: () = assert!(FOR_PAIRS.slots <= STORE_LEAVES_SLOTS, "the device lets no value in that cannot land");
