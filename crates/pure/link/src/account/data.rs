// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bytes of data in one direction, and how many aligned units they touched.

use std::ops::{Add, Sub};

/// log2 of the smallest unit: a cache line.
const FIRST: u32 = 6;
/// Unit sizes 64, 128, ... 4096.
const SIZES: usize = 7;
/// The largest unit, and the page of a PRP.
const PAGE: u64 = 1 << (FIRST as usize + SIZES - 1);

/// Transfers in one direction: their exact bytes, and the number of aligned power-of-two units (64 to 4096 bytes) they
/// touched, from which lines and packets of any size follow afterwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Data {
    bytes: u64,
    pages: u64,
    touched: [u64; SIZES],
}

impl Data {
    /// Whole, aligned pages, as PRPs move them.
    #[inline]
    pub fn add_pages(&mut self, pages: u64) {
        self.pages += pages;
    }

    /// A transfer of exactly `bytes` bytes at `address`.
    #[inline]
    pub fn add_exact(&mut self, address: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.bytes += bytes;
        // Only the place in the largest unit counts, and any 64-bit address may come.
        let address = address % PAGE;
        let last = address + (bytes - 1);
        for (n, touched) in self.touched.iter_mut().enumerate() {
            let shift = FIRST + n as u32;
            *touched += (last >> shift) - (address >> shift) + 1;
        }
    }

    /// Bytes moved.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes + self.pages * PAGE
    }

    /// Aligned units of `size` bytes that were touched. `size` counts as the next power of two between 64 and 4096.
    #[must_use]
    pub fn units(&self, size: u64) -> u64 {
        let size = size.clamp(1 << FIRST, PAGE).next_power_of_two();
        let n = (size.trailing_zeros() - FIRST) as usize;
        self.pages * (PAGE / size) + self.touched[n]
    }
}

impl Add for Data {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let touched = std::array::from_fn(|n| self.touched[n] + other.touched[n]);
        Self { bytes: self.bytes + other.bytes, pages: self.pages + other.pages, touched }
    }
}

impl Sub for Data {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        let touched = std::array::from_fn(|n| self.touched[n] - other.touched[n]);
        Self { bytes: self.bytes - other.bytes, pages: self.pages - other.pages, touched }
    }
}
