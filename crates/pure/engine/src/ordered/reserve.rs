// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What activities of an ordered store take and leave whatever its structure is. [`saker_log::reserve`] has the rule, and
//! `lsm::reserve` and `tree::reserve` have the tables.

use saker_log::reserve::{Activity, Claim, PAGE_SLOTS, RECORD_SLOTS, Reserve, STORE_LEAVES_SLOTS, leaves};

/// Slots of a repair of records.
pub const REPAIR_SLOTS: Claim = Claim::new(0, RECORD_SLOTS);
/// Slots of a repair of pages of the structure.
pub const TABLE_REPAIR_SLOTS: Claim = Claim::new(0, PAGE_SLOTS);
/// Slots of a collection or a manifest.
pub const WORK_SLOTS: Claim = Claim::new(1, RECORD_SLOTS);
/// Slots of a page of the structure.
pub const PAGE_WORK_SLOTS: Claim = Claim::new(1, PAGE_SLOTS);
/// Slots of a page of the structure that is only moved.
pub const MOVE_SLOTS: Claim =
    Claim::new(1, PAGE_SLOTS).asking(1, "because a page asks for two slots beyond its own");
/// Slots of a delete.
pub const DELETE_SLOTS: Claim = Claim::new(2, RECORD_SLOTS);
/// Slots of a store or a group.
pub const STORE_SLOTS: Claim = Claim::new(3, RECORD_SLOTS);

/// Those of them that all structures have, each without its segments.
const SLOTS: [Activity; 4] =
    [slots_of(REPAIR_SLOTS), slots_of(WORK_SLOTS), slots_of(DELETE_SLOTS), slots_of(STORE_SLOTS)];

const fn slots_of(slots: Claim) -> Activity {
    Activity { name: "", slots, segments: Claim::new(0, 0), why: "" }
}

/// Slots that repairs of records leave.
pub const REPAIRS_LEAVE: u16 = leaves(&SLOTS, 0).slots;
/// Slots that collections leave.
pub const COLLECTIONS_LEAVE: u16 = leaves(&SLOTS, 1).slots;
/// Slots that deletes leave.
pub const DELETES_LEAVE: u16 = leaves(&SLOTS, 2).slots;
/// Slots that stores and groups leave.
pub const STORES_LEAVE: u16 = leaves(&SLOTS, 3).slots;

/// Segments that a delete takes: stores leave them besides what deletes leave.
pub const DELETE_SEGMENTS: u32 = 1;

/// Part of the segments that remain that records may fill, so that collections always gain something.
pub const FILL_PERCENT_MAX: u64 = 90;
/// Streams with an open segment each: User, Gc and Table. That of manifests is counted with them.
pub const APPEND_POINTS: u32 = 3;
/// Manifests that the capacity counts: the complete one and the next.
pub const MANIFESTS: u32 = 2;
/// Segments ahead of the wait of stores at which collections start; a share of the quota is added.
pub const AHEAD_SEGMENTS: u32 = 2;
/// Segments for deletes that would be refused because background work is stuck: one for tombstones, and one for the pages of the
/// structure that these go to. They are claims of the tables' rows for collections and for pages of tombstones.
pub const LAST_RESORT_SEGMENTS: u32 = 2;

const _: () = {
    assert!(STORES_LEAVE <= STORE_LEAVES_SLOTS, "the device lets no value in that cannot land");
    assert!(
        REPAIRS_LEAVE + RECORD_SLOTS as u16 <= COLLECTIONS_LEAVE,
        "a repair goes on with what is left to it"
    );
};

/// Asserts, when it is compiled, that a structure's table agrees with what all structures have in common.
pub(crate) const fn assert_common(for_pairs: Reserve, for_deletes: Reserve, collections: Reserve) {
    assert!(for_pairs.slots == STORES_LEAVE && for_deletes.slots == DELETES_LEAVE);
    assert!(collections.slots == COLLECTIONS_LEAVE);
    assert!(for_pairs.segments == for_deletes.segments + DELETE_SEGMENTS);
}
