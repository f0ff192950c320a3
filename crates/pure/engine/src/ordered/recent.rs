// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The versions that transactions have asked for lately. A transaction asks twice for each pair that it reads: when it reads it, and at
//! its commit, which mostly follows at once. The second search of memtables and tables would say the same as the first one.
//!
//! Every write passes here, so a version that is remembered is that of the newest write. A collection that moves a pair keeps its
//! version. The memory is taken when the first version is remembered: who has no transactions pays for none of it.

use super::key::{Entry, Key};

/// Versions that are remembered: those of some dozens of transactions at a time.
const SLOTS: usize = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    key: Key,
    /// `None`: there is no such pair.
    version: Option<u64>,
}

/// Versions by key: each has one place, and the last to be remembered there is.
#[derive(Clone, Debug, Default)]
pub struct Recent(Vec<Option<Slot>>);

impl Recent {
    #[inline]
    fn place(key: &Key) -> usize {
        key.hash() as usize % SLOTS
    }

    /// The version of a key, if it is remembered; `Some(None)`: there is no such pair.
    #[inline]
    pub fn version(&self, key: &Key) -> Option<Option<u64>> {
        let slot = (*self.0.get(Self::place(key))?)?;
        (slot.key == *key).then_some(slot.version)
    }

    /// That is the version of a key now; `None`: there is no such pair.
    pub fn remember(&mut self, key: &Key, version: Option<u64>) {
        if self.0.is_empty() {
            self.0 = vec![None; SLOTS];
        }
        if let Some(slot) = self.0.get_mut(Self::place(key)) {
            *slot = Some(Slot { key: *key, version });
        }
    }

    /// A write of a key has become its newest, or its record was moved.
    #[inline]
    pub fn entered(&mut self, e: &Entry) {
        if !self.0.is_empty() {
            self.enter(e);
        }
    }

    fn enter(&mut self, e: &Entry) {
        if let Some(Some(slot)) = self.0.get_mut(Self::place(&e.key))
            && slot.key == e.key
        {
            slot.version = (!e.is_tombstone()).then_some(e.version);
        }
    }

    /// Modelled memory.
    pub fn bytes(&self) -> u64 {
        (self.0.len() * size_of::<Slot>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_sim::Seed;
    use saker_value_log::RecordAddr;
    use std::collections::BTreeMap;

    #[test]
    fn what_is_remembered_is_true() {
        let (mut recent, mut newest, mut rng) = (Recent::default(), BTreeMap::new(), Seed(1).rng());
        let mut known = 0;
        for version in 1..20_000_u64 {
            let key = Key::new(&(rng.below(2000) as u16).to_be_bytes()).unwrap();
            let now: Option<u64> = newest.get(&key).copied();
            match rng.below(4) {
                0 => recent.remember(&key, now),
                1 | 2 => {
                    let is_gone = rng.below(2) == 0;
                    let addr = if is_gone { RecordAddr::NONE } else { RecordAddr::new(64, 32, 2) };
                    recent.entered(&Entry { key, version, addr, stamp: 0 });
                    _ = if is_gone { newest.remove(&key) } else { newest.insert(key, version) };
                }
                _ => {
                    let told = recent.version(&key);
                    assert!(told.is_none_or(|told| told == now), "{key:?}: {told:?}, and it is {now:?}");
                    known += u32::from(told.is_some());
                }
            }
        }
        assert!(known > 100, "{known}");
    }
}
