// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages that operations hold or wait for: copies of what was read, which follow what is written. A page comes in parts, each of a few
//! blocks of the namespace: who looks at one part needs no other.

use saker_segment_store::{CellError, PageAddr};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Parts of a page, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts(u64);

impl Parts {
    /// Parts that a page may have.
    pub const MAX: u32 = u64::BITS;
    /// None of them.
    pub const NONE: Self = Self(0);

    /// So many parts from one on.
    pub fn span(first: u32, count: u32) -> Self {
        let ones = u64::MAX.checked_shr(Self::MAX.saturating_sub(count)).filter(|_| count > 0);
        Self(ones.unwrap_or(0).checked_shl(first).unwrap_or(0))
    }

    /// Those and these.
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those without these.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether these are among them.
    pub fn have(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// Whether there is none.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The first of them, and how many there are up to the last, with those between.
    pub fn bounds(self) -> (u32, u32) {
        let first = self.0.trailing_zeros();
        (first, Self::MAX.saturating_sub(self.0.leading_zeros()).saturating_sub(first))
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        (0..Self::MAX).filter(move |n| self.have(Self::span(*n, 1)))
    }
}

#[derive(Debug)]
struct Held {
    holders: u32,
    /// Reads of its life so far: what others bring is not entered.
    reader: u64,
    here: Parts,
    coming: Parts,
    /// As on the device, data and out-of-band bytes; zeros where nothing has come.
    bytes: Result<Vec<u8>, CellError>,
}

/// Parts that are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// For [`HeldPages::arrive`].
    pub reader: u64,
    /// Which.
    pub parts: Parts,
}

/// Pages by their address.
#[derive(Debug)]
pub struct HeldPages {
    pages: BTreeMap<PageAddr, Held>,
    readers: u64,
    /// Bytes of a page and of a part of it; the last part may be shorter.
    page_bytes: usize,
    part_bytes: usize,
}

impl HeldPages {
    /// Of pages of so many bytes, in parts.
    pub fn new(page_bytes: usize, part_bytes: usize) -> Self {
        Self { pages: BTreeMap::new(), readers: 0, page_bytes, part_bytes: part_bytes.max(1) }
    }

    /// All parts of a page.
    pub fn all(&self) -> Parts {
        Parts::span(0, self.page_bytes.div_ceil(self.part_bytes) as u32)
    }

    /// The parts with bytes from `start` up to `end`.
    pub fn parts_of(&self, start: u32, end: u32) -> Parts {
        let (first, end) = (start as usize / self.part_bytes, (end as usize).div_ceil(self.part_bytes));
        Parts::span(first as u32, end.saturating_sub(first).max(1) as u32)
    }

    /// One more holds a page, and looks at those parts. `Some`: of them these are to be read.
    pub fn hold(&mut self, at: PageAddr, wanted: Parts) -> Option<Reading> {
        let Self { pages, readers, page_bytes, .. } = self;
        let held = pages.entry(at).or_insert_with(|| {
            *readers += 1;
            let bytes = Ok(vec![0; *page_bytes]);
            Held { holders: 0, reader: *readers, here: Parts::NONE, coming: Parts::NONE, bytes }
        });
        held.holders += 1;
        let missing = wanted.without(held.here.and(held.coming));
        if missing.is_none() {
            return None;
        }
        let (first, count) = missing.bounds();
        let parts = Parts::span(first, count);
        held.coming = held.coming.and(parts);
        Some(Reading { reader: held.reader, parts })
    }

    /// One less does.
    pub fn release(&mut self, at: PageAddr) {
        if let Some(held) = self.pages.get_mut(&at) {
            held.holders -= 1;
            if held.holders == 0 {
                self.pages.remove(&at);
            }
        }
    }

    /// Nobody holds other pages than these.
    pub fn keep_only(&mut self, pages: &[PageAddr]) {
        self.pages.retain(|at, _| pages.contains(at));
    }

    /// A read has ended. What was renewed meanwhile stays: commands have no order among each other.
    pub fn arrive(&mut self, at: PageAddr, reading: Reading, found: Result<Vec<u8>, CellError>) {
        let all = self.all();
        let held = self.pages.get_mut(&at).filter(|held| held.reader == reading.reader);
        let Some(held) = held else { return };
        let (first, _) = reading.parts.bounds();
        match found {
            Err(why) => {
                (held.bytes, held.here, held.coming) = (Err(why), all, Parts::NONE);
            }
            Ok(found) => {
                let Ok(bytes) = &mut held.bytes else { return };
                let room = bytes.get_mut(first as usize * self.part_bytes..).unwrap_or_default();
                room.iter_mut().zip(found).for_each(|(to, from)| *to = from);
                held.here = held.here.and(reading.parts);
                held.coming = held.coming.without(reading.parts);
            }
        }
    }

    /// Pages are written or deallocated: who holds one, or waits for it, has what `bytes` gives.
    pub fn renew(&mut self, pages: RangeInclusive<PageAddr>, bytes: impl Fn() -> Vec<u8>) {
        let all = self.all();
        for (_, held) in self.pages.range_mut(pages) {
            self.readers += 1;
            (held.reader, held.bytes) = (self.readers, Ok(bytes()));
            (held.here, held.coming) = (all, Parts::NONE);
        }
    }

    /// Whether somebody holds the page that such a read is for, and it was not renewed since.
    pub fn is_reading(&self, at: PageAddr, reading: Reading) -> bool {
        self.pages.get(&at).is_some_and(|held| held.reader == reading.reader)
    }

    /// Bytes of a part.
    pub fn part_bytes(&self) -> usize {
        self.part_bytes
    }

    /// Whether nothing of a page that somebody holds is on its way.
    pub fn is_here(&self, at: PageAddr) -> bool {
        self.pages.get(&at).is_some_and(|held| held.coming.is_none())
    }

    /// A page of which those parts have come.
    pub fn get(&self, at: PageAddr, parts: Parts) -> Option<&Result<Vec<u8>, CellError>> {
        let held = self.pages.get(&at).filter(|held| held.here.have(parts))?;
        Some(&held.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: PageAddr = PageAddr(7);

    fn pages() -> HeldPages {
        HeldPages::new(16, 4)
    }

    fn part(first: u32, count: u32) -> Parts {
        Parts::span(first, count)
    }

    #[test]
    fn parts_are_bits() {
        assert_eq!(
            (part(1, 2).bounds(), part(0, 64).bounds(), part(63, 1).bounds()),
            ((1, 2), (0, 64), (63, 1))
        );
        assert_eq!(part(0, 1).and(part(3, 1)).bounds(), (0, 4), "with those between");
        assert!(part(0, 64).have(part(5, 9)) && !part(5, 9).have(part(4, 2)) && part(3, 0).is_none());
        assert_eq!(part(2, 3).iter().collect::<Vec<_>>(), [2, 3, 4]);
        let pages = pages();
        assert_eq!(
            (pages.all(), pages.parts_of(4, 8), pages.parts_of(3, 9)),
            (part(0, 4), part(1, 1), part(0, 3))
        );
    }

    #[test]
    fn a_part_is_read_once_and_shown_alone() {
        let mut pages = pages();
        let first = pages.hold(AT, part(1, 1)).expect("it is away");
        assert_eq!((first.parts, pages.hold(AT, part(1, 1))), (part(1, 1), None), "it is on its way");
        let rest = pages.hold(AT, pages.all()).expect("others are away");
        assert_eq!(rest.parts, part(0, 4), "one read, from the first that is away to the last");
        pages.arrive(AT, first, Ok(vec![9; 4]));
        assert!(pages.get(AT, part(1, 1)).is_some() && pages.get(AT, part(0, 2)).is_none());
        assert!(!pages.is_here(AT), "something is on its way");
        pages.arrive(AT, rest, Ok((0..16).collect()));
        assert_eq!(pages.get(AT, pages.all()), Some(&Ok((0..16).collect())));
        assert!(pages.is_here(AT));
    }

    #[test]
    fn what_is_renewed_is_whole_and_reads_of_before_are_not_entered() {
        let mut pages = pages();
        let before = pages.hold(AT, part(1, 1)).expect("it is away");
        pages.renew(AT..=AT, || vec![5; 16]);
        pages.arrive(AT, before, Ok(vec![9; 4]));
        assert_eq!(pages.get(AT, pages.all()), Some(&Ok(vec![5; 16])));
    }

    #[test]
    fn a_part_that_cannot_be_read_spoils_the_page() {
        let mut pages = pages();
        let (a, b) = (pages.hold(AT, part(0, 1)), pages.hold(AT, part(2, 1)));
        pages.arrive(AT, a.expect("away"), Err(CellError::Read));
        pages.arrive(AT, b.expect("away"), Ok(vec![1; 4]));
        assert_eq!(pages.get(AT, pages.all()), Some(&Err(CellError::Read)));
        (0..2).for_each(|_| pages.release(AT));
        assert!(pages.get(AT, Parts::NONE).is_none() && !pages.is_here(AT));
    }
}
