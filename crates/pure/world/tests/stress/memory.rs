// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Host memory laid out by hand: data pages out of order, PRP lists, and pointers that are wrong.

use saker_link::{DmaRegion, DmaSpace, PAGE_BYTES};
use saker_nvme::Status;
use saker_sim::Rng;
use std::sync::Arc;

const PAGE: u64 = PAGE_BYTES as u64;
/// Pages for data; a value of the largest size takes five.
const DATA_PAGES: u32 = 8;
/// An address that nothing is mapped at.
const NOWHERE: u64 = 0x7000_0000_0000;

/// Memory of the host that a test writes and reads itself.
pub struct Memory {
    data: DmaRegion,
    list: DmaRegion,
}

/// Where a command's data is, as its pointers say.
#[derive(Clone, Debug)]
pub struct Placement {
    pub prp1: u64,
    pub prp2: u64,
    /// Why the pointers are refused as such.
    pub refused: Option<Status>,
    /// Bytes from the beginning that are mapped.
    pub reachable: u32,
    /// Offset in the data pages, and length, of each piece that is mapped, in order.
    pieces: Vec<(usize, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    None,
    FirstMisaligned,
    FirstUnmapped,
    SecondMisaligned,
    SecondUnmapped,
    EntryMisaligned,
    EntryUnmapped,
}

const FLAWS: [Flaw; 6] = [
    Flaw::FirstMisaligned,
    Flaw::FirstUnmapped,
    Flaw::SecondMisaligned,
    Flaw::SecondUnmapped,
    Flaw::EntryMisaligned,
    Flaw::EntryUnmapped,
];

impl Memory {
    pub fn new(space: &Arc<DmaSpace>) -> Self {
        let pages = |n| space.alloc_pages(n).expect("pages are left");
        Self { data: pages(DATA_PAGES), list: pages(1) }
    }

    /// All data pages.
    pub fn image(&self) -> Vec<u8> {
        let mut out = vec![0; self.data.bytes()];
        self.data.read(0, &mut out).expect("our own memory");
        out
    }

    /// Fills the data pages with noise and returns it.
    pub fn scramble(&self, rng: &mut Rng) -> Vec<u8> {
        let mut out = vec![0; self.data.bytes()];
        rng.fill(&mut out);
        self.data.write(0, &out).expect("our own memory");
        out
    }

    /// Writes `bytes` where `place` says that a command's data is.
    pub fn put(&self, place: &Placement, bytes: &[u8]) {
        let mut done = 0;
        for (at, len) in &place.pieces {
            let n = (*len).min(bytes.len() - done);
            self.data.write(*at, &bytes[done..done + n]).expect("our own memory");
            done += n;
        }
    }

    /// Pointers for `bytes` bytes, one time in four with a flaw that may or may not matter.
    pub fn place(&self, bytes: u32, rng: &mut Rng) -> Placement {
        let flaw = if rng.below(4) == 0 { FLAWS[rng.below(6) as usize] } else { Flaw::None };
        // More than the data pages hold is never transferred in full; the pointers are then just wrong.
        let offset = if rng.below(2) == 0 { 0 } else { rng.below(PAGE / 4) * 4 };
        self.place_with(bytes, offset, flaw, rng)
    }

    fn place_with(&self, bytes: u32, offset: u64, flaw: Flaw, rng: &mut Rng) -> Placement {
        let page = |n: u64| self.data.iova() + n * PAGE;
        let (bytes, first) = (u64::from(bytes), PAGE - offset);
        let rest = bytes.saturating_sub(first);
        let pages = rest.div_ceil(PAGE);
        // The first page is the last of the region, the others come before it, backwards.
        let start = u64::from(DATA_PAGES) - 1;
        let number = |n: u64| start - 1 - n % start;
        let mut place = Placement {
            prp1: page(start) + offset,
            prp2: 0,
            refused: None,
            reachable: 0,
            pieces: Vec::new(),
        };
        place.pieces.push(((start * PAGE + offset) as usize, bytes.min(first) as usize));
        for n in 0..pages {
            place.pieces.push(((number(n) * PAGE) as usize, (rest - n * PAGE).min(PAGE) as usize));
        }
        let bad = rng.below(pages.max(1));
        if pages == 1 {
            place.prp2 = page(number(0));
        } else if pages > 1 {
            // A list that does not begin its page; it ends before the page does.
            let from = PAGE - 8 * pages - 8 * rng.below(4);
            for n in 0..pages {
                let entry = match flaw {
                    Flaw::EntryMisaligned if n == bad => page(number(n)) + 512,
                    Flaw::EntryUnmapped if n == bad => NOWHERE,
                    _ => page(number(n)),
                };
                let at = (from + 8 * n) as usize;
                self.list.write(at, &entry.to_le_bytes()).expect("our own memory");
            }
            place.prp2 = self.list.iova() + from;
        }
        spoil(&mut place, flaw, pages, (bytes as u32, first.min(bytes) as u32, bad as u32));
        place
    }
}

/// Applies a flaw to good pointers, and what follows from it.
fn spoil(place: &mut Placement, flaw: Flaw, pages: u64, (bytes, first, bad): (u32, u32, u32)) {
    place.reachable = bytes;
    match flaw {
        Flaw::FirstMisaligned => {
            place.prp1 += 2;
            place.refused = (bytes > 0).then_some(Status::PRP_OFFSET_INVALID);
        }
        Flaw::FirstUnmapped => {
            place.prp1 = NOWHERE + place.prp1 % PAGE;
            place.reachable = 0;
        }
        Flaw::SecondMisaligned => {
            place.prp2 += 4;
            place.refused = (pages > 0).then_some(Status::PRP_OFFSET_INVALID);
        }
        Flaw::SecondUnmapped => {
            place.prp2 = NOWHERE;
            place.refused = (pages > 1).then_some(Status::DATA_TRANSFER_ERROR);
            place.reachable = first;
        }
        Flaw::EntryMisaligned => place.refused = (pages > 1).then_some(Status::PRP_OFFSET_INVALID),
        Flaw::EntryUnmapped if pages > 1 => place.reachable = first + bad * PAGE as u32,
        Flaw::EntryUnmapped | Flaw::None => {}
    }
}

impl Placement {
    /// The bytes of an image of the data pages that the pieces name, in order.
    pub fn gather(&self, image: &[u8]) -> Vec<u8> {
        self.pieces.iter().flat_map(|(at, len)| image[*at..at + len].to_vec()).collect()
    }

    /// The same image after a device wrote `bytes` to the beginning of the data.
    pub fn scatter(&self, image: &mut [u8], bytes: &[u8]) {
        let mut done = 0;
        for (at, len) in &self.pieces {
            let n = (*len).min(bytes.len() - done);
            image[*at..at + n].copy_from_slice(&bytes[done..done + n]);
            done += n;
        }
    }
}
