// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When collections rest. While little is written they go on only as long as they gain: copying a record changes a section,
//! and where each change becomes a page, collections of sections take back no more than collections of records have spent.
//! A single write changes nothing about that, a segment's worth of them can.

/// Collections in a row that leave no more segments free, after which the next waits for writes.
const FRUITLESS_MAX: u32 = 8;

/// What collections have gained in this round: while a segment's worth of records is written.
#[derive(Clone, Debug, Default)]
pub struct Rest {
    round: u64,
    most_free: u32,
    fruitless: u32,
}

impl Rest {
    /// A collection has ended in that round, and so many segments are free.
    pub fn ended(&mut self, round: u64, free: u32) {
        if round != self.round || free > self.most_free {
            *self = Self { round, most_free: free, fruitless: 0 };
        } else {
            self.fruitless += 1;
        }
    }

    /// Whether the next collection waits for the end of that round.
    pub fn is_resting(&self, round: u64) -> bool {
        round == self.round && self.fruitless >= FRUITLESS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_rest_without_gain_until_the_next_round() {
        let mut rest = Rest::default();
        (0..FRUITLESS_MAX).for_each(|_| rest.ended(5, 12));
        assert!(!rest.is_resting(5), "the first of them set the mark");
        rest.ended(5, 13);
        (1..FRUITLESS_MAX).for_each(|_| rest.ended(5, 13));
        assert!(!rest.is_resting(5));
        rest.ended(5, 12);
        assert!(rest.is_resting(5) && !rest.is_resting(6));
        rest.ended(6, 12);
        assert!(!rest.is_resting(6) && !rest.is_resting(5));
    }
}
