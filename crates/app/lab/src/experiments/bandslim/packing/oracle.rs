// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages and copies of each policy, counted another way than the policies work: from lists of what is taken.

/// Bytes of a NAND page, of a memory page.
const PAGE: u64 = 16_384;
const UNIT: u64 = 4096;

/// A value: its bytes, and whether DMA brings it.
pub type Value = (u64, bool);

/// Pages and bytes copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// NAND pages.
    pub pages: u64,
    /// Bytes copied by a core.
    pub copied: u64,
}

fn small_bytes(values: &[Value]) -> u64 {
    values.iter().filter(|(_, dma)| !dma).map(|(bytes, _)| bytes).sum()
}

/// Memory pages of each value, in NAND pages that hold so many of them.
pub fn block(values: &[Value]) -> Count {
    let (mut pages, mut free) = (0, 0);
    for units in values.iter().map(|(bytes, _)| bytes.div_ceil(UNIT)) {
        if units > free {
            let taken = units.div_ceil(PAGE / UNIT);
            (pages, free) = (pages + taken, taken * (PAGE / UNIT));
        }
        free -= units;
    }
    Count { pages, copied: small_bytes(values) }
}

/// The sum of all bytes; a copy of each but those that begin aligned.
pub fn all(values: &[Value]) -> Count {
    let total: u64 = values.iter().map(|(bytes, _)| bytes).sum();
    let mut before = 0;
    let mut in_place = 0;
    for (bytes, dma) in values {
        in_place += if *dma && before % UNIT == 0 { *bytes } else { 0 };
        before += bytes;
    }
    Count { pages: total.div_ceil(PAGE), copied: total - in_place }
}

/// Runs of small values between values by DMA: each run begins where the value before it ends.
pub fn selective(values: &[Value]) -> Count {
    let mut units = 0;
    let mut tail = 0;
    for run in values.split_inclusive(|(_, dma)| *dma) {
        let (small, large): (Vec<_>, Vec<_>) = run.iter().partition(|(_, dma)| !dma);
        tail += small.iter().map(|(bytes, _)| bytes).sum::<u64>();
        if let Some((bytes, _)) = large.first() {
            units += tail.div_ceil(UNIT);
            tail = *bytes;
        }
    }
    Count { pages: (units * UNIT + tail).div_ceil(PAGE), copied: small_bytes(values) }
}

/// Small values at the first place, never going back, where no value by DMA is in the way; a gap that is more than a
/// buffer behind the end is given up.
pub fn backfill(values: &[Value], buffer_pages: u64) -> Count {
    let mut taken: Vec<(u64, u64)> = Vec::new();
    let (mut at, mut passed) = (0, 0);
    for (bytes, dma) in values {
        let end = taken.last().map_or(0, |t| t.1).max(at);
        if *dma {
            let start = end.div_ceil(UNIT) * UNIT;
            let far = |at: u64| (start + bytes).div_ceil(PAGE) - at / PAGE > buffer_pages;
            while passed < taken.len() && (far(at) || (taken.len() - passed) as u64 == buffer_pages) {
                (at, passed) = (taken[passed].1, passed + 1);
            }
            taken.push((start, start + bytes));
        } else {
            while passed < taken.len() && at + bytes > taken[passed].0 {
                (at, passed) = (taken[passed].1, passed + 1);
            }
            at += bytes;
        }
    }
    Count { pages: taken.last().map_or(0, |t| t.1).max(at).div_ceil(PAGE), copied: small_bytes(values) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let values = [(100, false), (2048, true), (50, false), (5000, true), (8, false)];
        // Units 1, 1, 1 and then 2, 1 on the next page.
        assert_eq!(block(&values), Count { pages: 2, copied: 158 });
        assert_eq!(all(&values), Count { pages: 1, copied: 7206 });
        // 0-100, 4096-6144, 6144-6194, 8192-13192, 13192-13200.
        assert_eq!(selective(&values), Count { pages: 1, copied: 158 });
        assert_eq!(backfill(&values, 512), Count { pages: 1, copied: 158 });
        assert_eq!(backfill(&[(4097, true); 4], 512).pages, 2);
        assert_eq!(block(&[(4097, true); 3]).pages, 2);
    }
}
