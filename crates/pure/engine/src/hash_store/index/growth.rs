// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How leaves grow: how many entries and slots they have at each point of their life.
//!
//! Moving the entries of a leaf costs as much as entering some of them, so a leaf takes large steps. How large ones the
//! modelled memory allows depends on the length of the keys.

/// Entries at which a leaf splits: from this many at the low end of the hashes to twice as many at the high end, so that the
/// leaves do not all split at the same time. What becomes free when one splits, the next one takes. Larger leaves have fewer
/// headers, which stay in the near caches; moving one takes some tens of microseconds.
const LEAF_ENTRIES_MIN: usize = 4096;
/// Deepest split: a directory of 256 MiB, for 100 thousand million keys. Beyond it, or with keys made for it, a leaf grows with
/// what is entered.
const DEPTH_MAX: u8 = 24;
/// Slots for 100 entries of leaves that are laid out before these come, at most: with as many as the budget allows, entering them is
/// no faster; with 130 it takes 10 % longer (`docs/figures.md`).
const LAID_OUT_MAX: usize = 160;
/// The load in percent of a leaf that gets less room than its way of growing asks for.
const LOAD_MAX: usize = 90;

/// A way in which leaves grow.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// Entries for 100 slots at which a leaf is full.
    load: usize,
    /// Entries that a rebuilt leaf has room for, in percent of those it has.
    by: usize,
    /// Slots for 100 entries, on average over a leaf's life: that of `100 / load` times one whose entries grow by a factor
    /// `f = by / 100` at a steady rate is `(f - 1) / ln f`.
    slots: usize,
}

/// The roomiest way first.
const WAYS: [Growth; 4] = [
    Growth { load: 78, by: 200, slots: 185 },
    Growth { load: 78, by: 141, slots: 154 },
    Growth { load: 86, by: 141, slots: 140 },
    Growth { load: 90, by: 125, slots: 125 },
];

/// What a leaf gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Slots.
    pub slots: usize,
    /// Entries at which it is full.
    pub limit: usize,
}

impl Growth {
    /// The roomiest way that takes at most `share` slots for 100 entries.
    pub fn within(share: usize) -> Self {
        WAYS.into_iter().find(|way| way.slots <= share).unwrap_or(WAYS[WAYS.len() - 1])
    }

    /// Room for a leaf of `n` entries that will split at `limit`, of `left` slots that the budget has for it.
    pub fn room(&self, n: usize, limit: usize, left: usize) -> Room {
        let wanted = self.slots(n, limit);
        if wanted <= left {
            return Room { slots: wanted, limit: wanted * self.load / 100 };
        }
        let slots = left.max(n * 106 / LOAD_MAX + 2).min(wanted).next_multiple_of(16);
        Room { slots, limit: slots * LOAD_MAX / 100 }
    }

    fn slots(&self, n: usize, limit: usize) -> usize {
        let step = n * self.by / 100;
        // Not a small step at the end.
        let full = if n < limit && step * 110 / 100 >= limit { limit } else { step };
        ((full + 1) * 100 / self.load + 2).next_multiple_of(16)
    }
}

/// The depth of leaves that so many entries will never split, and the room of each, where 100 may take `share` slots.
pub fn laid_out(entries: usize, share: usize) -> (u8, Room) {
    // The part in eight is for leaves that get more than others.
    let leaves = (entries + entries / 8).div_ceil(LEAF_ENTRIES_MIN).next_power_of_two();
    let depth = leaves.trailing_zeros().min(u32::from(DEPTH_MAX)) as u8;
    let slots = (entries >> depth) * share.min(LAID_OUT_MAX) / 100;
    let limit = if slots == 0 { usize::MAX } else { slots * Growth::within(share).load / 100 };
    (depth, Room { slots, limit })
}

/// The number of entries at which a leaf splits whose least key has that prefix; none at the deepest.
pub fn split_at(prefix: u64, depth: u8) -> usize {
    if depth >= DEPTH_MAX {
        return usize::MAX;
    }
    // Twice to the power of the prefix as a fraction, nearly: at any time leaves of all sizes are as frequent.
    let f = prefix >> 40;
    let power = (1 << 24) + ((f * ((11 << 20) + ((f * 11) >> 5))) >> 24);
    (LEAF_ENTRIES_MIN * power as usize) >> 24
}

/// The prefix with all but its first `depth` bits cleared.
pub fn least(prefix: u64, depth: u8) -> u64 {
    // Two shifts: the depth may be 0.
    prefix & !(u64::MAX >> (depth / 2) >> (depth - depth / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_split_at_sizes_from_one_to_two_limits() {
        assert_eq!(split_at(0, 0), LEAF_ENTRIES_MIN);
        let near = |n: usize, times: f64| (n as f64 / (LEAF_ENTRIES_MIN as f64 * times) - 1.0).abs() < 0.03;
        assert!(near(split_at(u64::MAX, 9), 2.0), "{}", split_at(u64::MAX, 9));
        assert!(near(split_at(1 << 63, 1), 2f64.sqrt()), "{}", split_at(1 << 63, 1));
        assert_eq!(split_at(7, DEPTH_MAX), usize::MAX);
    }

    #[test]
    fn the_least_prefix_has_only_the_leafs_own_bits() {
        assert_eq!(least(u64::MAX, 0), 0);
        assert_eq!(least(u64::MAX, 1), 1 << 63);
        assert_eq!(least(0xdead_beef_0000_0001, 16), 0xdead_0000_0000_0000);
        assert_eq!(least(u64::MAX, 64), u64::MAX);
    }

    /// What each way says of itself: a leaf followed from one split to the next, its size looked at once a percent.
    #[test]
    fn a_way_takes_as_many_slots_as_it_says() {
        for way in WAYS {
            let (mut n, mut room, mut sum, mut looks) = (10_000, Room { slots: 0, limit: 0 }, 0.0, 0.0);
            while n < 20_000 {
                if n >= room.limit {
                    room = way.room(n, 20_000, usize::MAX);
                }
                sum += room.slots as f64 * 100.0 / n as f64;
                looks += 1.0;
                n += n / 100;
            }
            let mean = sum / looks;
            assert!((mean / way.slots as f64 - 1.0).abs() < 0.02, "{way:?}: {mean}");
        }
    }

    #[test]
    fn leaves_are_laid_out_for_what_is_expected() {
        assert_eq!(laid_out(0, 192), (0, Room { slots: 0, limit: usize::MAX }));
        assert_eq!(laid_out(3_000, 192), (0, Room { slots: 4_800, limit: 3_744 }));
        // 4,096 leaves for 2,441 entries each.
        assert_eq!(laid_out(10_000_000, 192), (12, Room { slots: 3_905, limit: 3_045 }));
        assert_eq!(laid_out(10_000_000, 125).1, Room { slots: 3_051, limit: 2_745 });
        assert_eq!(laid_out(1 << 40, 192).0, DEPTH_MAX);
    }

    #[test]
    fn little_room_is_used_more_densely() {
        let way = Growth::within(200);
        let room = way.room(1000, 2000, 1500);
        assert_eq!(room, Room { slots: 1504, limit: 1353 });
        // Some growth in any case.
        assert!(way.room(1000, 2000, 0).limit > 1050);
    }
}
