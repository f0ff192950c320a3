// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A transaction on its way through its plan.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::{Plan, Step};

/// A transaction on its way: what it knows of the store, and what it will write.
#[derive(Clone, Debug)]
pub struct Attempt {
    plan: Plan,
    at: usize,
    lists: BTreeMap<u64, Vec<u64>>,
    written: BTreeSet<u64>,
    reads: Vec<Vec<u64>>,
}

impl Attempt {
    /// At the first step.
    pub const fn new(plan: Plan) -> Self {
        Self { plan, at: 0, lists: BTreeMap::new(), written: BTreeSet::new(), reads: Vec::new() }
    }

    /// Its plan.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Goes on as far as it can. The list that it has to read then; `None` at the end of the plan.
    pub fn advance(&mut self) -> Option<u64> {
        while let Some(step) = self.plan.0.get(self.at) {
            let (Step::Read(key) | Step::Append(key, _)) = *step;
            let Some(list) = self.lists.get_mut(&key) else { return Some(key) };
            match *step {
                Step::Read(_) => self.reads.push(list.clone()),
                Step::Append(_, element) => {
                    list.push(element);
                    self.written.insert(key);
                }
            }
            self.at += 1;
        }
        None
    }

    /// The store has this list under a key.
    ///
    /// # Panics
    /// The list is known.
    pub fn give(&mut self, key: u64, list: Vec<u64>) {
        assert!(self.lists.insert(key, list).is_none(), "list {key} was read before");
    }

    /// Every list that it has read from the store.
    pub fn keys(&self) -> impl Iterator<Item = u64> {
        self.lists.keys().copied()
    }

    /// The lists as it writes them.
    pub fn writes(&self) -> impl Iterator<Item = (u64, &[u64])> {
        self.written.iter().map(|key| (*key, self.lists[key].as_slice()))
    }

    /// What its reads returned, in the order of the plan.
    pub fn reads(&self) -> &[Vec<u64>] {
        &self.reads
    }
}

/// A list as a value.
pub fn written(list: &[u64]) -> Vec<u8> {
    list.iter().flat_map(|element| element.to_le_bytes()).collect()
}

/// The list in a value; an empty one where there is none.
///
/// # Panics
/// The value holds no list.
pub fn parsed(value: &[u8]) -> Vec<u64> {
    let (elements, rest) = value.as_chunks();
    assert!(rest.is_empty(), "a list of {} bytes", value.len());
    elements.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect()
}
