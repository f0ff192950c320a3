// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether a table agrees with itself: counts with entries, entries with where they are searched, leaves with the arena.

use super::{Entry, Extent, Leaf, Mixed, Table, growth};
use saker_log::ensure;

impl<K: Mixed> Table<K> {
    /// Says what contradicts itself, if anything does. Looks at every slot once.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        let leaves = self.leaves()?;
        let (mut len, mut slots, mut key_bytes, mut extents) = (0, 0, 0, Vec::new());
        for (first, leaf) in &leaves {
            key_bytes += self.check_leaf(*first, leaf)?;
            len += leaf.len() as u64;
            slots += leaf.capacity() as u64;
            extents.push(leaf.extent());
        }
        let (found, noted) = ((len, slots, key_bytes), (self.len, self.slots, self.key_bytes));
        ensure(found == noted, || {
            format!("entries, slots and bytes of keys are {found:?}, noted: {noted:?}")
        })?;
        self.arena.check(extents)
    }

    /// The leaves by their first entries of the directory, each of which has as many as its depth says.
    fn leaves(&self) -> Result<Vec<(usize, Leaf)>, String> {
        let entries = if self.directory.is_empty() { 0 } else { 1 << self.depth };
        let found = self.directory.len();
        ensure(found == entries, || format!("the directory has {found} entries at depth {}", self.depth))?;
        let (mut at, mut leaves) = (0, Vec::new());
        while let Some(leaf) = self.directory.get(at) {
            ensure(leaf.depth() <= self.depth, || format!("leaf {at} is deeper than the directory"))?;
            let span = self.span(leaf.depth());
            let begins = at.is_multiple_of(span);
            let same = self.directory[at..at + span].iter().all(|other| other.extent() == leaf.extent());
            ensure(begins && same, || format!("leaf {at} has not all {span} entries of the directory"))?;
            leaves.push((at, *leaf));
            at += span;
        }
        Ok(leaves)
    }

    /// The bytes of a leaf's keys.
    fn check_leaf(&self, first: usize, leaf: &Leaf) -> Result<u64, String> {
        let slots = self.arena.slots(leaf.extent());
        let entries = || slots.iter().filter(|e| !e.addr.is_none());
        let len = entries().count();
        ensure(len == leaf.len(), || format!("leaf {first} has {len} entries, noted: {}", leaf.len()))?;
        let least = |e: &Entry<K>| growth::least(e.key.prefix(), leaf.depth());
        let mut leasts = entries().map(least);
        let same = leasts.next().is_none_or(|one| leasts.all(|other| other == one));
        ensure(same, || format!("keys of leaf {first} differ in their first {} bits", leaf.depth()))?;
        for e in entries() {
            let is_here = self.first_at(e.key) == Some(first);
            let found = self.get(e.key, e.addr.key_bytes());
            ensure(is_here && found == Some(e.addr), || {
                format!("an entry of leaf {first} is not found: {found:?}")
            })?;
        }
        Ok(entries().map(|e| u64::from(e.addr.key_bytes())).sum())
    }
}

impl<K: Mixed> super::Arena<K> {
    /// Says what contradicts itself: the extents that leaves have and those that are free fill what was given out.
    fn check(&self, mut extents: Vec<Extent>) -> Result<(), String> {
        extents.extend(self.free_extents()?);
        extents.sort_unstable();
        let all = extents.iter().map(|e| e.parts().2 as u64).sum::<u64>();
        let apart = extents.windows(2).all(|pair| {
            let ((chunk, start, slots), (next, from, _)) = (pair[0].parts(), pair[1].parts());
            chunk < next || start as usize + slots <= from as usize
        });
        ensure(apart, || "extents of slots overlap".into())?;
        let given = self.given_out();
        ensure(all <= given, || format!("{all} slots are in use or free, {given} were given out"))
    }
}
