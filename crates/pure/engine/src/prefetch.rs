// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prefetch groups: access to one key brings the values of the keys that belong with it to memory (HotStorage'19,
//! section 5: the paper suggests them and leaves them open).
//!
//! The retrieve that starts it does not wait: background work reads the others. What is brought is a value and which write it is of; a
//! pair that has changed is dropped, so nothing stale is ever delivered.
//!
//! What is brought in vain costs reads that nobody asked for. So a group that is brought in vain is brought less and less often; and
//! where several groups were, a group is brought only when two of its keys were read one behind the other.

use saker_engine_api::{Background, KvError};
use saker_log::ensure;
use saker_segment_store::{Reads, Step};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;

/// Groups that are kept; the oldest is forgotten for a new one.
const GROUPS_MAX: usize = 1024;
/// Keys of a group.
const KEYS_MAX: usize = 1024;
/// Values that a quantum brings.
const QUANTUM: usize = 16;
/// Keys that wait to be brought: where there is no time for them, those that come then are not.
const WANTED_MAX: usize = 4 * KEYS_MAX;
/// Most bytes of values that are held in memory.
pub const BYTES_MAX: usize = 1 << 20;
/// The rarest that a group is brought, as a power of two of its accesses.
const RAREST: u32 = 10;
/// So many groups may be brought on trust, and nobody has asked for what was brought.
const TRUSTED: u64 = 4;

#[derive(Clone, Debug)]
struct Group<K> {
    keys: Vec<K>,
    /// Times in a row that it was brought and nobody asked for it.
    in_vain: u32,
    /// Accesses until it is brought again.
    skip: u32,
    /// Whether it was brought and not asked for since.
    unproven: bool,
}

/// A value that was brought.
#[derive(Clone, Debug)]
struct Kept<A> {
    /// What it was when it was read: its place, or its version.
    which: A,
    value: Vec<u8>,
    arrival: u64,
}

/// Groups, what is to be brought, and what has been, by keys as an engine knows them. Of each value it is known which write it is of, as the
/// engine tells writes apart.
#[derive(Clone, Debug)]
pub struct Prefetch<K, A> {
    groups: BTreeMap<u64, Group<K>>,
    names: BTreeMap<Vec<u8>, u64>,
    of: BTreeMap<K, u64>,
    next: u64,
    wanted: VecDeque<K>,
    /// How many of these have asked for pages.
    asked: usize,
    /// Pages that were asked for to bring the first of what is wanted.
    pages: Reads,
    values: BTreeMap<K, Kept<A>>,
    /// The values in the order they came, and some that have gone.
    order: VecDeque<(K, u64)>,
    arrivals: u64,
    bytes: usize,
    hits: u64,
    /// Times that a group was brought, and times that somebody then asked for it.
    brought: u64,
    proven: u64,
    /// The key that was read last.
    last: Option<K>,
}

impl<K, A> Default for Prefetch<K, A> {
    fn default() -> Self {
        Self {
            groups: BTreeMap::new(),
            names: BTreeMap::new(),
            of: BTreeMap::new(),
            next: 0,
            wanted: VecDeque::new(),
            asked: 0,
            pages: Reads::new(),
            values: BTreeMap::new(),
            order: VecDeque::new(),
            arrivals: 0,
            bytes: 0,
            hits: 0,
            brought: 0,
            proven: 0,
            last: None,
        }
    }
}

impl<K: Ord + Clone + Debug, A: PartialEq + Debug> Prefetch<K, A> {
    /// Whether there are no groups.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Whether something is to be brought.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Binds keys under a name, which replaces what the name bound before. Fewer than two keys unbind it. What `key` does not know
    /// is left out.
    ///
    /// # Errors
    /// [`KvError::CapacityExceeded`] for more than [`KEYS_MAX`] keys.
    pub fn bind(
        &mut self,
        name: &[u8],
        keys: &mut dyn ExactSizeIterator<Item = &[u8]>,
        key: impl Fn(&[u8]) -> Option<K>,
    ) -> Result<(), KvError> {
        if keys.len() > KEYS_MAX {
            return Err(KvError::CapacityExceeded);
        }
        self.bind_keys(name, keys.filter_map(key).collect());
        Ok(())
    }

    fn bind_keys(&mut self, name: &[u8], keys: Vec<K>) {
        if let Some(old) = self.names.remove(name) {
            self.unbind(old);
        }
        if keys.len() < 2 {
            return;
        }
        while self.groups.len() >= GROUPS_MAX {
            let Some((&oldest, _)) = self.groups.first_key_value() else { break };
            self.names.retain(|_, id| *id != oldest);
            self.unbind(oldest);
        }
        let id = self.next;
        self.next += 1;
        self.of.extend(keys.iter().map(|key| (key.clone(), id)));
        self.names.insert(name.to_vec(), id);
        self.groups.insert(id, Group { keys, in_vain: 0, skip: 0, unproven: false });
    }

    fn unbind(&mut self, id: u64) {
        self.groups.remove(&id);
        self.of.retain(|_, of| *of != id);
        if self.groups.is_empty() {
            (self.wanted, self.values, self.order) = Default::default();
            (self.bytes, self.asked, self.pages) = (0, 0, Reads::new());
        }
    }

    /// A key was read from the medium: brings the others, if that has helped so far.
    #[inline]
    pub fn accessed(&mut self, key: &K) {
        // Most stores have no groups.
        if !self.of.is_empty() {
            self.accessed_of_group(key);
        }
    }

    fn accessed_of_group(&mut self, key: &K) {
        let id = self.of.get(key);
        let before = self.last.replace(key.clone());
        let together = before.is_some_and(|last| last != *key && id.is_some() && self.of.get(&last) == id);
        let Some(group) = id.and_then(|id| self.groups.get_mut(id)) else { return };
        if group.unproven {
            group.in_vain += 1;
            group.unproven = false;
            group.skip = 1 << group.in_vain.min(RAREST);
        }
        if group.skip > 0 {
            group.skip -= 1;
            return;
        }
        if !together && self.brought - self.proven > TRUSTED {
            return;
        }
        group.unproven = true;
        self.brought += 1;
        let room = WANTED_MAX.saturating_sub(self.wanted.len());
        self.wanted.extend(group.keys.iter().filter(|other| *other != key).take(room).cloned());
    }

    /// The value, if it was brought and `is_it` holds of what it was then, which is told.
    pub fn hit(&mut self, key: &K, is_it: impl Fn(&A) -> bool) -> Option<(&A, &[u8])> {
        if !is_it(&self.values.get(key)?.which) {
            self.drop_value(key);
            return None;
        }
        self.hits += 1;
        if let Some(group) = self.of.get(key).and_then(|id| self.groups.get_mut(id)) {
            self.proven += u64::from(group.unproven || group.in_vain > 0 && self.proven < self.brought);
            (group.in_vain, group.skip, group.unproven) = (0, 0, false);
        }
        self.values.get(key).map(|kept| (&kept.which, kept.value.as_slice()))
    }

    /// Times that a value was in memory.
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// The keys that a quantum brings.
    pub fn next_wanted(&self) -> Vec<K> {
        self.wanted.iter().take(self.quantum()).cloned().collect()
    }

    /// Those that have asked for pages, alone: so they come to an end.
    fn quantum(&self) -> usize {
        if self.asked > 0 { self.asked } else { QUANTUM }
    }

    /// Of those that were [wanted next](Self::next_wanted) these are still to be brought, and need the pages; none: a quantum has ended.
    /// What was asked for before is asked for again, for as long as one of them has not been brought.
    pub fn brought(&mut self, left: Vec<K>, pages: Reads) -> Step<Background> {
        self.wanted.drain(..self.quantum().min(self.wanted.len()));
        self.asked = left.len();
        if left.is_empty() {
            self.pages.clear();
            return Step::Done(Background::Worked);
        }
        left.into_iter().rev().for_each(|key| self.wanted.push_front(key));
        self.pages.extend(pages);
        self.pages.sort_unstable();
        self.pages.dedup();
        Step::Need(self.pages.clone())
    }

    /// Keeps a value that was read.
    pub fn keep(&mut self, key: K, which: A, value: Vec<u8>, bytes_max: usize) {
        self.drop_value(&key);
        if value.len() > bytes_max / 4 {
            return;
        }
        self.bytes += value.len();
        self.arrivals += 1;
        self.values.insert(key.clone(), Kept { which, value, arrival: self.arrivals });
        self.order.push_back((key, self.arrivals));
        while self.bytes > bytes_max {
            let Some((oldest, arrival)) = self.order.pop_front() else { break };
            if self.is_current(&oldest, arrival) {
                self.drop_value(&oldest);
            }
        }
        if self.order.len() > 2 * self.values.len() + 64 {
            let mut order = std::mem::take(&mut self.order);
            order.retain(|(key, arrival)| self.is_current(key, *arrival));
            self.order = order;
        }
    }

    /// Whether that arrival's value is still here.
    fn is_current(&self, key: &K, arrival: u64) -> bool {
        self.values.get(key).is_some_and(|kept| kept.arrival == arrival)
    }

    /// Says what contradicts itself, if anything does.
    pub fn check(&self) -> Result<(), String> {
        let bytes: usize = self.values.values().map(|kept| kept.value.len()).sum();
        ensure(bytes == self.bytes, || format!("values take {bytes} bytes, noted: {}", self.bytes))?;
        let ids = self.of.values().chain(self.names.values());
        let stray = ids.into_iter().find(|id| !self.groups.contains_key(id));
        ensure(stray.is_none(), || format!("keys are bound to group {stray:?}, which there is not"))?;
        let arrivals: BTreeSet<u64> = self.order.iter().map(|(_, arrival)| *arrival).collect();
        let lost = self.values.values().find(|kept| !arrivals.contains(&kept.arrival));
        ensure(lost.is_none(), || format!("nothing drives out the value {lost:?}"))
    }

    /// The pair is what `is_it` holds of: a value of another write is dropped.
    pub fn drop_others(&mut self, key: &K, is_it: impl Fn(&A) -> bool) {
        if self.values.get(key).is_some_and(|kept| !is_it(&kept.which)) {
            self.drop_value(key);
        }
    }

    /// The pair has changed.
    #[inline]
    pub fn drop_value(&mut self, key: &K) {
        if !self.values.is_empty()
            && let Some(kept) = self.values.remove(key)
        {
            self.bytes -= kept.value.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: u8 = 5;

    fn bound(groups: u8) -> Prefetch<u8, ()> {
        let mut prefetch = Prefetch::default();
        for group in 0..groups {
            let keys: Vec<_> = (group * KEYS..(group + 1) * KEYS).map(|key| [key]).collect();
            let mut keys = keys.iter().map(|key| &key[..]);
            prefetch.bind(&[group], &mut keys, |key| key.first().copied()).expect("few keys");
        }
        prefetch
    }

    /// Brings all that is wanted, as an engine does that reads nothing from flash.
    fn bring(prefetch: &mut Prefetch<u8, ()>) -> usize {
        let mut all = 0;
        while prefetch.is_wanted() {
            let keys = prefetch.next_wanted();
            all += keys.len();
            keys.into_iter().for_each(|key| prefetch.keep(key, (), vec![key], BYTES_MAX));
            assert!(matches!(prefetch.brought(Vec::new(), Reads::new()), Step::Done(Background::Worked)));
        }
        prefetch.check().expect("all agrees");
        all
    }

    #[test]
    fn groups_are_brought_on_trust_until_several_were_in_vain() {
        let groups = 20;
        let mut prefetch = bound(groups);
        let mut brought = 0;
        for key in (0..4).flat_map(|_| (0..groups).map(|group| group * KEYS)) {
            prefetch.accessed(&key);
            brought += bring(&mut prefetch);
        }
        assert_eq!(brought, (TRUSTED as usize + 1) * (KEYS as usize - 1));
        // Two of a group, one behind the other, are a reason to try again.
        let last = (groups - 1) * KEYS;
        prefetch.accessed(&last);
        prefetch.accessed(&(last + 1));
        assert_eq!(bring(&mut prefetch), KEYS as usize - 1);
        assert!(prefetch.hit(&(last + 2), |()| true).is_some());
        assert!(prefetch.hit(&(last + 1), |()| true).is_none(), "that was read");
        assert_eq!(prefetch.hits(), 1);
    }

    #[test]
    fn what_asked_for_pages_comes_again_alone_and_with_all_of_them() {
        let mut prefetch = bound(1);
        prefetch.accessed(&0);
        assert_eq!(prefetch.next_wanted(), [1, 2, 3, 4]);
        let page = |n| saker_segment_store::PageAddr(n);
        let Step::Need(pages) = prefetch.brought(vec![2, 4], vec![page(7)]) else { panic!("two are left") };
        assert_eq!((pages, prefetch.next_wanted()), (vec![page(7)], vec![2, 4]));
        let Step::Need(pages) = prefetch.brought(vec![4], vec![page(3), page(7)]) else {
            panic!("one is left")
        };
        assert_eq!((pages, prefetch.next_wanted()), (vec![page(3), page(7)], vec![4]));
        assert!(matches!(prefetch.brought(Vec::new(), Reads::new()), Step::Done(Background::Worked)));
        assert!(!prefetch.is_wanted());
    }
}
