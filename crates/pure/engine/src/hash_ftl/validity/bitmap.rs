// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The grain bitmap: one bit for each grain of the medium (Original, section III).
//!
//! All grains of a pair that is needed are set, so that the bits count what is needed. The paper finds a pair's length by
//! scanning the bitmap to the first valid grain of the next pair; behind a pair whose right neighbour is invalid that gives
//! too much, and between two valid ones it cannot be seen. Lengths are taken from the out-of-band words instead.

use saker_segment_store::{Geometry, PageAddr};

/// The bits.
#[derive(Clone, Debug)]
pub struct GrainBitmap {
    words: Vec<u64>,
    page_grains: u64,
}

impl GrainBitmap {
    /// All clear.
    pub fn new(geometry: &Geometry, grain_bytes: u32) -> Self {
        let page_grains = u64::from(geometry.page_bytes / grain_bytes);
        let bytes = u64::from(geometry.segments) * geometry.segment_bytes();
        Self { words: vec![0; (bitmap_bytes(bytes, grain_bytes) / 8) as usize], page_grains }
    }

    /// Bytes of it.
    pub fn bytes(&self) -> u64 {
        self.words.len() as u64 * 8
    }

    /// Whether a grain is needed.
    #[inline]
    pub fn get(&self, grain: u64) -> bool {
        self.words[(grain / 64) as usize] >> (grain % 64) & 1 == 1
    }

    /// Sets the bits of a record.
    pub fn set(&mut self, grain: u64, grains: u32) {
        for n in grain..grain + u64::from(grains) {
            debug_assert!(!self.get(n), "a grain is given once");
            self.words[(n / 64) as usize] |= 1 << (n % 64);
        }
    }

    /// Clears the bits of a record.
    pub fn clear(&mut self, grain: u64, grains: u32) {
        for n in grain..grain + u64::from(grains) {
            debug_assert!(self.get(n), "what is cleared was set");
            self.words[(n / 64) as usize] &= !(1 << (n % 64));
        }
    }

    /// Whether no grain of a page is set.
    pub fn is_dead(&self, page: PageAddr) -> bool {
        let first = page.0 * self.page_grains;
        !(first..first + self.page_grains).any(|n| self.get(n))
    }
}

/// Bytes of the bitmap of a medium of `bytes` bytes.
pub fn bitmap_bytes(bytes: u64, grain_bytes: u32) -> u64 {
    (bytes / u64::from(grain_bytes)).div_ceil(64) * 8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry() -> Geometry {
        Geometry { page_bytes: 4096, oob_bytes: 128, segment_pages: 4, segments: 2 }
    }

    #[test]
    fn a_pair_between_invalid_ones_keeps_its_own_grains() {
        let mut bits = GrainBitmap::new(&geometry(), 512);
        for (grain, grains) in [(8, 2), (10, 3), (13, 2)] {
            bits.set(grain, grains);
        }
        bits.clear(10, 3);
        let set: Vec<_> = (0..64).filter(|n| bits.get(*n)).collect();
        assert_eq!(set, [8, 9, 13, 14]);
        assert!(!bits.is_dead(PageAddr(1)) && bits.is_dead(PageAddr(0)) && bits.is_dead(PageAddr(2)));
    }

    #[test]
    fn its_size_follows_the_grain() {
        // The paper's 4 TB: 1 GB and 8 GB.
        assert_eq!((bitmap_bytes(4 << 40, 512), bitmap_bytes(4 << 40, 64)), (1 << 30, 8 << 30));
        assert_eq!(GrainBitmap::new(&geometry(), 512).bytes(), bitmap_bytes(32 << 10, 512));
    }
}
