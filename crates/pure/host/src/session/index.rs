//! The visibility index: which writes are newer than what the device answers, by key, striped.
//!
//! An entry names the one write of its key that is in a container or command, and holds the newest write behind it, if
//! there is one ("parked"). Keys wait in this way, containers never do, so containers of different sessions can never wait
//! for each other.

use saker_link::{Held, ShortLock};
use saker_nvme::Key;

use super::container::Write;
use super::ticket::Ticket;

/// Where the write of a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Whose container.
    pub lane: u16,
    /// Which write of it.
    pub piece: u16,
    /// The container's name.
    pub container: u32,
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
    pub place: Option<Place>,
    pub parked: Option<Box<Parked>>,
}

/// The entries of the keys with the same hash bits.
#[derive(Debug, Default)]
pub(super) struct Stripe {
    /// Counts the changes of what readers see: who looked at the device meanwhile can tell whether it is out of date.
    pub version: u64,
    entries: Vec<Entry>,
}

impl Stripe {
    #[inline]
    pub fn find(&mut self, key: &Key) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.key == *key)
    }

    #[inline]
    pub fn insert(&mut self, key: Key, place: Place) {
        self.version += 1;
        self.entries.push(Entry { key, place: Some(place), parked: None });
    }

    /// The write at `place` has come to its end. Returns the key if a parked write of it is to be moved on.
    #[inline]
    pub fn retire(&mut self, place: Place) -> Option<Key> {
        let n = self.entries.iter().position(|entry| entry.place == Some(place));
        let n = n.expect("a write in a container has an entry");
        self.version += 1;
        let entry = &mut self.entries[n];
        if entry.parked.is_some() {
            entry.place = None;
            return Some(entry.key);
        }
        self.entries.swap_remove(n);
        None
    }

    /// Forgets a key whose parked write was to be moved on; returns the write.
    pub fn give_up(&mut self, key: &Key) -> Box<Parked> {
        let n = self.entries.iter().position(|entry| entry.key == *key && entry.place.is_none());
        let entry = self.entries.swap_remove(n.expect("a key that is to be moved on has an entry"));
        self.version += 1;
        entry.parked.expect("it waits with a write")
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

/// All stripes.
#[derive(Debug)]
pub(super) struct Index {
    stripes: Box<[ShortLock<Stripe>]>,
    shift: u32,
}

impl Index {
    /// At least `stripes` stripes.
    pub fn new(stripes: usize) -> Self {
        let count = stripes.clamp(2, 1 << 20).next_power_of_two();
        Self {
            stripes: (0..count).map(|_| ShortLock::default()).collect(),
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
        self.stripes[stripe as usize].lock()
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

    const PLACE: Place = Place { lane: 1, piece: 2, container: 3 };

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
        assert_eq!(stripe.version, 2);
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
