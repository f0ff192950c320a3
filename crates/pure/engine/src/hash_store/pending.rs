//! Index entries on their way.
//!
//! Entering a pair into the index is one or two cache misses, more than all the rest of a put. So a put hands
//! its entry to this window, asks the processor for the lines, and enters the entry that has waited longest:
//! its lines are there by now. Everything that looks at the index empties the window first, so nobody can
//! tell. Used only where the meter says that touching helps; models never see it.

use super::HashStore;
use crate::index::{Loc, Place};
use saker_sim::Meter;

/// Entries that wait: enough for their lines to arrive meanwhile.
const ENTRIES: usize = 16;
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
        self.index.touch(place, w);
        if self.pending.len == ENTRIES {
            let (place, loc) = self.pending.pop();
            self.enter(place, loc);
        }
        self.pending.push((place, loc));
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
