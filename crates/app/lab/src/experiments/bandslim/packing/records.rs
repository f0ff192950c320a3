// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages and copies of each policy on the engine's path, counted another way than the engine works: from lists of what is taken.
//! A record is a head and a value, is padded to 8 bytes and does not leave its segment.

use super::Policy;
use super::oracle::{Count, Value};

/// Bytes of a NAND page, of a memory page.
const PAGE: u64 = 16_384;
const UNIT: u64 = 4096;
/// Bytes of a record before its key, and those that say how long a gap is.
const HEADER: u64 = 24;
const WORD: u64 = 8;
const WORDS: u64 = 8;

/// What the value log is divided into.
#[derive(Clone, Copy, Debug)]
pub struct Ground {
    /// Bytes of a key.
    pub key: u64,
    /// Bytes of a segment.
    pub segment: u64,
    /// NAND pages that may wait for their gaps to be filled.
    pub held: u64,
}

/// A gap: its first free byte, its end, and the page that it begins in.
type Gap = (u64, u64, u64);

struct Taken {
    ground: Ground,
    /// Behind everything, in the order of segments.
    end: u64,
    gaps: Vec<Gap>,
    /// Pages of segments that are full.
    pages_before: u64,
    copied: u64,
}

/// The count of a policy of the paper.
pub fn count(policy: Policy, values: &[Value], ground: Ground) -> Option<Count> {
    let mut taken = Taken { ground, end: 0, gaps: Vec::new(), pages_before: 0, copied: 0 };
    for value in values {
        match policy {
            Policy::Block => taken.land(*value, false, Taken::in_one_page),
            Policy::Selective if value.1 => taken.land(*value, false, |_, _| true),
            Policy::Backfill if value.1 => taken.land(*value, true, |_, _| true),
            Policy::Backfill => taken.fill(*value),
            Policy::All | Policy::Selective => taken.append(*value),
            Policy::Auto | Policy::AutoTime => return None,
        }
    }
    let pages = taken.pages_before + taken.pages_of_segment();
    Some(Count { pages, copied: taken.copied })
}

fn padded(bytes: u64) -> u64 {
    bytes.div_ceil(WORDS) * WORDS
}

impl Taken {
    /// Bytes of a record before a value that lands.
    fn head(&self) -> u64 {
        padded(HEADER + self.ground.key)
    }

    fn segment_begin(&self) -> u64 {
        (self.end / self.ground.segment) * self.ground.segment
    }

    /// Pages of the segment so far, the last one padded. A segment whose end was reached has all of its own.
    fn pages_of_segment(&self) -> u64 {
        (self.end - self.segment_begin()).div_ceil(PAGE)
    }

    /// Whether a record that ends there is in the segment of the end.
    fn fits(&self, ends: u64) -> bool {
        ends <= self.segment_begin() + self.ground.segment
    }

    fn next_segment(&mut self) {
        self.pages_before += self.pages_of_segment();
        self.end = self.segment_begin() + self.ground.segment;
    }

    /// A segment begins: no gap of the one before is filled any more.
    fn begin_segment(&mut self) {
        if self.end == self.segment_begin() {
            self.gaps.clear();
        }
    }

    /// Counts what is full at the end of a segment, and lets go of gaps that the buffer does not reach.
    fn go_on(&mut self, end: u64) {
        if end.is_multiple_of(self.ground.segment) {
            self.pages_before += (end - self.segment_begin()) / PAGE;
        }
        self.end = end;
        let held = self.ground.held;
        self.gaps.retain(|(_, _, first)| end.div_ceil(PAGE) - first <= held);
    }

    /// At the end, copied unless DMA happens to reach that byte.
    fn append(&mut self, (bytes, dma): Value) {
        let record = padded(HEADER + self.ground.key + bytes);
        if !self.fits(self.end + record) {
            self.next_segment();
        }
        self.begin_segment();
        let at = self.end + HEADER + self.ground.key;
        self.copied += if dma && at.is_multiple_of(UNIT) { 0 } else { bytes };
        self.go_on(self.end + record);
    }

    /// No memory page of the value is in another NAND page than its first, unless they are more than one has.
    fn in_one_page(at: u64, bytes: u64) -> bool {
        at.is_multiple_of(PAGE) || (at % PAGE) / UNIT + bytes.div_ceil(UNIT) <= PAGE / UNIT
    }

    /// At the first memory page behind the end and a head that `suits`; the gap before it may stay open.
    fn land(&mut self, value: Value, opens: bool, suits: impl Fn(u64, u64) -> bool) {
        let bytes = value.0;
        let place = |taken: &Self| {
            let all = (taken.end / UNIT..).map(|n| n * UNIT);
            let mut behind = all.filter(|at| *at >= taken.end + taken.head());
            behind.find(|at| suits(*at, bytes)).expect("pages have no end")
        };
        let mut at = place(self);
        if !self.fits(at + padded(bytes)) {
            self.next_segment();
            at = place(self);
        }
        self.begin_segment();
        let (start, gap_end) = (self.end, at - self.head());
        let is_held = (at + bytes).div_ceil(PAGE) - start / PAGE <= self.ground.held;
        self.copied += if value.1 { 0 } else { bytes };
        if opens && is_held && gap_end > start + WORD {
            self.gaps.push((start + WORD, gap_end, start / PAGE));
        }
        self.go_on(at + padded(bytes));
    }

    /// In the first gap that has room, never going back; else at the end.
    fn fill(&mut self, value: Value) {
        let record = padded(HEADER + self.ground.key + value.0);
        let Some(n) = self.gaps.iter().position(|(free, end, _)| end - free >= record) else {
            self.gaps.clear();
            return self.append(value);
        };
        self.gaps.drain(..n);
        self.gaps[0].0 += record;
        self.copied += value.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUND: Ground = Ground { key: 4, segment: 2 * PAGE, held: 4 };

    fn of(policy: Policy, values: &[Value]) -> (u64, u64) {
        let count = count(policy, values, GROUND).expect("a policy of the paper");
        (count.pages, count.copied)
    }

    #[test]
    fn by_hand() {
        // 0-136; a value at 4096-6144, the next record 6144-6192; another at 8192-13192 (13,192 is no multiple of 8).
        let values = [(104, false), (2048, true), (20, false), (4998, true)];
        assert_eq!(of(Policy::All, &values), (1, 104 + 2048 + 20 + 4998));
        assert_eq!(of(Policy::Selective, &values), (1, 124));
        assert_eq!(of(Policy::Backfill, &values), (1, 124));
        // Memory pages 1, 2, 3 and then 4 and 5, which are in the next NAND page.
        assert_eq!(of(Policy::Block, &values), (2, 124));
    }

    #[test]
    fn gaps_take_what_selective_appends() {
        let values: Vec<Value> = (0..20).flat_map(|_| [(4000, true), (60, false)]).collect();
        let values = [&[(8, false)][..], &values].concat();
        // 4000 and 64 to 88 bytes of records are a memory page each, so each small one makes Selective begin the next.
        assert!(of(Policy::Backfill, &values).0 < of(Policy::Selective, &values).0);
    }

    #[test]
    fn a_record_is_in_one_segment() {
        // 16,376 bytes with their heads are 16,408: one in a segment of two pages, and its second page is begun.
        assert_eq!(of(Policy::All, &[(16_376, true); 3]).0, 6);
        // Exactly a page each.
        assert_eq!(of(Policy::All, &[(16_356, true); 3]), (3, 3 * 16_356));
    }
}
