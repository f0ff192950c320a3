// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where values go in a store that decides by itself: beside their keys or into the value log.
//!
//! Values of about the same length are one class, and each class has a place. What is put, got and scanned is counted by class. After so
//! many puts the structure says anew which classes are beside their keys ([`Structure::place`](super::structure::Structure::place)), and
//! all counts are halved, so that what was long ago says little. A pair stays where it went until its key is written again. Every
//! record and entry says where its value is, so nothing on flash depends on what is counted here, and a store that is opened begins anew.

use super::Store;
use super::key::{Entry, Key};
use super::structure::Structure;
use saker_value_log::group::Plan;
use saker_value_log::group::seal::Role;
use saker_value_log::record::HEADER_BYTES;

/// Classes of lengths.
pub const CLASSES: usize = 14;
/// The shortest value that is not of the first class; each further class begins at twice the length.
const FIRST_BYTES: u32 = 16;

/// The class of values of so many bytes. The last one has all longer ones, and is always in the value log.
#[inline]
fn class(value_bytes: u32) -> usize {
    let class = (value_bytes / FIRST_BYTES).checked_ilog2().map_or(0, |n| n as usize + 1);
    class.min(CLASSES - 1)
}

/// The shortest values of a class, in bytes.
pub fn shortest(class: usize) -> u32 {
    if class == 0 { 0 } else { FIRST_BYTES << (class - 1) }
}

/// How values of one class are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Puts.
    pub puts: u64,
    /// Bytes of their values.
    pub bytes: u64,
    /// Pairs that were got or shown by scans with their values.
    pub reads: u64,
}

/// Which classes are beside their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inside(u16);

impl Inside {
    /// No class.
    pub const NONE: Self = Self(0);
    /// The first class alone: in a table such a value takes about as much as the place of a record.
    pub const SHORT: Self = Self(1);
    const _FITS: () = assert!(CLASSES <= u16::BITS as usize);

    /// With a class, unless that is the last one.
    #[must_use]
    pub fn with(self, class: usize) -> Self {
        if class + 1 < CLASSES { Self(self.0 | 1 << class) } else { self }
    }

    /// Whether a class is.
    #[inline]
    pub fn has(self, class: usize) -> bool {
        self.0 >> class & 1 != 0
    }

    /// The length from which on values go to the value log, as far as all longer ones do too.
    pub fn shortest_apart(self) -> u32 {
        shortest(self.0.trailing_ones() as usize)
    }
}

/// Where values go, and why.
#[derive(Clone, Copy, Debug)]
pub struct Placement {
    inside: Inside,
    uses: [Use; CLASSES],
    /// Puts since it was decided.
    since: u32,
    /// Puts after which it is decided anew.
    round: u32,
    /// Bytes of records that puts wrote to the value log to stay there.
    pub apart_bytes: u64,
    /// How often something else was decided.
    pub changes: u64,
    /// How often it was decided.
    pub decisions: u64,
}

/// Puts after which it is decided anew at most.
const ROUND: u64 = 1024;

impl Placement {
    /// Nothing is known. Memtables have room for so many entries without values.
    pub fn new(entries: u64) -> Self {
        let round = (entries / 4).clamp(1, ROUND) as u32;
        let (inside, uses) = (Inside::SHORT, [Use::default(); CLASSES]);
        Self { inside, uses, since: 0, round, apart_bytes: 0, changes: 0, decisions: 0 }
    }

    /// Whether a value of so many bytes goes beside its key.
    #[inline]
    pub fn is_inside(&self, value_bytes: u32) -> bool {
        self.inside.has(class(value_bytes))
    }

    /// Which classes do.
    pub fn inside(&self) -> Inside {
        self.inside
    }

    /// How each class was used lately.
    pub fn uses(&self) -> &[Use; CLASSES] {
        &self.uses
    }

    /// A value of so many bytes was put; `apart`: bytes of its record if that stays in the value log.
    #[inline]
    pub fn put(&mut self, value_bytes: u32, apart: u32) {
        let used = &mut self.uses[class(value_bytes)];
        (used.puts, used.bytes) = (used.puts + 1, used.bytes + u64::from(value_bytes));
        self.apart_bytes += u64::from(apart);
        self.since += 1;
    }

    /// One was read.
    #[inline]
    pub fn read(&mut self, value_bytes: u32) {
        self.uses[class(value_bytes)].reads += 1;
    }

    /// A scan read some.
    pub fn saw(&mut self, seen: &Seen) {
        self.uses.iter_mut().zip(seen.0).for_each(|(used, reads)| used.reads += u64::from(reads));
    }

    /// Whether it is to be decided anew.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.since >= self.round
    }

    /// It was decided.
    pub fn decide(&mut self, inside: Inside) {
        self.changes += u64::from(self.inside != inside);
        (self.inside, self.since, self.decisions) = (inside, 0, self.decisions + 1);
        for used in &mut self.uses {
            *used = Use { puts: used.puts / 2, bytes: used.bytes / 2, reads: used.reads / 2 };
        }
    }
}

/// Pairs of each class that a scan reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen([u32; CLASSES]);

impl Seen {
    /// One of them is that of an entry.
    #[inline]
    pub fn note(&mut self, e: &Entry) {
        self.0[class(value_bytes(e))] += 1;
    }
}

/// Other classes at every turn, as numbers without a pattern have it: for tests of what follows from a change.
pub fn by_turns(turn: u64) -> Inside {
    let mixed = (turn + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    (0..CLASSES).filter(|class| mixed >> class & 1 != 0).fold(Inside::NONE, Inside::with)
}

/// Bytes of an entry's value; of one in the value log that is known but for a few bytes that pad its record.
fn value_bytes(e: &Entry) -> u32 {
    if e.is_inside() {
        return e.addr.value_bytes_inside();
    }
    e.addr.record_bytes().saturating_sub(HEADER_BYTES + u32::from(e.addr.key_bytes()))
}

impl<S: Structure> Store<S> {
    /// Whether a value of so many bytes goes beside its key now.
    #[inline]
    pub(super) fn goes_inside(&self, value_bytes: u32) -> bool {
        if self.settings.is_auto() {
            self.placement.is_inside(value_bytes)
        } else {
            self.settings.may_be_inside(value_bytes)
        }
    }

    /// A value was put whose entry that is.
    #[inline]
    pub(super) fn note_put(&mut self, e: &Entry, value_bytes: u32) {
        if self.settings.is_auto() {
            self.placement.put(value_bytes, if e.is_inside() { 0 } else { e.addr.record_bytes() });
        }
    }

    /// A value of so many bytes was read, or was not.
    #[inline]
    pub(super) fn note_read<E>(&mut self, delivered: &Result<u32, E>) {
        if let (true, Ok(value_bytes)) = (self.settings.is_auto(), delivered) {
            self.placement.read(*value_bytes);
        }
    }

    /// The value of an entry was read.
    #[inline]
    pub(super) fn note_entry_read(&mut self, e: &Entry) {
        if self.settings.is_auto() {
            self.placement.read(value_bytes(e));
        }
    }

    /// Each pair of a plan says whether its value stays in the log, where the store decides that.
    #[inline]
    pub(super) fn place_members(&self, plan: &mut Plan<Key>) {
        if !self.settings.is_auto() {
            return;
        }
        for p in plan.members.iter_mut().filter(|p| p.role == Role::Pair) {
            p.stays = !self.goes_inside(p.member.value.len() as u32);
        }
    }

    /// A write was done: where values go is decided anew if that is due.
    #[inline]
    pub(super) fn place(&mut self) {
        if self.settings.is_auto() && self.placement.is_due() {
            let inside = S::place(self);
            self.placement.decide(inside);
        }
    }
}

#[cfg(test)]
mod tests;
