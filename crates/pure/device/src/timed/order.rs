// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands on one key in the order in which the dispatcher handed them out (`by_key`). A command starts when no earlier
//! one that has not ended names any of its keys. The keys of a group are known when its data has come; until then it may
//! name any.

use super::Id;
use std::collections::{BTreeMap, BTreeSet};

/// A key, hashed: two that look alike only wait for each other.
pub type KeyHash = u64;

#[derive(Clone, Debug)]
struct Entered {
    sequence: u64,
    keys: Vec<KeyHash>,
    /// It would execute if it were its turn.
    is_ready: bool,
}

/// What is on its way, by key.
#[derive(Clone, Debug, Default)]
pub struct Order {
    next: u64,
    entered: BTreeMap<Id, Entered>,
    by_key: BTreeMap<KeyHash, BTreeMap<u64, Id>>,
    /// Commands whose keys nobody knows yet.
    unknown: BTreeSet<u64>,
}

impl Order {
    /// A command was handed out; `None`: its keys are not known yet.
    pub fn enter(&mut self, id: Id, keys: Option<Vec<KeyHash>>) {
        self.next += 1;
        let entered = Entered { sequence: self.next, keys: Vec::new(), is_ready: false };
        self.entered.insert(id, entered);
        match keys {
            None => drop(self.unknown.insert(self.next)),
            Some(keys) => self.set_keys(id, keys),
        }
    }

    fn set_keys(&mut self, id: Id, keys: Vec<KeyHash>) {
        let Some(entered) = self.entered.get_mut(&id) else { return };
        for key in &keys {
            self.by_key.entry(*key).or_default().insert(entered.sequence, id);
        }
        entered.keys = keys;
    }

    /// The keys that were not known.
    pub fn learn(&mut self, id: Id, keys: Vec<KeyHash>) {
        if self.entered.get(&id).is_some_and(|e| self.unknown.remove(&e.sequence)) {
            self.set_keys(id, keys);
        }
    }

    /// Whether the keys of a command are not known yet.
    pub fn is_unknown(&self, id: Id) -> bool {
        self.entered.get(&id).is_some_and(|e| self.unknown.contains(&e.sequence))
    }

    /// The command could execute. True if it is its turn; otherwise [`Order::wake`] tells when it is.
    pub fn is_turn(&mut self, id: Id) -> bool {
        let is_turn = self.is_first(id);
        if let Some(entered) = self.entered.get_mut(&id) {
            entered.is_ready = !is_turn;
        }
        is_turn
    }

    fn is_first(&self, id: Id) -> bool {
        let Some(entered) = self.entered.get(&id) else { return true };
        let first = |key: &KeyHash| {
            self.by_key
                .get(key)
                .and_then(BTreeMap::first_key_value)
                .is_none_or(|(s, _)| *s >= entered.sequence)
        };
        self.unknown.first().is_none_or(|s| *s > entered.sequence) && entered.keys.iter().all(first)
    }

    /// The command has changed what it changes.
    pub fn leave(&mut self, id: Id) {
        let Some(left) = self.entered.remove(&id) else { return };
        self.unknown.remove(&left.sequence);
        for key in left.keys {
            if let Some(of_key) = self.by_key.get_mut(&key) {
                of_key.remove(&left.sequence);
                if of_key.is_empty() {
                    self.by_key.remove(&key);
                }
            }
        }
    }

    /// Commands whose turn has come, in their order. Each is told once.
    pub fn wake(&mut self) -> Vec<Id> {
        let mut woken: Vec<(u64, Id)> = self
            .entered
            .iter()
            .filter(|(id, e)| e.is_ready && self.is_first(**id))
            .map(|(id, e)| (e.sequence, *id))
            .collect();
        woken.sort_unstable();
        for (_, id) in &woken {
            if let Some(entered) = self.entered.get_mut(id) {
                entered.is_ready = false;
            }
        }
        woken.into_iter().map(|(_, id)| id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_behind_the_other() {
        let mut order = Order::default();
        (0..3).for_each(|id| order.enter(id, Some(vec![u64::from(id % 2)])));
        assert_eq!([order.is_turn(2), order.is_turn(1), order.is_turn(0)], [false, true, true]);
        order.leave(1);
        assert_eq!(order.wake(), [], "whoever could start is not told again");
        order.leave(0);
        assert_eq!((order.wake(), order.wake()), (vec![2], vec![]));
    }

    #[test]
    fn a_group_keeps_its_place_before_its_keys_are_known() {
        let mut order = Order::default();
        order.enter(0, Some(vec![5]));
        order.enter(1, None);
        order.enter(2, Some(vec![5]));
        order.enter(3, Some(vec![8]));
        assert!(order.is_turn(0) && !order.is_turn(3), "it may name 8");
        assert!(order.is_unknown(1));
        order.learn(1, vec![5, 6]);
        order.leave(0);
        assert!(order.is_turn(1) && !order.is_turn(2));
        assert_eq!(order.wake(), [3]);
        order.leave(1);
        assert_eq!(order.wake(), [2]);
    }
}
