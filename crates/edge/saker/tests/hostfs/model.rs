// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a device may hold, by key: what was acknowledged, and since when a Flush covers it.

use crate::support::{key, value};
use std::collections::BTreeMap;

/// Version and length; `None`: no such pair.
pub type State = Option<(u64, u32)>;

/// The states of a key that a crash of the operating system may leave; the last is the acknowledged one.
#[derive(Clone, Debug)]
struct Known {
    states: Vec<State>,
    /// A write of which some may have been carried out.
    maybe: Option<State>,
}

/// All keys.
#[derive(Clone, Debug, Default)]
pub struct Model {
    keys: BTreeMap<u32, Known>,
}

impl Model {
    fn known(&mut self, n: u32) -> &mut Known {
        self.keys.entry(n).or_insert_with(|| Known { states: vec![None], maybe: None })
    }

    pub fn acknowledged(&mut self, n: u32, state: State) {
        let known = self.known(n);
        known.states.push(state);
        known.maybe = None;
    }

    /// The write was refused, but was part of a batch whose members are carried out one by one.
    pub fn maybe(&mut self, n: u32, state: State) {
        self.known(n).maybe = Some(state);
    }

    pub fn flushed(&mut self) {
        self.keys.values_mut().for_each(|known| drop(known.states.drain(..known.states.len() - 1)));
    }

    pub fn keys(&self) -> Vec<u32> {
        self.keys.keys().copied().collect()
    }

    pub fn last(&self, n: u32) -> State {
        self.keys.get(&n).and_then(|known| *known.states.last().expect("never empty"))
    }

    /// What is found must be what was acknowledged, or, after a lost sync, what was since the last Flush. It is known
    /// then.
    pub fn meet(&mut self, n: u32, found: Option<&[u8]>, sync_lost: bool) -> Result<(), String> {
        let known = self.known(n);
        let is = |state: &State| match (state, found) {
            (None, None) => true,
            (Some((version, bytes)), Some(found)) => found == value(n, *version, *bytes),
            _ => false,
        };
        let last = known.states.len() - 1;
        let since = if sync_lost { 0 } else { last };
        let state = known.states[since..].iter().rev().find(|state| is(state)).copied();
        let state = state.or(known.maybe.filter(|state| is(state)));
        let Some(state) = state else {
            let found = found.map(|bytes| bytes.len());
            return Err(format!(
                "key {n} ({} bytes) holds {found:?} bytes, expected {known:?}",
                key(n).len()
            ));
        };
        if sync_lost || known.maybe.is_some() {
            *known = Known { states: vec![state], maybe: None };
        }
        Ok(())
    }
}
