// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The visibility index: which writes are newer than what the device answers, by key, striped.
//!
//! An entry names the one write of its key that is in a container or command, and holds the newest write behind it, if
//! there is one ("parked"). Keys wait in this way, containers never do, so containers of different sessions can never wait
//! for each other.

use std::num::NonZeroU32;

use saker_link::{Held, ShortLock};
use saker_nvme::Key;

use super::container::Write;
use super::ticket::Ticket;

/// Where the write of a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexSlot {
    /// Whose container.
    pub lane: u16,
    /// Which write of it.
    pub piece: u16,
    /// The container's name.
    pub container: NonZeroU32,
}

/// The newest write of a key of which an earlier one has not come to its end.
#[derive(Debug)]
pub(super) struct Parked {
    pub value: Option<Box<[u8]>>,
    /// Who waits for it, or waited for those it replaced.
    pub tickets: Vec<Ticket>,
}

impl Parked {
    pub fn write(&self) -> Write<'_> {
        self.value.as_deref()
    }

    /// Memory that it takes.
    pub fn bytes(&self) -> usize {
        PARKED_BYTES + self.value.as_ref().map_or(0, |value| value.len())
    }
}

/// What a parked write costs beside its value, about.
pub(super) const PARKED_BYTES: usize = 128;

#[derive(Debug)]
pub(super) struct Entry {
    pub key: Key,
    /// `None`: the parked write is on its way to a container.
    pub place: Option<IndexSlot>,
    pub parked: Option<Box<Parked>>,
    /// Another of the same stripe.
    next: Option<Box<Self>>,
}

impl Entry {
    /// One that is of no key has neither place nor parked write; it stays for the next.
    #[inline]
    fn is_used(&self) -> bool {
        self.place.is_some() || self.parked.is_some()
    }
}

/// The entries of the keys with the same hash bits. There is mostly one at most: it lies beside the stripe's lock, and others
/// are looked at only if there are any.
#[derive(Debug)]
pub(super) struct Stripe {
    /// Changes so far, and in the low bits how many entries are used behind the first.
    state: u64,
    first: Entry,
}

/// Bits of a stripe's state with the number of entries behind the first.
const BEHIND_BITS: u32 = 24;

impl Default for Stripe {
    fn default() -> Self {
        let key = Key::new(&[0]).expect("a key of one byte");
        Self { state: 0, first: Entry { key, place: None, parked: None, next: None } }
    }
}

impl Stripe {
    /// Counts the changes of what readers see: who looked at the device meanwhile can tell whether it is out of date.
    #[inline]
    pub fn version(&self) -> u64 {
        self.state >> BEHIND_BITS
    }

    /// Readers see something else from now on.
    #[inline]
    pub fn changed(&mut self) {
        self.state += 1 << BEHIND_BITS;
    }

    #[inline]
    fn has_behind(&self) -> bool {
        self.state & ((1 << BEHIND_BITS) - 1) > 0
    }

    #[inline]
    pub fn find(&mut self, key: &Key) -> Option<&mut Entry> {
        let is_it = |entry: &Entry| entry.key == *key && entry.is_used();
        if is_it(&self.first) {
            return Some(&mut self.first);
        }
        if self.has_behind() { self.find_behind(is_it) } else { None }
    }

    fn find_behind(&mut self, is_it: impl Fn(&Entry) -> bool) -> Option<&mut Entry> {
        let mut at = self.first.next.as_deref_mut();
        while let Some(entry) = at {
            if is_it(entry) {
                return Some(entry);
            }
            at = entry.next.as_deref_mut();
        }
        None
    }

    #[inline]
    pub fn insert(&mut self, key: Key, place: IndexSlot) {
        debug_assert!(self.find(&key).is_none(), "a key has one entry");
        self.changed();
        let entry = if self.first.is_used() { self.unused_behind(key) } else { &mut self.first };
        (entry.key, entry.place) = (key, Some(place));
    }

    /// An entry behind the first that is of no key; a new one if there is none.
    fn unused_behind(&mut self, key: Key) -> &mut Entry {
        self.state += 1;
        let mut at = &mut self.first;
        while at.next.as_ref().is_some_and(|entry| entry.is_used()) {
            at = at.next.as_mut().expect("just seen");
        }
        at.next.get_or_insert_with(|| Box::new(Entry { key, place: None, parked: None, next: None }))
    }

    /// The write at `place` has come to its end. Returns the key if a parked write of it is to be moved on.
    #[inline]
    pub fn retire(&mut self, place: IndexSlot) -> Option<Key> {
        self.changed();
        let is_first = self.first.place == Some(place);
        let entry = if is_first {
            &mut self.first
        } else {
            let is_it = |entry: &Entry| entry.place == Some(place);
            self.find_behind(is_it).expect("a write in a container has an entry")
        };
        entry.place = None;
        if entry.parked.is_some() {
            return Some(entry.key);
        }
        debug_assert!(is_first || self.has_behind(), "entries behind the first are counted");
        self.state -= u64::from(!is_first);
        None
    }

    /// Forgets a key whose parked write was to be moved on; returns the write.
    pub fn give_up(&mut self, key: &Key) -> Box<Parked> {
        self.changed();
        let is_first = self.first.is_used() && self.first.key == *key;
        let entry = self.find(key).filter(|entry| entry.place.is_none());
        let parked = entry.and_then(|entry| entry.parked.take());
        debug_assert!(is_first || self.has_behind(), "entries behind the first are counted");
        self.state -= u64::from(!is_first);
        parked.expect("a key that is to be moved on waits with a write")
    }

    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        let all = std::iter::successors(Some(&self.first), |entry| entry.next.as_deref());
        all.filter(|entry| entry.is_used())
    }
}

/// A stripe and its lock: what one write of a key needs, in one cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Line(ShortLock<Stripe>);

/// All stripes.
#[derive(Debug)]
pub(super) struct Index {
    stripes: Box<[Line]>,
    shift: u32,
}

impl Index {
    /// At least `stripes` stripes.
    pub fn new(stripes: usize) -> Self {
        let count = stripes.clamp(2, 1 << 20).next_power_of_two();
        Self {
            stripes: (0..count).map(|_| Line::default()).collect(),
            shift: u64::BITS - count.trailing_zeros(),
        }
    }

    /// The stripe of a key.
    #[inline]
    pub fn stripe_of(&self, key: &Key) -> u32 {
        (spread(key) >> self.shift) as u32
    }

    /// Nothing is waited for while a stripe is held.
    #[inline]
    pub fn lock(&self, stripe: u32) -> Held<'_, Stripe> {
        self.stripes[stripe as usize].0.lock()
    }

    /// Asks for the line of a stripe that will soon be locked.
    #[inline]
    pub fn touch(&self, stripe: u32) {
        if let Some(line) = self.stripes.get(stripe as usize) {
            saker_link::prefetch(line);
        }
    }

    /// Stripes.
    pub fn len(&self) -> u32 {
        self.stripes.len() as u32
    }
}

/// Multiplication spreads the key's halves; the top bits depend on all of them.
#[inline]
fn spread(key: &Key) -> u64 {
    const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
    let number = u128::from_le_bytes(*key.padded());
    let folded = (number as u64 ^ ((number >> 64) as u64).wrapping_mul(SPREAD).rotate_left(29))
        .wrapping_add(key.len() as u64);
    folded.wrapping_mul(SPREAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u64) -> Key {
        Key::new(&n.to_le_bytes()).expect("8 bytes")
    }

    const PLACE: IndexSlot = IndexSlot { lane: 1, piece: 2, container: NonZeroU32::MIN };

    #[test]
    fn a_stripe_with_its_lock_is_one_cache_line() {
        assert_eq!((size_of::<Line>(), align_of::<Line>()), (64, 64));
    }

    /// Keys by number; the places are their order of coming.
    #[test]
    fn a_stripe_of_several_keys_is_a_list_of_them() {
        use saker_sim::Seed;
        let (mut stripe, mut model) = (Stripe::default(), Vec::new());
        let mut rng = Seed(5).rng();
        for n in 0..4000 {
            let k = rng.next_u64() % 6;
            let entry = stripe.find(&key(k)).map(|entry| entry.place);
            let known = model.iter().position(|(other, _)| *other == k);
            assert_eq!(entry.flatten(), known.map(|at| model[at].1), "round {n}");
            match known {
                Some(at) => assert_eq!(stripe.retire(model.swap_remove(at).1), None),
                None => {
                    let place = IndexSlot { lane: 0, piece: n, ..PLACE };
                    stripe.insert(key(k), place);
                    model.push((k, place));
                }
            }
            let mut keys: Vec<_> = stripe.entries().map(|entry| entry.key).collect();
            let mut expected: Vec<_> = model.iter().map(|(k, _)| key(*k)).collect();
            keys.sort();
            expected.sort();
            assert_eq!(keys, expected, "round {n}");
        }
    }

    #[test]
    fn keys_spread_evenly_over_the_stripes() {
        let index = Index::new(64);
        let mut counts = [0; 64];
        (0..6400).for_each(|n| counts[index.stripe_of(&key(n)) as usize] += 1);
        assert!(counts.iter().all(|count| (50..150).contains(count)), "{counts:?}");
        assert_eq!(index.len(), 64);
    }

    #[test]
    fn retiring_the_only_write_of_a_key_removes_it() {
        let mut stripe = Stripe::default();
        stripe.insert(key(1), PLACE);
        assert_eq!(stripe.retire(PLACE), None);
        assert!(stripe.find(&key(1)).is_none());
        assert_eq!(stripe.version(), 2);
    }

    #[test]
    fn retiring_a_write_with_one_parked_behind_it_keeps_the_key() {
        let mut stripe = Stripe::default();
        stripe.insert(key(1), PLACE);
        let entry = stripe.find(&key(1)).expect("inserted");
        entry.parked = Some(Box::new(Parked { value: None, tickets: Vec::new() }));
        assert_eq!(stripe.retire(PLACE), Some(key(1)));
        assert_eq!(stripe.find(&key(1)).expect("kept").place, None);
    }
}
