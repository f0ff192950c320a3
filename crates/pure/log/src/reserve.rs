// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reserves: what an append leaves free, derived from a table of activities.
//!
//! Slots and free segments are taken by many activities: stores, deletes, collections, checkpoints and more. One that waits
//! for room must not wait for another that waits for it. So each owner of a log lists its activities in a table: what each
//! takes in one step, and its rank. An activity waits for lower ranks only. Hence the rule, which [`leaves`] computes:
//!
//! > What an activity leaves free is what all lower ranks may still take, each of them one step.
//!
//! Whatever higher ranks have taken, the lowest rank can then take its step. A collection is at the bottom. It takes at most
//! one segment before it gives one back, because it gains more than it can lose ([`gain_at_least`]).
//!
//! The segments of repairs are left out of the tables, because they are claimed only while failed programs wait:
//! [`crate::Log::kept_for_repairs`] and [`crate::Log::held_up`] add them at run time.
//!
//! A slot comes back by itself when its program ends, unless the program fails or the page is open. So reserves of slots decide
//! who goes first; only those for repairs decide whether anything goes on.

/// Slots and segments that an append must leave for others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reserve {
    /// Slots.
    pub slots: u16,
    /// Segments.
    pub segments: u32,
}

impl Reserve {
    /// The same with more segments.
    #[must_use]
    pub const fn with_segments(self, more: u32) -> Self {
        Self { segments: self.segments + more, ..self }
    }
}

/// Slots that [`crate::Log::room`] asks for beyond the whole pages of a record: a part of a page at either end.
pub const ROOM_SLOTS: u16 = 2;
/// Slots that a step asks for which appends a record shorter than a page.
pub const RECORD_SLOTS: u32 = ROOM_SLOTS as u32;
/// Slots that a step takes which appends a page whole. Its stream has no open page.
pub const PAGE_SLOTS: u32 = 1;

/// What an activity takes of one resource in a step, and where it stands in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// It waits only for lower ranks.
    pub rank: u8,
    /// Most that it takes in a step. Of a merge or a checkpoint: before it gives anything back.
    pub most: u32,
    /// Others of its rank take theirs as well. Otherwise each of them goes on without what another has taken.
    pub is_beside: bool,
    /// What it leaves beyond the rule.
    pub slack: u32,
    /// What it leaves by asking for more than it takes: the reserve is less by that.
    pub asked: u32,
    /// Why there is slack, or what is asked for; empty without.
    pub because: &'static str,
}

impl Claim {
    /// So much at that rank.
    pub const fn new(rank: u8, most: u32) -> Self {
        Self { rank, most, is_beside: false, slack: 0, asked: 0, because: "" }
    }

    /// Taken beside what others of the rank take.
    #[must_use]
    pub const fn beside(self) -> Self {
        Self { is_beside: true, ..self }
    }

    /// Leaves so much more than the rule demands.
    ///
    /// # Panics
    /// Without a reason.
    #[must_use]
    pub const fn with_slack(self, slack: u32, because: &'static str) -> Self {
        assert!(slack > 0 && !because.is_empty(), "slack has a size and a reason");
        Self { slack, because, ..self }
    }

    /// Asks for so much more than it takes, which is then left besides the reserve.
    ///
    /// # Panics
    /// Without a reason.
    #[must_use]
    pub const fn asking(self, asked: u32, because: &'static str) -> Self {
        assert!(asked > 0 && !because.is_empty(), "what is asked for has a size and a reason");
        Self { asked, because, ..self }
    }
}

/// A row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// Its name.
    pub name: &'static str,
    /// Slots of the page buffer.
    pub slots: Claim,
    /// Free segments.
    pub segments: Claim,
    /// What it writes, and what it waits for.
    pub why: &'static str,
}

/// What row `n` of a table leaves free.
///
/// # Panics
/// When there is no such row.
pub const fn leaves(table: &[Activity], n: usize) -> Reserve {
    let slots = left(table, n, true);
    assert!(slots <= u16::MAX as u32, "a page buffer has fewer slots");
    Reserve { slots: slots as u16, segments: left(table, n, false) }
}

const fn claim_of(table: &[Activity], n: usize, of_slots: bool) -> Claim {
    if of_slots { table[n].slots } else { table[n].segments }
}

/// The sum of what lower ranks take and the row's own slack, less what it leaves otherwise.
const fn left(table: &[Activity], n: usize, of_slots: bool) -> u32 {
    let own = claim_of(table, n, of_slots);
    let (mut sum, mut rank) = (own.slack, 0);
    while rank < own.rank {
        sum += taken_by(table, rank, of_slots);
        rank += 1;
    }
    assert!(sum >= own.asked, "no more is asked for than has to be left");
    sum - own.asked
}

/// What a rank takes: the most of those that go on alone, and what is taken beside it.
const fn taken_by(table: &[Activity], rank: u8, of_slots: bool) -> u32 {
    let (mut most, mut beside, mut n) = (0, 0, 0);
    while n < table.len() {
        let claim = claim_of(table, n, of_slots);
        if claim.rank == rank && claim.is_beside {
            beside += claim.most;
        } else if claim.rank == rank && claim.most > most {
            most = claim.most;
        }
        n += 1;
    }
    most + beside
}

/// What each page of a checkpoint leaves: a step of the copies that free segments for it.
pub const FOR_COPIES: Reserve = Reserve { slots: RECORD_SLOTS as u16, segments: 1 };

/// Segments that records never fill: what a store leaves, so that it can be waiting, and an append point of each stream,
/// which is not collected while it is open.
///
/// When a store waits for a segment, at most `left` are free. So of `quota` segments at least `quota - left - append_points`,
/// less what the capacity keeps for checkpoints and the like, are closed and can be collected. That is the number over which
/// the capacity spreads what lives: the emptiest of them has [`gain_at_least`] to gain.
pub const fn spare_segments(left: Reserve, append_points: u32) -> u32 {
    left.segments + append_points
}

/// Bytes to gain at least in the emptiest segment, if what lives fills `fill_percent` of what the segments hold, each of them
/// less `lost` bytes. A collection loses no more than `lost`: the end of a segment, where the next record did not fit, and
/// the rest of pages that are sealed early.
pub const fn gain_at_least(segment_bytes: u64, lost: u64, fill_percent: u64) -> u64 {
    segment_bytes - (segment_bytes - lost) * fill_percent / 100
}

/// Whether a collection of the emptiest segment frees more than it can lose, when the store is as full as may be.
pub const fn collections_gain(segment_bytes: u64, lost: u64, fill_percent: u64) -> bool {
    lost < segment_bytes && gain_at_least(segment_bytes, lost, fill_percent) > lost
}

/// Whether a page buffer has slots for an append of `pages` whole pages that leaves `left`, when all programs have ended: then only
/// the open pages of streams hold any. Otherwise it would wait for ever.
pub const fn ring_suffices(slots: u16, open_pages: u16, pages: u32, left: Reserve) -> bool {
    slots as u32 >= pages + (ROOM_SLOTS + open_pages + left.slots) as u32
}

/// Streams of which a page can be open: those of records and checkpoints. Others append whole pages.
pub const OPEN_PAGES: u16 = 3;

/// Slots that a store leaves, whichever engine's: a step each of a repair, of background work and of a delete. Each engine asserts
/// that its own table says no more.
pub const STORE_LEAVES_SLOTS: u16 = 3 * RECORD_SLOTS as u16;

/// Slots that a value does not get, whoever of `owners` stores it: everybody's open pages, what the store leaves, and a page for
/// the value's header.
pub const fn kept_slots(owners: u16) -> u16 {
    STORE_LEAVES_SLOTS + ROOM_SLOTS + OPEN_PAGES * owners + 1
}

/// Pages of the longest value that a page buffer of so many slots can take at all, whoever of `owners` stores it. A value is landed as a whole
/// and with its header, which can begin a page of its own.
pub const fn landing_pages(slots: u16, owners: u16) -> u16 {
    slots.saturating_sub(kept_slots(owners))
}

/// Asserts what every engine promises of its collections where it is made: the emptiest segment has more to gain than its
/// collection can lose and `owed`, which it costs elsewhere, when what lives fills as much as it may.
///
/// # Panics
/// If collections could go on for ever.
pub const fn assert_collections_gain(segment_bytes: u64, lost: u64, fill_percent: u64, owed: u64) {
    assert!(collections_gain(segment_bytes, lost, fill_percent), "a collection frees more than it loses");
    assert!(
        gain_at_least(segment_bytes, lost, fill_percent) - lost > owed,
        "a collection frees more than it costs elsewhere"
    );
}

/// A table as text, a row for each activity: for documents and tests.
pub fn describe(table: &[Activity]) -> String {
    let mut out = String::new();
    for (n, a) in table.iter().enumerate() {
        let left = leaves(table, n);
        let row = format!(
            "{}: slots take {} leave {}, segments take {} leave {}",
            a.name, a.slots.most, left.slots, a.segments.most, left.segments
        );
        out.push_str(&row);
        for claim in [a.slots, a.segments].iter().filter(|claim| !claim.because.is_empty()) {
            out.push_str(&format!("; {} more, {} less {}", claim.slack, claim.asked, claim.because));
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn row(slots: Claim, segments: Claim) -> Activity {
        Activity { name: "a", slots, segments, why: "" }
    }

    #[test]
    fn lower_ranks_add_up_and_one_rank_shares() {
        let table = [
            row(Claim::new(0, 2), Claim::new(0, 1)),
            row(Claim::new(1, 3), Claim::new(1, 2)),
            row(Claim::new(1, 1), Claim::new(1, 4).beside()),
            row(Claim::new(2, 9).with_slack(5, "a test"), Claim::new(2, 9)),
        ];
        assert_eq!(leaves(&table, 0), Reserve { slots: 0, segments: 0 });
        assert_eq!(leaves(&table, 2), Reserve { slots: 2, segments: 1 }, "its own rank does not count");
        assert_eq!(leaves(&table, 3), Reserve { slots: 10, segments: 7 });
    }

    #[test]
    fn the_emptiest_segment_gains_unless_everything_is_full() {
        assert!(collections_gain(1000, 0, 99) && collections_gain(1000, 499, 93));
        assert!(!collections_gain(1000, 10, 100), "it gains what it loses");
        assert!(!collections_gain(1000, 1000, 93));
        assert_eq!(gain_at_least(1000, 100, 90), 190);
        assert_collections_gain(1000, 100, 90, 89);
    }

    #[test]
    #[should_panic(expected = "costs elsewhere")]
    fn what_a_collection_costs_elsewhere_counts() {
        assert_collections_gain(1000, 100, 90, 90);
    }

    /// A value of as many pages as can land finds room when all programs have ended, beside all open pages, and one page more does not.
    #[test]
    fn the_longest_value_lands_and_none_longer() {
        let left = Reserve { slots: STORE_LEAVES_SLOTS, segments: 0 };
        for (slots, owners) in (16..200).flat_map(|slots| (1..4).map(move |owners| (slots, owners))) {
            let pages = landing_pages(slots, owners);
            if pages == 0 {
                continue;
            }
            // Behind its header.
            let suffices = |pages: u16| ring_suffices(slots, owners * OPEN_PAGES, u32::from(pages) + 1, left);
            assert!(suffices(pages) && !suffices(pages + 1), "{slots} slots, {owners} owners: {pages}");
        }
        assert_eq!((landing_pages(32, 1), landing_pages(32, 2), landing_pages(10, 1)), (20, 17, 0));
    }

    #[test]
    fn a_ring_must_hold_a_record_beside_open_pages_and_what_it_leaves() {
        let left = Reserve { slots: 6, segments: 3 };
        assert!(ring_suffices(24, OPEN_PAGES, 13, left));
        assert!(!ring_suffices(24, OPEN_PAGES, 14, left));
    }
}
