// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages and copies of each packing policy, counted another way than the engine works: from lists of what is taken.

use saker_engine::Packing;

pub const PAGE: u64 = 16_384;
const UNIT: u64 = 4096;
/// A header and a key of 16 bytes.
const HEAD: u64 = 24 + 16;
/// Bytes that a core copies while 1024 bytes are programmed.
pub const PROGRAM_PRICE: u64 = 2699;
/// Values by DMA that the table names behind gaps (section 3.3.3).
const TABLE: usize = 512;
/// What says how long a gap is.
const WORD: u64 = 8;

/// A value: its bytes, and whether DMA brings it.
pub type Value = (u64, bool);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub pages: u64,
    pub copied: u64,
    pub landed: u64,
    pub backfilled: u64,
}

/// What is taken, in the order of positions: everything up to `end`, but for gaps that are still open.
#[derive(Default)]
struct Taken {
    end: u64,
    /// First free byte of a gap, its end, and the page that its word is in.
    gaps: Vec<(u64, u64, u64)>,
    /// Bytes of gaps that nothing fills, their words included.
    unfilled: u64,
    /// Bytes by DMA that landed.
    spared: u64,
    count: Count,
}

fn record(bytes: u64) -> u64 {
    (HEAD + bytes).div_ceil(8) * 8
}

impl Taken {
    /// At the end, copied unless DMA happens to reach that byte.
    fn append(&mut self, (bytes, dma): Value) {
        let in_place = dma && (self.end + HEAD).is_multiple_of(UNIT);
        self.count.copied += if in_place { 0 } else { bytes };
        self.end += record(bytes);
    }

    /// With its value at `at`.
    fn land(&mut self, at: u64, (bytes, dma): Value) {
        self.count.copied += if dma { 0 } else { bytes };
        self.spared += if dma { bytes } else { 0 };
        self.count.landed += 1;
        self.end = at - HEAD + record(bytes);
    }

    /// The first memory page behind the end and a head.
    fn unit(&self) -> u64 {
        (0..).map(|n| (self.end / UNIT + n) * UNIT).find(|at| *at >= self.end + HEAD).expect("there is one")
    }

    /// In the first gap that has room, never going back; else at the end.
    fn fill(&mut self, bytes: u64) {
        let needed = record(bytes);
        let Some(n) = self.gaps.iter().position(|(free, end, _)| end - free >= needed) else {
            self.gaps.clear();
            return self.append((bytes, false));
        };
        self.gaps.drain(..n);
        self.gaps[0].0 += needed;
        self.unfilled -= needed;
        (self.count.copied, self.count.backfilled) = (self.count.copied + bytes, self.count.backfilled + 1);
    }

    /// Lands and leaves the gap open, as far as a buffer of so many pages goes.
    fn land_open(&mut self, value: Value, buffer_pages: u64) {
        let (start, at) = (self.end, self.unit());
        self.unfilled += at - HEAD - start;
        self.land(at, value);
        let pages_used = |first: u64| (at + value.0).div_ceil(PAGE) - first;
        // Lengths of records are counted where the log goes on.
        let pages_to_end = |first: u64, end: u64| end.div_ceil(PAGE) - first;
        let end = self.end;
        self.gaps.retain(|(_, _, first)| pages_to_end(*first, end) <= buffer_pages);
        if at - HEAD > start + WORD && pages_used(start / PAGE) <= buffer_pages {
            self.gaps.push((start + WORD, at - HEAD, start / PAGE));
            self.gaps.drain(..self.gaps.len().saturating_sub(TABLE));
        }
    }

    /// Whether a gap before a value by DMA may be filled: the buffer reaches from the first open gap to the value's end, a page at
    /// most is open, and beyond one page what stayed empty so far is little and cost half of the copies that it spared.
    fn may_be_filled(&self, bytes: u64, buffer_pages: u64) -> bool {
        let at = self.unit();
        let gap = at - HEAD - self.end;
        let first = self.gaps.first().map_or(self.end / PAGE, |(_, _, first)| *first);
        let is_held = (at + bytes).div_ceil(PAGE) - first <= buffer_pages;
        let empty = (self.unfilled + gap).saturating_sub(PAGE);
        let has_paid = 2 * empty * PROGRAM_PRICE <= (self.spared + bytes) * 1024;
        is_held && has_paid && empty <= self.end / 64 && self.open_bytes() + gap <= PAGE
    }

    /// At the end, copied; gaps beyond the buffer are given up.
    fn append_within(&mut self, value: Value, buffer_pages: u64) {
        self.append(value);
        let end = self.end;
        self.gaps.retain(|(_, _, first)| end.div_ceil(PAGE) - first <= buffer_pages);
    }

    fn open_bytes(&self) -> u64 {
        self.gaps.iter().map(|(free, end, _)| end - free).sum()
    }
}

/// What a policy comes to on values that are stored one after the other. `is_behind`: programs never keep up; else they do.
pub fn count(packing: Packing, values: &[Value], buffer_pages: u64, is_behind: bool) -> Count {
    let mut taken = Taken::default();
    for value in values.iter().copied() {
        match packing {
            Packing::All => taken.append(value),
            Packing::Block => {
                let units = value.0.div_ceil(UNIT);
                let fits = |at: &u64| at.is_multiple_of(PAGE) || (at % PAGE) / UNIT + units <= PAGE / UNIT;
                let at = (0..).map(|n| taken.unit() + n * UNIT).find(fits).expect("there is one");
                taken.land(at, value);
            }
            Packing::Selective if value.1 => taken.land(taken.unit(), value),
            Packing::Selective => taken.append(value),
            Packing::Backfill if value.1 => taken.land_open(value, buffer_pages),
            Packing::Auto | Packing::AutoTime if value.1 => {
                let gap = taken.unit() - HEAD - taken.end;
                let is_free = !is_behind || gap * PROGRAM_PRICE <= value.0 * 1024;
                let is_quicker = packing == Packing::AutoTime && is_free;
                if gap == 0 || is_quicker || taken.may_be_filled(value.0, buffer_pages) {
                    taken.land_open(value, buffer_pages);
                } else {
                    taken.append_within(value, buffer_pages);
                }
            }
            Packing::Backfill | Packing::Auto | Packing::AutoTime => taken.fill(value.0),
        }
    }
    Count { pages: taken.end.div_ceil(PAGE), ..taken.count }
}

/// 0-144, then a word at 144 and a head at 4056: the gap takes 48 bytes of a record of 8, and one of 3864 no more.
#[test]
fn by_hand() {
    let values = [(104, false), (2048, true), (8, false), (3864, false), (2048, true)];
    let all = count(Packing::All, &values, 4, true);
    assert_eq!(all, Count { pages: 1, copied: 104 + 2048 + 8 + 3864 + 2048, landed: 0, backfilled: 0 });
    let selective = count(Packing::Selective, &values, 4, true);
    assert_eq!(selective, Count { pages: 1, copied: 104 + 8 + 3864, landed: 2, backfilled: 0 });
    let backfill = count(Packing::Backfill, &values, 4, true);
    assert_eq!(backfill, Count { pages: 1, copied: 104 + 8 + 3864, landed: 2, backfilled: 1 });
    // Memory pages 1, 2, 3; the fourth value goes to that behind the first of the next NAND page.
    let block = count(Packing::Block, &values, 4, true);
    assert_eq!(block, Count { pages: 2, copied: 104 + 8 + 3864, landed: 5, backfilled: 0 });
}
