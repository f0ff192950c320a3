// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What may be found after power went: per key what the last Flush covered, or any later write. A group is there as a whole or not
//! at all.

use super::key;
use saker_sim::Seed;
use std::collections::BTreeMap;

/// A key's number.
pub type KeyNumber = u32;

/// Bytes of values, around everything that decides where one goes.
const LENGTHS: [usize; 12] = [12, 12, 20, 40, 63, 64, 65, 100, 300, 700, 4095, 4200];

/// The value that write `n` stores under a key: it tells both, and has a length and bytes of its own.
pub fn value(n: u64, key: KeyNumber) -> Vec<u8> {
    let mut rng = Seed(n).index(u64::from(key)).rng();
    let mut value = vec![0; LENGTHS[rng.below(LENGTHS.len() as u64) as usize]];
    rng.fill(&mut value);
    value[..8].copy_from_slice(&n.to_le_bytes());
    value[8..12].copy_from_slice(&key.to_le_bytes());
    value
}

/// The write that stored a value under a key.
///
/// # Panics
/// If nobody ever wrote that value.
pub fn writer(of: KeyNumber, found: &[u8]) -> u64 {
    let n = found.first_chunk().map_or(0, |n| u64::from_le_bytes(*n));
    assert!(found == value(n, of), "key {of} has a value that was never written: {found:02x?}");
    n
}

/// A write of a key: its number, and whether it stores something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Write {
    n: u64,
    stores: bool,
}

/// What there is before the first write.
const NOTHING: Write = Write { n: 0, stores: false };

/// What was found: the write of each key that has a value.
pub type Seen = BTreeMap<KeyNumber, u64>;

/// What may be found.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    may_be: BTreeMap<KeyNumber, Vec<Write>>,
    /// Groups that no Flush has covered: number and keys.
    groups: Vec<(u64, Vec<KeyNumber>)>,
    writes: u64,
}

impl Expected {
    /// The number of the next write.
    pub fn next(&self) -> u64 {
        self.writes + 1
    }

    /// Keys are written together: each with whether it stores something. To delete what is not there is no write.
    pub fn writes(&mut self, keys: &[(KeyNumber, bool)]) -> u64 {
        let is_write = |(of, stores): &&(KeyNumber, bool)| *stores || self.value_now(*of).is_some();
        let keys: Vec<_> = keys.iter().filter(is_write).collect();
        self.writes += 1;
        for (key, stores) in &keys {
            let may_be = self.may_be.entry(*key).or_insert_with(|| vec![NOTHING]);
            may_be.push(Write { n: self.writes, stores: *stores });
        }
        if keys.len() > 1 {
            self.groups.push((self.writes, keys.iter().map(|(key, _)| *key).collect()));
        }
        self.writes
    }

    /// The newest write was refused, or had nothing to do.
    pub fn undo(&mut self) {
        for may_be in self.may_be.values_mut() {
            may_be.retain(|write| write.n < self.writes);
        }
        self.groups.retain(|(n, _)| *n < self.writes);
        self.writes -= 1;
    }

    /// All writes below a number are durable.
    pub fn flushed(&mut self, below: u64) {
        for may_be in self.may_be.values_mut() {
            let covered = may_be.iter().take_while(|write| write.n < below).count();
            may_be.drain(..covered.saturating_sub(1));
        }
        self.groups.retain(|(n, _)| *n >= below);
    }

    /// What operations see now.
    pub fn now(&self) -> Seen {
        let newest = self.may_be.iter().filter_map(|(key, may_be)| Some((*key, *may_be.last()?)));
        newest.filter(|(_, write)| write.stores).map(|(key, write)| (key, write.n)).collect()
    }

    /// The value of a key as operations see it now.
    pub fn value_now(&self, of: KeyNumber) -> Option<Vec<u8>> {
        let newest = self.may_be.get(&of)?.last()?;
        newest.stores.then(|| value(newest.n, of))
    }

    /// Keys that were ever written.
    pub fn keys(&self) -> impl Iterator<Item = KeyNumber> {
        self.may_be.keys().copied()
    }

    /// Asserts that this may be found after power went.
    ///
    /// # Panics
    /// If it may not.
    pub fn assert_allows(&self, seen: &Seen, what: &str) {
        for (of, may_be) in &self.may_be {
            let found = seen.get(of);
            let fits = may_be.iter().any(|write| is_seen(write, found));
            assert!(fits, "{what}: key {of} ({:?}): found {found:?} of {may_be:?}", key(*of));
        }
        for (n, keys) in &self.groups {
            let has = |of: &&KeyNumber| seen.get(of) == Some(n);
            let Some(first) = keys.iter().find(has) else { continue };
            for of in keys {
                let lacks = self.newest_seen(*of, seen) < *n;
                assert!(
                    !lacks,
                    "{what}: of group {n} key {first} is there, key {of} is not: {:?}",
                    seen.get(of)
                );
            }
        }
    }

    /// The newest write of a key that what was found can be.
    fn newest_seen(&self, of: KeyNumber, seen: &Seen) -> u64 {
        let fits = self.may_be[&of].iter().filter(|write| is_seen(write, seen.get(&of)));
        fits.map(|write| write.n).max().unwrap_or(0)
    }

    /// That was found after power went: from now on it is what is durable.
    pub fn settle(&mut self, seen: &Seen) {
        for (key, may_be) in &mut self.may_be {
            *may_be = vec![seen.get(key).map_or(NOTHING, |n| Write { n: *n, stores: true })];
        }
        self.groups.clear();
    }
}

fn is_seen(write: &Write, found: Option<&u64>) -> bool {
    found.copied() == write.stores.then_some(write.n)
}
