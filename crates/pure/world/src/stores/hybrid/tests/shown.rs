// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a scan is to show.

use super::histories::{Kept, Pairs, ensure};
use saker_nvme::group::pairs_of;
use std::collections::BTreeSet;

/// From a key on, so many pairs; no key: from the first one, or backwards from the last.
pub struct Way {
    pub from: Vec<u8>,
    pub backwards: bool,
    pub entries: usize,
}

impl Way {
    /// Whether it comes by that key.
    fn has(&self, key: &[u8]) -> bool {
        match self.backwards {
            false => key >= self.from.as_slice(),
            true => self.from.is_empty() || key <= self.from.as_slice(),
        }
    }
}

/// Whether a scan has shown the first so many pairs of its way, each once. Of unknown keys old, new and nothing are right.
pub fn shows(payload: &[u8], way: &Way, pairs: &Pairs, unknown: &BTreeSet<Vec<u8>>) -> Kept {
    let mut shown = pairs_of(payload);
    let is_full = shown.len() >= way.entries;
    let last = shown.last().map(|(key, _)| *key).filter(|_| is_full);
    if way.backwards {
        shown.reverse();
    }
    let keys: Vec<&[u8]> = shown.iter().map(|(key, _)| *key).collect();
    ensure(keys.is_sorted_by(|a, b| a < b), || format!("keys twice, or out of order: {keys:?}"))?;
    ensure(keys.len() <= way.entries && keys.iter().all(|key| way.has(key)), || {
        "keys that nobody asked for".to_owned()
    })?;
    let is_known = |key: &[u8]| !unknown.contains(key);
    for (key, value) in shown.iter().filter(|(key, _)| is_known(key)) {
        ensure(pairs.get(*key).is_some_and(|known| known == value), || format!("{key:?} is not as it was"))?;
    }
    // It ends behind the last key shown, if it is full.
    let is_before_end =
        |key: &[u8]| last.is_none_or(|last| if way.backwards { key >= last } else { key <= last });
    let owed = pairs.keys().filter(|key| way.has(key) && is_before_end(key));
    for key in owed.filter(|key| is_known(key)) {
        ensure(keys.contains(&key.as_slice()), || format!("{key:?} is missing"))?;
    }
    Ok(())
}
