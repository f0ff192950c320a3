// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where scans stand. A cursor is a number and a place is a key, so places are kept here, under numbers.
//!
//! Clients share connections and keep cursors as long as they like, so the places of all connections are together, the newest so many of
//! them. A scan of an older one is refused: going on elsewhere would leave keys out.

use std::collections::{BTreeMap, VecDeque};

/// Places that are kept.
const PLACES_MAX: usize = 16_384;

/// The places of all scans.
#[derive(Debug)]
pub(crate) struct Cursors {
    places: BTreeMap<u64, Box<[u8]>>,
    oldest: VecDeque<u64>,
    next: u64,
}

impl Cursors {
    /// Numbers begin at `first`, so that those of an earlier server are not taken for ours.
    pub fn new(first: u64) -> Self {
        Self { places: BTreeMap::new(), oldest: VecDeque::new(), next: first.max(1) }
    }

    /// The number of a place: behind this key.
    pub fn put(&mut self, last: &[u8]) -> u64 {
        if self.oldest.len() >= PLACES_MAX
            && let Some(oldest) = self.oldest.pop_front()
        {
            self.places.remove(&oldest);
        }
        let number = self.next;
        // RESP has signed numbers, and 0 is the beginning.
        self.next = if number >= i64::MAX as u64 { 1 } else { number + 1 };
        self.places.insert(number, last.into());
        self.oldest.push_back(number);
        number
    }

    /// The key that the scan has seen last.
    pub fn get(&self, number: u64) -> Option<&[u8]> {
        self.places.get(&number).map(AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_places_are_kept_and_others_are_unknown() {
        let mut cursors = Cursors::new(0);
        let numbers: Vec<u64> = (0..=PLACES_MAX as u32).map(|n| cursors.put(&n.to_be_bytes())).collect();
        assert_eq!(cursors.get(numbers[0]), None);
        assert_eq!(cursors.get(numbers[1]), Some(&1_u32.to_be_bytes()[..]));
        assert_eq!(cursors.get(0), None);
        assert_eq!((cursors.places.len(), cursors.oldest.len()), (PLACES_MAX, PLACES_MAX));
    }
}
