// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which keys have copies in the device's tree, exactly: the metadata manager.

use saker_nvme::Key;
use std::collections::BTreeMap;
use std::ops::Bound;

/// What a copy in the device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The newest value of its key.
    Pair,
    /// The newest write of its key is a delete.
    Tombstone,
    /// The main tree has a record that is as new or newer.
    Superseded,
}

/// A copy in the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceCopy {
    /// The number of its write.
    pub sequence: u64,
    /// Bytes of its record.
    pub bytes: u32,
    /// What it is.
    pub state: State,
}

/// All copies.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    copies: BTreeMap<Key, DeviceCopy>,
    current: u64,
    peak: u64,
    /// Bytes of their records.
    bytes: u64,
}

/// Modelled bytes of an entry of a hash table beside its key: number, length and state, and the share of the table that is free at a
/// load of seven eighths.
const ENTRY_BYTES: u64 = 16 + 2;

impl Metadata {
    /// The copy of a key.
    pub fn get(&self, key: &Key) -> Option<&DeviceCopy> {
        self.copies.get(key)
    }

    /// The copy of a key that is its newest record.
    pub fn current(&self, key: &Key) -> Option<&DeviceCopy> {
        self.copies.get(key).filter(|copy| copy.state != State::Superseded)
    }

    /// The device has a copy.
    pub fn insert(&mut self, key: Key, copy: DeviceCopy) {
        let before = self.copies.insert(key, copy);
        self.current -= u64::from(before.is_some_and(|old| old.state != State::Superseded));
        self.current += u64::from(copy.state != State::Superseded);
        self.bytes = self.bytes + u64::from(copy.bytes) - before.map_or(0, |old| u64::from(old.bytes));
        self.peak = self.peak.max(self.copies.len() as u64);
    }

    /// The main tree has a record of that key which is as new.
    pub fn supersede(&mut self, key: &Key) {
        if let Some(copy) = self.copies.get_mut(key)
            && copy.state != State::Superseded
        {
            copy.state = State::Superseded;
            self.current -= 1;
        }
    }

    /// The device may have a copy of a key of which nothing was known: a write that failed there.
    pub fn suspect(&mut self, key: Key, sequence: u64) {
        let copy = DeviceCopy { sequence, bytes: 0, state: State::Superseded };
        self.copies.entry(key).or_insert(copy);
    }

    /// The device's tree is empty.
    pub fn clear(&mut self) {
        (self.copies, self.current, self.bytes) = (BTreeMap::new(), 0, 0);
    }

    /// Whether that copy of a key is there and does not count.
    pub fn is_stale(&self, key: &Key, sequence: u64) -> bool {
        let copy = self.copies.get(key);
        copy.is_some_and(|copy| copy.sequence == sequence && copy.state == State::Superseded)
    }

    /// The device has no copy of a key any more. It did not count.
    pub fn remove(&mut self, key: &Key) {
        if let Some(copy) = self.copies.remove(key) {
            debug_assert_eq!(copy.state, State::Superseded, "what counts stays");
            self.bytes -= u64::from(copy.bytes);
        }
    }

    /// Copies behind a key, by key; `None`: all.
    pub fn behind(&self, key: Option<Key>) -> impl Iterator<Item = (&Key, &DeviceCopy)> {
        self.copies.range((key.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded))
    }

    /// Bytes of the records of all copies.
    pub const fn record_bytes(&self) -> u64 {
        self.bytes
    }

    /// Copies that are the newest records of their keys.
    pub const fn current_keys(&self) -> u64 {
        self.current
    }

    /// Copies.
    pub fn keys(&self) -> u64 {
        self.copies.len() as u64
    }

    /// Most copies at one time.
    pub const fn keys_peak(&self) -> u64 {
        self.peak
    }

    /// Modelled bytes of the table, and of each key in it.
    pub fn bytes(&self) -> (u64, u64) {
        let keys: u64 = self.copies.keys().map(|key| key.len() as u64).sum();
        let all = keys + self.keys() * ENTRY_BYTES;
        (all, all.checked_div(self.keys()).unwrap_or(0))
    }

    /// What contradicts itself.
    pub fn check(&self) -> Result<(), String> {
        let counted = self.copies.values().filter(|copy| copy.state != State::Superseded).count() as u64;
        let bytes: u64 = self.copies.values().map(|copy| u64::from(copy.bytes)).sum();
        if (counted, bytes) == (self.current, self.bytes) {
            Ok(())
        } else {
            Err(format!(
                "{counted} copies count, not {}; they have {bytes} bytes, not {}",
                self.current, self.bytes
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_count_until_they_are_superseded() {
        let (mut all, key) = (Metadata::default(), Key::new(b"key").unwrap());
        let copy = |sequence, state| DeviceCopy { sequence, bytes: 20, state };
        all.insert(key, copy(5, State::Pair));
        assert_eq!((all.current_keys(), all.current(&key).map(|c| c.sequence)), (1, Some(5)));
        all.supersede(&key);
        all.supersede(&key);
        assert_eq!((all.current_keys(), all.keys(), all.current(&key)), (0, 1, None));
        all.insert(key, copy(7, State::Tombstone));
        all.suspect(key, 9);
        assert_eq!((all.current_keys(), all.get(&key).map(|c| c.sequence)), (1, Some(7)));
        assert_eq!(all.bytes(), (3 + ENTRY_BYTES, 3 + ENTRY_BYTES));
        all.check().unwrap();
        assert_eq!((all.record_bytes(), all.is_stale(&key, 7)), (20, false));
        all.supersede(&key);
        assert!(all.is_stale(&key, 7) && !all.is_stale(&key, 5));
        assert_eq!((all.behind(None).count(), all.behind(Some(key)).count()), (1, 0));
        all.remove(&key);
        assert_eq!((all.keys(), all.record_bytes(), all.is_stale(&key, 7)), (0, 0, false));
        all.insert(key, copy(8, State::Pair));
        all.check().unwrap();
        all.clear();
        assert_eq!((all.current_keys(), all.keys(), all.keys_peak(), all.bytes()), (0, 0, 1, (0, 0)));
    }
}
