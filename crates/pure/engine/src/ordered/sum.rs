// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The checksum of blocks that have values.
//!
//! A salvage puts a page right that one changed byte explains, by the page's CRC-32C (`docs/damage.md`). A block's CRC-32C would agree
//! with whatever that has guessed, as both are remainders by one polynomial. This sum is not linear, so a value of a page that was put
//! right is vouched for by something else. It takes one multiplication for eight bytes, in four rows that do not wait for each other.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

const ROWS: usize = 4;
const CHUNK: usize = 8 * ROWS;
/// An odd number without a pattern.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
/// Where each row begins: digits of pi.
const BEGIN: [u64; ROWS] =
    [0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7344, 0xA409_3822_299F_31D0, 0x082E_FA98_EC4E_6C89];

/// A sum on its way.
#[derive(Clone, Copy, Debug)]
pub struct Sum {
    rows: [u64; ROWS],
    /// What does not fill a chunk yet.
    open: [u8; CHUNK],
    held: usize,
    bytes: u64,
}

#[inline]
fn mixed(row: u64, word: u64) -> u64 {
    let mixed = (row ^ word).wrapping_mul(FACTOR);
    mixed ^ mixed >> 32
}

#[inline]
fn with_chunk(rows: [u64; ROWS], chunk: &[u8; CHUNK]) -> [u64; ROWS] {
    let words: [[u8; 8]; ROWS] = zerocopy::transmute!(*chunk);
    let ([a, b, c, d], [v, w, x, y]) = (rows, words.map(u64::from_le_bytes));
    [mixed(a, v), mixed(b, w), mixed(c, x), mixed(d, y)]
}

impl Sum {
    /// Of nothing.
    pub fn new() -> Self {
        Self { rows: BEGIN, open: [0; CHUNK], held: 0, bytes: 0 }
    }

    /// The sum of bytes.
    pub fn of(bytes: &[u8]) -> u32 {
        let mut sum = Self::new();
        sum.update(bytes);
        sum.finish()
    }

    /// With more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let mut rest = bytes;
        if self.held > 0 {
            let (now, behind) = rest.split_at(rest.len().min(CHUNK - self.held));
            self.hold(now);
            rest = behind;
        }
        let (chunks, rest) = rest.as_chunks::<CHUNK>();
        self.rows = chunks.iter().fold(self.rows, with_chunk);
        self.hold(rest);
    }

    /// Bytes that at most fill the open chunk.
    fn hold(&mut self, bytes: &[u8]) {
        if let Some(to) = self.open.get_mut(self.held..self.held + bytes.len()) {
            to.copy_from_slice(bytes);
        }
        self.held += bytes.len();
        if self.held == CHUNK {
            (self.rows, self.held) = (with_chunk(self.rows, &self.open), 0);
        }
    }

    /// The sum.
    pub fn finish(mut self) -> u32 {
        if self.held > 0 {
            let zeros = [0; CHUNK];
            self.hold(zeros.get(self.held..).unwrap_or_default());
        }
        let last = self.rows.iter().fold(self.bytes, |sum, row| mixed(sum, *row));
        (last.wrapping_mul(FACTOR) >> 32) as u32
    }
}

#[cfg(test)]
mod tests;
