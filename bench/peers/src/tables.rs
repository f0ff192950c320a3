// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bare tables: what a processor does at least for a pair, without any durability.

use crate::peer::{Key, Outcome, Peer, copy};
use hashbrown::HashMap;
use std::hint::black_box;

/// Values of a fixed length beside their keys.
type Value<const N: usize> = [u8; N];

fn fixed<const N: usize>(value: &[u8]) -> Value<N> {
    let mut fixed = [0; N];
    copy(value, &mut fixed);
    fixed
}

/// hashbrown's table.
pub struct Hash<const N: usize>(HashMap<Key, Value<N>>);

impl<const N: usize> Hash<N> {
    /// With room for so many pairs.
    pub fn new(pairs: usize) -> Self {
        Self(HashMap::with_capacity(pairs))
    }
}

impl<const N: usize> Peer for Hash<N> {
    fn put(&mut self, key: &Key, value: &[u8]) -> Outcome {
        self.0.insert(*key, fixed(value));
        Ok(())
    }

    fn get(&mut self, key: &Key, buffer: &mut [u8]) -> Outcome<bool> {
        Ok(self.0.get(key).map(|value| copy(value, buffer)).is_some())
    }
}

/// A table with linear probing, half full, whose slots many look-ups ask for ahead.
pub struct Ahead<const N: usize> {
    slots: Vec<Option<(Key, Value<N>)>>,
    found: Vec<u8>,
}

impl<const N: usize> Ahead<N> {
    /// With room for so many pairs.
    pub fn new(pairs: usize) -> Self {
        Self { slots: vec![None; (2 * pairs).next_power_of_two()], found: Vec::new() }
    }

    fn home(&self, key: &Key) -> usize {
        let number = u128::from_le_bytes(*key);
        let mixed = ((number >> 64) as u64 ^ number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> 20) as usize & (self.slots.len() - 1)
    }

    /// The processor fetches the slots of all while it waits for the first.
    fn ask(&self, keys: &[Key]) {
        for key in keys {
            black_box(self.slots[self.home(key)].is_some());
        }
    }

    fn place(&self, key: &Key) -> usize {
        let mut at = self.home(key);
        while self.slots[at].is_some_and(|(held, _)| held != *key) {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }
}

impl<const N: usize> Peer for Ahead<N> {
    fn put(&mut self, key: &Key, value: &[u8]) -> Outcome {
        let at = self.place(key);
        self.slots[at] = Some((*key, fixed(value)));
        Ok(())
    }

    fn batch(&mut self, keys: &[Key], value: &[u8]) -> Outcome {
        self.ask(keys);
        keys.iter().try_for_each(|key| self.put(key, value))
    }

    fn get(&mut self, key: &Key, buffer: &mut [u8]) -> Outcome<bool> {
        let found = &self.slots[self.place(key)];
        Ok(found.as_ref().map(|(_, value)| copy(value, buffer)).is_some())
    }

    fn multi_get(&mut self, keys: &[Key]) -> Outcome<Option<usize>> {
        self.ask(keys);
        self.found.clear();
        for key in keys {
            let at = self.place(key);
            if let Some((_, value)) = &self.slots[at] {
                self.found.extend_from_slice(value);
            }
        }
        Ok(Some(self.found.len() / N.max(1)))
    }
}

/// Nothing but copies of values, one behind the other: what memory takes.
pub struct Copies {
    room: Vec<u8>,
    at: usize,
}

impl Copies {
    /// Room for so many bytes, which has been written before.
    pub fn new(bytes: usize) -> Self {
        Self { room: vec![1; bytes], at: 0 }
    }

    fn next(&mut self, bytes: usize) -> &mut [u8] {
        if self.at + bytes > self.room.len() {
            self.at = 0;
        }
        self.at += bytes;
        &mut self.room[self.at - bytes..self.at]
    }
}

impl Peer for Copies {
    fn put(&mut self, key: &Key, value: &[u8]) -> Outcome {
        self.next(key.len()).copy_from_slice(key);
        self.next(value.len()).copy_from_slice(value);
        black_box(&self.room);
        Ok(())
    }

    fn get(&mut self, _: &Key, buffer: &mut [u8]) -> Outcome<bool> {
        let bytes = buffer.len();
        buffer.copy_from_slice(self.next(bytes));
        black_box(buffer);
        Ok(true)
    }
}
