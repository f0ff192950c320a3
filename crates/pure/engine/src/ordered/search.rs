// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Searches in what is sorted.

/// How far from the first of two numbers to the second one is, in parts of 2^16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(u32);

impl Share {
    const SHIFT: u32 = 16;

    /// Where `at` is between `first` and `behind`; `None` if these are one number, which tells nothing.
    #[inline]
    pub fn between(first: u64, behind: u64, at: u64) -> Option<Self> {
        let span = behind.checked_sub(first)?;
        let from_first = at.saturating_sub(first).min(span);
        let share = if span >> (u64::BITS - Self::SHIFT) == 0 {
            (from_first << Self::SHIFT).checked_div(span)?
        } else {
            from_first / (span >> Self::SHIFT)
        };
        Some(Self(share.min(1 << Self::SHIFT) as u32))
    }

    /// That share of a count.
    #[inline]
    pub fn of(self, count: usize) -> usize {
        ((count as u64 * u64::from(self.0)) >> Self::SHIFT) as usize
    }
}

/// The first number from `low` on of which `is_before` does not hold; `high` if there is none below it.
#[inline]
pub fn first_after(mut low: usize, mut high: usize, is_before: impl Fn(usize) -> bool) -> usize {
    while low < high {
        let middle = low.midpoint(high);
        if is_before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// The first step away from where a number is likely to be.
const STEP: usize = 2;

/// The same below a count, sought around a number near which it is likely to be, in steps that grow: what is far is not looked at.
#[inline]
pub fn first_after_near(count: usize, near: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high, mut step) = (0, count, STEP);
    if near < count && is_before(near) {
        low = near + 1;
        while low + step < high {
            if !is_before(low + step) {
                high = low + step;
                break;
            }
            low += step + 1;
            step *= 2;
        }
    } else {
        high = near.min(count);
        while step < high {
            if is_before(high - step) {
                low = high - step + 1;
                break;
            }
            high -= step;
            step *= 2;
        }
    }
    first_after(low, high, is_before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wherever_a_search_begins_it_finds_the_same() {
        for count in 0..70 {
            for first in 0..=count {
                for near in 0..count + 3 {
                    assert_eq!(first_after_near(count, near, |n| n < first), first, "{count} {near}");
                }
                assert_eq!(first_after(0, count, |n| n < first), first);
            }
        }
    }

    #[test]
    fn shares_are_where_a_number_is_between_two() {
        let of = |first, behind, at| Share::between(first, behind, at).map(|share| share.of(100));
        assert_eq!(
            (of(0, 1 << 40, 0), of(0, 1 << 40, 1 << 39), of(0, 1 << 40, 1 << 40)),
            (Some(0), Some(50), Some(100))
        );
        assert_eq!((of(1 << 50, 1 << 51, 5), of(0, 1 << 40, u64::MAX)), (Some(0), Some(100)), "beside them");
        assert_eq!((of(7, 7, 7), of(9, 8, 9)), (None, None), "nothing is told");
        assert_eq!(
            (of(7, 107, 7), of(7, 107, 32), of(7, 107, 107)),
            (Some(0), Some(25), Some(100)),
            "near each other"
        );
        for bits in 1..64 {
            let behind = 1 << bits;
            assert_eq!(
                (of(0, behind, behind / 2), of(0, behind, behind)),
                (Some(50), Some(100)),
                "{bits} bits"
            );
        }
        assert_eq!(of(0, u64::MAX, u64::MAX), Some(100));
    }

    #[test]
    fn even_keys_are_found_by_few_looks() {
        let looks = std::cell::Cell::new(0);
        for first in 0..=90 {
            looks.set(0);
            let near = (first + 4).min(90);
            first_after_near(90, near, |n| {
                looks.set(looks.get() + 1);
                n < first
            });
            assert!(looks.get() <= 6, "{first}: {}", looks.get());
        }
    }
}
