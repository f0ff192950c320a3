// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes of a key go one at a time, in the order in which they came. One of several keys has its turn when it is the first of all of
//! them; since it joins all lines at once, no two wait for each other.

use saker_nvme::Key;
use std::collections::{BTreeMap, VecDeque};

/// Writes by key, each line with the one that goes on in front.
#[derive(Debug, Default)]
pub struct Lines(BTreeMap<Key, VecDeque<u64>>);

impl Lines {
    /// Whether a write of that key is on its way.
    pub fn holds(&self, key: &Key) -> bool {
        self.0.contains_key(key)
    }

    /// Whether no write is on its way.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A write joins the lines of its keys. Whether it has its turn.
    pub fn join(&mut self, id: u64, keys: &[Key]) -> bool {
        let mut is_first = true;
        for key in keys {
            let line = self.0.entry(*key).or_default();
            is_first &= line.is_empty();
            line.push_back(id);
        }
        is_first
    }

    /// A write is over; `next` takes those that are now the first of a line.
    pub fn leave(&mut self, id: u64, keys: &[Key], next: &mut Vec<u64>) {
        for key in keys {
            let Some(line) = self.0.get_mut(key) else { continue };
            debug_assert_eq!(line.front(), Some(&id), "only who is first ends");
            line.pop_front();
            match line.front() {
                Some(first) => next.push(*first),
                None => _ = self.0.remove(key),
            }
        }
    }

    /// Whether a write is the first of all its lines.
    pub fn is_first(&self, id: u64, keys: &[Key]) -> bool {
        keys.iter().all(|key| self.0.get(key).and_then(VecDeque::front) == Some(&id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_of_two_keys_waits_for_both() {
        let (a, b) = (Key::new(b"a").unwrap(), Key::new(b"b").unwrap());
        let (mut lines, mut next) = (Lines::default(), Vec::new());
        assert!(lines.join(1, &[a]) && lines.join(2, &[b]));
        assert!(!lines.join(3, &[a, b]) && !lines.join(4, &[b]));
        lines.leave(1, &[a], &mut next);
        assert_eq!((next.as_slice(), lines.is_first(3, &[a, b])), (&[3][..], false));
        lines.leave(2, &[b], &mut next);
        assert!(next == [3, 3] && lines.is_first(3, &[a, b]) && !lines.is_first(4, &[b]));
        next.clear();
        lines.leave(3, &[a, b], &mut next);
        assert!(next == [4] && !lines.holds(&a) && lines.holds(&b));
        lines.leave(4, &[b], &mut next);
        assert!(lines.is_empty());
    }
}
