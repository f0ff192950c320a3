// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scans: buffers and leaves in order, either way, as a view sees them.

use super::TreeStore;
use super::descend::{Stop, Trail, View};
use super::node::Child;
use crate::ordered::block::Block;
use crate::ordered::key::{Entry, Key};
use crate::ordered::memtable::{Entries, Position};
use saker_engine_api::KvError;
use saker_segment_store::SegmentStore;
use saker_sim::{Meter, Unit};
use std::iter::Peekable;
use std::ops::Bound;

/// A place in the leaves of a tree.
struct Leaves<'a> {
    leaf: Option<(Block<'a>, usize)>,
    /// The entry there, which is compared with those of the buffers more than once.
    head: Option<Entry>,
    /// Where the next leaf begins, if there is one.
    next: Option<Key>,
}

impl<'a> Leaves<'a> {
    fn new(leaf: Option<(Block<'a>, usize)>, next: Option<Key>) -> Self {
        Self { leaf, head: leaf.and_then(|(leaf, at)| leaf.get(at)), next }
    }

    /// Whether all entries of the leaf were taken.
    #[inline]
    fn is_spent(&self) -> bool {
        self.leaf.is_none_or(|(leaf, at)| at >= leaf.count())
    }

    #[inline]
    fn take(&mut self) -> Option<Entry> {
        let (leaf, at) = self.leaf.as_mut().filter(|_| self.head.is_some())?;
        *at += 1;
        std::mem::replace(&mut self.head, leaf.get(*at))
    }
}

/// The buffers of a scan, and the first entry of all of them: most pairs are in the tree, and are compared with that alone.
struct Buffered<'a> {
    sources: Vec<Peekable<Entries<'a>>>,
    head: Option<(usize, Entry)>,
}

impl<'a> Buffered<'a> {
    fn new(buffers: impl Iterator<Item = Entries<'a>>) -> Self {
        let mut buffered = Self { sources: buffers.map(Iterator::peekable).collect(), head: None };
        buffered.look();
        buffered
    }

    /// Of equal entries that of the youngest buffer comes first.
    fn look(&mut self) {
        let heads = self.sources.iter_mut().enumerate().filter_map(|(n, s)| s.peek().map(|e| (n, *e)));
        self.head = heads.min_by(|(_, x), (_, y)| x.order(y));
    }

    fn take(&mut self, n: usize) {
        if let Some(source) = self.sources.get_mut(n) {
            source.next();
        }
        self.look();
    }
}

/// The next entry of some sources, of equal ones that of the youngest.
#[inline]
fn next_of(buffers: &mut Buffered<'_>, leaves: &mut Leaves<'_>) -> Option<Entry> {
    if let Some((n, buffered)) = buffers.head
        && leaves.head.is_none_or(|e| buffered.order(&e).is_le())
    {
        buffers.take(n);
        return Some(buffered);
    }
    leaves.take()
}

impl TreeStore {
    /// Visits the pairs of a view in the order of their keys. Whether `visit` ended it.
    pub(super) fn visit<'a, M: SegmentStore, W: Meter>(
        &'a self,
        from: Bound<Key>,
        view: &View,
        mut visit: impl FnMut(&Entry, &'a [u8]) -> bool,
        trail: &mut Trail,
        m: &'a M,
        w: &mut W,
    ) -> Result<bool, Stop> {
        // A key that the scan begins behind counts as seen.
        let (from, mut last) = match from {
            Bound::Unbounded => (None, None),
            Bound::Included(key) => (Some(key), None),
            Bound::Excluded(key) => (Some(key), Some(key)),
        };
        let at = from.map_or(Position::Start, Position::At);
        let frozen = self.own.imm.iter().map(|imm| &*imm.updates);
        let mut buffers = Buffered::new(std::iter::once(&self.mem).chain(frozen).map(|b| b.range(at)));
        let mut leaves = self.leaf_of(view, from, trail, m, w)?;
        loop {
            while leaves.is_spent() && leaves.next.is_some() {
                leaves = self.leaf_of(view, leaves.next, trail, m, w)?;
            }
            let Some(e) = next_of(&mut buffers, &mut leaves) else {
                return if leaves.is_spent() { Ok(false) } else { Err(KvError::Corrupt.into()) };
            };
            w.work(Unit::ListEntry, 1);
            if e.version > view.version || last == Some(e.key) {
                continue;
            }
            last = Some(e.key);
            if !e.is_tombstone() && !visit(&self.as_now(e, view), &[]) {
                return Ok(true);
            }
        }
    }

    /// The leaf in which the entries from a key on begin.
    fn leaf_of<'a, M: SegmentStore, W: Meter>(
        &'a self,
        view: &View,
        from: Option<Key>,
        trail: &mut Trail,
        m: &'a M,
        w: &mut W,
    ) -> Result<Leaves<'a>, Stop> {
        // Nothing is before the shortest key of zeros.
        let first = Key::new(&[0]).expect("one byte");
        let key = from.unwrap_or(first);
        let Some(at) = self.locate(&view.tree, &key, 0, trail, m, w)? else {
            return Ok(Leaves::new(None, None));
        };
        let leaf = self.node(at.child, 0, trail, m, w)?;
        Ok(Leaves::new(Some((leaf, leaf.lower_bound(&key, u64::MAX))), at.hi))
    }

    /// Visits the pairs of a view in the falling order of their keys, from `end` on. Whether `visit` ended it.
    pub(super) fn visit_back<'a, M: SegmentStore, W: Meter>(
        &'a self,
        mut end: Bound<Key>,
        view: &View,
        mut visit: impl FnMut(&Entry, &'a [u8]) -> bool,
        trail: &mut Trail,
        m: &'a M,
        w: &mut W,
    ) -> Result<bool, Stop> {
        loop {
            let in_tree = self.last_in_tree(end, view, trail, m, w)?.map(|e| e.key);
            let frozen = self.own.imm.as_ref().and_then(|imm| imm.updates.last_key(end));
            let Some(key) = self.mem.last_key(end).max(frozen).max(in_tree) else { return Ok(false) };
            w.work(Unit::ListEntry, 1);
            let found = self.find(&key, view, trail, m, w)?;
            if found.is_some_and(|e| !e.is_tombstone() && !visit(&e, &[])) {
                return Ok(true);
            }
            end = Bound::Excluded(key);
        }
    }

    /// The last entry before `end` in the tree: a child begins with its key, so one that begins before `end` has it.
    fn last_in_tree<M: SegmentStore, W: Meter>(
        &self,
        end: Bound<Key>,
        view: &View,
        trail: &mut Trail,
        m: &M,
        w: &mut W,
    ) -> Result<Option<Entry>, Stop> {
        let Some(mut child) = view.tree.root else { return Ok(None) };
        for level in (0..view.tree.height).rev() {
            let node = self.node(child, level, trail, m, w)?;
            let behind = match end {
                Bound::Unbounded => node.count(),
                Bound::Excluded(key) => node.lower_bound(&key, u64::MAX),
                Bound::Included(key) => node.lower_bound(&key, 0),
            };
            let Some(last) = behind.checked_sub(1).and_then(|at| node.get(at)) else { return Ok(None) };
            if level == 0 {
                return Ok(Some(last));
            }
            child = Child::of(&last);
        }
        Ok(None)
    }
}
