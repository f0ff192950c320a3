// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a level's nodes are visited for: updates or changes of the level below, nodes to be moved, and neighbours that small
//! nodes are joined with.

use super::{All, Change, Job};
use crate::ordered::key::{Entry, Key};
use crate::ordered::memtable::{Memtable, Position};
use saker_engine_api::KvError;

impl Job {
    /// The first key, from `from` on, whose node of this level is to be made anew.
    pub(super) fn visit_from(&self, from: Option<Key>) -> Option<Key> {
        if from.is_none() && self.forced.is_some() {
            return self.forced;
        }
        let touched = self.touches().iter().find(|key| from.is_none_or(|from| **key >= from));
        let updated = match self.level {
            0 => self.update_from(from.map_or(self.at, |from| latest(self.at, from))).map(|e| e.key),
            _ => self.pending().iter().filter_map(|c| c.lo).find(|lo| from.is_none_or(|from| *lo >= from)),
        };
        if let All::From(first) = self.all {
            return from.max(first).or(Key::new(&[0]));
        }
        match (touched.copied(), updated) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// The next level's nodes are to be made.
    pub(super) fn begin_level(&mut self) {
        if self.all != All::No {
            self.all = All::From(None);
        }
    }

    fn touches(&self) -> &[Key] {
        self.touched.get(self.level as usize).map_or(&[], |keys| &keys[self.touch..])
    }

    fn pending(&self) -> &[Change] {
        &self.changes[self.change.min(self.changes.len())..]
    }

    /// The next update that counts for this root.
    fn update_from(&self, mut at: Position) -> Option<Entry> {
        let updates: &Memtable = self.updates.as_ref()?;
        loop {
            let e = updates.range(at).find(|e| e.version <= self.upto)?;
            if self.after == 0 || e.version > self.after {
                return Some(e);
            }
            at = Position::Behind(e.key, 0);
        }
    }

    /// Takes the next update before `hi`.
    pub(super) fn take_update(&mut self, hi: Option<Key>) -> Option<Entry> {
        let e = self.update_from(self.at).filter(|e| hi.is_none_or(|hi| e.key < hi))?;
        self.at = Position::Behind(e.key, 0);
        Some(e)
    }

    /// Nodes to be moved before `hi` are being made.
    pub(super) fn skip_touches(&mut self, hi: Option<Key>) {
        if self.all != All::No {
            self.all = hi.map_or(All::Done, |hi| All::From(Some(hi)));
        }
        self.touch += self.touches().iter().take_while(|key| hi.is_none_or(|hi| **key < hi)).count();
    }

    /// Puts the changes of the level below before `hi` into the links of a node.
    pub(super) fn apply_changes(&mut self, links: &mut Vec<Entry>, hi: Option<Key>) -> Result<(), KvError> {
        while let Some(change) = self.changes.get_mut(self.change) {
            let lo = change.lo.ok_or(KvError::Corrupt)?;
            if hi.is_some_and(|hi| lo >= hi) {
                break;
            }
            let at = links.partition_point(|link| link.key < lo);
            let end = at + change.olds;
            if links.get(at).is_none_or(|link| link.key != lo) || end > links.len() {
                return Err(KvError::Corrupt);
            }
            links.splice(at..end, std::mem::take(&mut change.new));
            self.change += 1;
        }
        Ok(())
    }
}

fn latest(at: Position, from: Key) -> Position {
    match at {
        Position::Behind(key, _) if key >= from => at,
        _ => Position::At(from),
    }
}
