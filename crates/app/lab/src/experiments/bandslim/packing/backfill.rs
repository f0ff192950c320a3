// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Backfilling of bare values, as the paper places them.

use saker_flash::packing::{Arrival, BufferShape, Packing, Placed};
use std::collections::VecDeque;

/// Backfill Packing of bare values: piggybacked ones go to the first gap that has room, never back (section 3.3.3).
#[derive(Debug)]
pub struct Backfill {
    shape: BufferShape,
    /// Values by DMA that the write pointer has not passed.
    ahead: VecDeque<(u64, u64)>,
    pointer: u64,
    end: u64,
}

impl Backfill {
    /// An empty log.
    pub fn new(shape: BufferShape) -> Self {
        Self { shape, ahead: VecDeque::new(), pointer: 0, end: 0 }
    }

    fn pass(&mut self) {
        if let Some((_, end)) = self.ahead.pop_front() {
            self.pointer = end;
        }
    }

    fn land(&mut self, bytes: u64) -> Placed {
        let at = self.shape.aligned(self.end);
        let end = at + bytes;
        let pages = u64::from(self.shape.pages);
        while !self.ahead.is_empty()
            && (self.shape.pages_to(end) - self.shape.page_of(self.pointer) > pages
                || self.ahead.len() as u64 == pages)
        {
            self.pass();
        }
        self.ahead.push_back((at, end));
        self.end = end;
        Placed { at, copied_bytes: 0 }
    }

    fn fill(&mut self, bytes: u32) -> Placed {
        while self.ahead.front().is_some_and(|(start, _)| self.pointer + u64::from(bytes) > *start) {
            self.pass();
        }
        let at = self.pointer;
        self.pointer += u64::from(bytes);
        self.end = self.end.max(self.pointer);
        Placed { at, copied_bytes: bytes }
    }
}

impl Packing for Backfill {
    fn place(&mut self, value: Arrival) -> Placed {
        match value {
            Arrival::Dma(bytes) => self.land(u64::from(bytes)),
            Arrival::Piggybacked(bytes) => self.fill(bytes),
        }
    }

    fn end(&self) -> u64 {
        self.end
    }

    fn settled(&self) -> u64 {
        self.pointer
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Policy, oracle, plain};
    use super::*;
    use saker_flash::packing::pack;
    use saker_sim::Seed;

    #[test]
    fn backfill_takes_the_pages_of_an_independent_count() {
        let shape = BufferShape { page_bytes: 16_384, unit_bytes: 4096, pages: 8 };
        for seed in 0..20 {
            let mut rng = Seed(seed).rng();
            let value = |_| match rng.below(3) {
                0 => Arrival::Dma(1 + rng.below(9000) as u32),
                _ => Arrival::Piggybacked(1 + rng.below(127) as u32),
            };
            let values: Vec<_> = (0..2000).map(value).collect();
            let packed = pack(&shape, &mut Backfill::new(shape), values.iter().copied());
            let count = oracle::backfill(&plain(&values), 8);
            assert_eq!((packed.pages, packed.copied_piggybacked), (count.pages, count.copied), "seed {seed}");
            assert_eq!(Some(count), Policy::Backfill.bare(&values, 8));
        }
    }
}
