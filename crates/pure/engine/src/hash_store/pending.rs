//! Index entries on their way.
//!
//! Entering a pair into the index is a few cache misses and a walk of the page tables, more than all the rest of a put.
//! So a put hands its entry to this window. Eight at a time ask the processor for their lines, so that the misses
//! overlap, and are entered when eight more have come: the lines are there by now. Everything that looks at the
//! index empties the window first, so nobody can tell. Used only where the meter says that touching helps; models
//! never see it.

use super::HashStore;
use crate::index::{Loc, Place};
use saker_sim::Meter;

/// Entries that ask for their lines, or are entered, at once.
const BATCH: usize = 8;
/// Entries that wait.
const ENTRIES: usize = 2 * BATCH;
/// Longer records are entered at once: their bytes count towards the capacity only then.
const RECORD_BYTES_MAX: u32 = 512;

/// The window: a ring of entries.
#[derive(Clone, Debug)]
pub struct Pending {
    entries: [(Place, Loc); ENTRIES],
    first: usize,
    len: usize,
    /// Bytes of the records that wait.
    bytes: u64,
}

impl Default for Pending {
    fn default() -> Self {
        Self { entries: [(Place::Short(0, 1), Loc::NONE); ENTRIES], first: 0, len: 0, bytes: 0 }
    }
}

impl Pending {
    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of the records that wait: they live already.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Records that wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn push(&mut self, entry: (Place, Loc)) {
        self.entries[(self.first + self.len) % ENTRIES] = entry;
        self.len += 1;
        self.bytes += u64::from(entry.1.record_bytes());
    }

    #[inline]
    fn pop(&mut self) -> (Place, Loc) {
        let entry = self.entries[self.first];
        self.first = (self.first + 1) % ENTRIES;
        self.len -= 1;
        self.bytes -= u64::from(entry.1.record_bytes());
        entry
    }
}

impl HashStore {
    /// Enters a pair now or soon.
    #[inline]
    pub(super) fn enter_soon<W: Meter>(&mut self, place: Place, loc: Loc, w: &mut W) {
        if !W::TOUCHES || loc.record_bytes() > RECORD_BYTES_MAX {
            self.enter_pending();
            return self.enter(place, loc);
        }
        self.pending.push((place, loc));
        if self.pending.len.is_multiple_of(BATCH) {
            self.turn_over(w);
        }
    }

    /// The newest batch asks for its lines; the one before it is entered.
    fn turn_over<W: Meter>(&mut self, w: &mut W) {
        for n in self.pending.len - BATCH..self.pending.len {
            self.index.touch(self.pending.entries[(self.pending.first + n) % ENTRIES].0, w);
        }
        while self.pending.len > BATCH {
            let (place, loc) = self.pending.pop();
            self.enter(place, loc);
        }
    }

    /// Enters every pair that waits.
    #[inline]
    pub fn enter_pending(&mut self) {
        while self.pending.len > 0 {
            let (place, loc) = self.pending.pop();
            self.enter(place, loc);
        }
    }
}
