// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Index entries on their way.
//!
//! Entering a pair into the index is a few cache misses and a walk of the page tables, more than all the rest of a put.
//! So a put hands its entry to this window. A batch at a time asks the processor for its lines, so that the misses
//! overlap, and is entered when another one has come: the lines are there by now. Everything that looks at the
//! index empties the window first, so nobody can tell. Used only where the meter says that touching helps; models
//! never see it.

use super::HashStore;
use crate::mix::IndexKey;
use saker_sim::Meter;
use saker_value_log::RecordAddr;
use saker_value_log::record::HEADER_BYTES;

/// Entries that ask for their lines, or are entered, at once. More do not help: a processor has about as many
/// lines on their way.
const BATCH: usize = 8;
/// Entries of the window.
const FULL: usize = 2 * BATCH;
/// Longer records are entered at once: their bytes count towards the capacity only then.
const RECORD_BYTES_MAX: u32 = 512;

/// The window: a batch that has asked for its lines, and the one behind it, which fills.
#[derive(Clone, Debug)]
pub struct Pending {
    entries: [(IndexKey, RecordAddr); FULL],
    len: usize,
    /// Bytes of the records that wait.
    bytes: u64,
}

impl Default for Pending {
    fn default() -> Self {
        Self { entries: [(IndexKey::LAST, RecordAddr::NONE); FULL], len: 0, bytes: 0 }
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

    /// What waits.
    pub(super) fn entries(&self) -> &[(IndexKey, RecordAddr)] {
        &self.entries[..self.len]
    }

    /// Records that wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }
}

impl HashStore {
    /// Enters a pair now or soon.
    // Always inlined, as `lengthen` is, which took 15 instructions more as a call: every pair and every member of a group comes here.
    #[inline(always)]
    pub(super) fn enter_soon<W: Meter>(&mut self, place: IndexKey, addr: RecordAddr, w: &mut W) {
        let bytes = addr.record_bytes();
        if !w.touches() || bytes > RECORD_BYTES_MAX {
            self.enter_pending();
            return self.enter(place, addr);
        }
        self.lengthen(addr);
        let p = &mut self.pending;
        debug_assert!(p.len < FULL && !addr.is_none(), "a full window turns over at once");
        p.entries[p.len] = (place, addr);
        p.len += 1;
        p.bytes += u64::from(bytes);
        if p.len.is_multiple_of(BATCH) {
            self.turn_over(w);
        }
    }

    /// The newest batch asks for its lines; the one before it is entered.
    #[inline(never)]
    fn turn_over<W: Meter>(&mut self, w: &mut W) {
        debug_assert!(matches!(self.pending.len, BATCH | FULL), "batches turn over when they are full");
        let (old, new) = self.pending.entries.split_at(BATCH);
        if self.pending.len == BATCH {
            return old.iter().for_each(|(place, _)| self.index.touch(*place, w));
        }
        new.iter().for_each(|(place, _)| self.index.touch(*place, w));
        self.enter_first(BATCH);
        self.pending.entries.copy_within(BATCH.., 0);
        self.pending.len = BATCH;
    }

    /// Enters every pair that waits.
    #[inline]
    pub fn enter_pending(&mut self) {
        if self.pending.len > 0 {
            self.enter_first(self.pending.len);
            self.pending.len = 0;
        }
    }

    /// Enters the first `n` pairs of the window. They were stored one behind the other, so nearly all of them lie in one
    /// segment.
    fn enter_first(&mut self, n: usize) {
        let (mut lived, mut entered) = ((0, 0), 0);
        let segment_bytes = self.log.geometry().segment_bytes();
        for at in 0..n {
            let (place, addr) = self.pending.entries[at];
            let (position, bytes) = (addr.position(), u64::from(addr.record_bytes()));
            if position.wrapping_sub(lived.0) >= segment_bytes {
                self.note_lived(lived);
                lived = (position - position % segment_bytes, 0);
            }
            lived.1 += bytes;
            entered += bytes;
            self.stats.pair_bytes += bytes - u64::from(HEADER_BYTES);
            if let Some(old) = self.index.insert(place, addr) {
                // It may be one of this batch.
                self.note_lived(lived);
                lived.1 = 0;
                self.forget(old);
                self.prefetch.drop_value(&place);
            }
        }
        self.note_lived(lived);
        self.pending.bytes -= entered;
        debug_assert!(n < self.pending.len || self.pending.bytes == 0, "nothing waits, and it has no bytes");
    }

    /// So many bytes live from now on in the segment that begins there.
    fn note_lived(&mut self, (begin, bytes): (u64, u64)) {
        if bytes > 0 {
            self.log.add_live(self.segment_of(begin), bytes);
        }
    }
}
