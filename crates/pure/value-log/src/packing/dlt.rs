// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The DMA Log Table (BandSlim, ICPP'24, section 3.3.3): where values lie that the write pointer has not passed.
//!
//! A circular queue of as many entries as the page buffer has, and at most 512. An entry is a word: the page's number in the
//! value log (26 bits, for 1 TB of 16-KB pages), the memory page within it (2 bits of such pages), and the size (32 bits).

use super::dma_unit;
use std::collections::VecDeque;

/// Bits of an entry's size.
const SIZE_BITS: u32 = 32;
/// Bits of a page's number.
const PAGE_BITS: u32 = 26;
/// Entries at most.
const ENTRIES_MAX: usize = 512;

/// A value that DMA put there, and what was appended right behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DltEntry {
    /// Its address in the value log: that of a memory page.
    pub at: u64,
    /// Its size in bytes.
    pub bytes: u32,
}

impl DltEntry {
    /// The first address behind it.
    #[inline]
    pub fn end(&self) -> u64 {
        self.at + u64::from(self.bytes)
    }
}

/// The table.
#[derive(Clone, Debug)]
pub(super) struct Dlt {
    page_bytes: u32,
    unit_bytes: u64,
    entries_max: usize,
    words: VecDeque<u64>,
}

impl Dlt {
    /// An empty table, for a buffer of so many NAND pages of that length.
    pub fn new(page_bytes: u32, buffer_pages: usize) -> Self {
        let entries_max = buffer_pages.clamp(1, ENTRIES_MAX);
        Self { page_bytes, unit_bytes: dma_unit(page_bytes), entries_max, words: VecDeque::new() }
    }

    /// Bits of an entry.
    fn entry_bits(&self) -> u32 {
        self.address_bits() + SIZE_BITS
    }

    fn address_bits(&self) -> u32 {
        let units = u64::from(self.page_bytes) / self.unit_bytes;
        PAGE_BITS + units.trailing_zeros()
    }

    /// Bytes of the table in the device's memory.
    pub fn bytes(&self) -> u64 {
        (self.entries_max as u64 * u64::from(self.entry_bits())).div_ceil(8)
    }

    /// Whether an entry can name that address.
    pub fn reaches(&self, at: u64) -> bool {
        let bits = self.address_bits().min(u64::BITS - SIZE_BITS);
        at.is_multiple_of(self.unit_bytes) && (at / self.unit_bytes) >> bits == 0
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether no entry can be added.
    pub fn is_full(&self) -> bool {
        self.words.len() == self.entries_max
    }

    /// The entries, the oldest first.
    pub fn entries(&self) -> impl Iterator<Item = DltEntry> {
        self.words.iter().map(|word| self.decode(*word))
    }

    /// The youngest entry reaches to `end`: what was appended behind it is no gap.
    pub fn extend_last(&mut self, end: u64) {
        let last = self.words.back().map(|word| self.decode(*word));
        let Some(DltEntry { at, .. }) = last else { return };
        *self.words.back_mut().expect("it is there") = self.encode(DltEntry { at, bytes: (end - at) as u32 });
    }

    /// Adds an entry.
    pub fn push(&mut self, entry: DltEntry) {
        assert!(!self.is_full() && self.reaches(entry.at), "whoever adds an entry has looked");
        self.words.push_back(self.encode(entry));
    }

    /// Removes the oldest entry.
    pub fn pop(&mut self) -> Option<DltEntry> {
        self.words.pop_front().map(|word| self.decode(word))
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.words.clear();
    }

    fn encode(&self, entry: DltEntry) -> u64 {
        (entry.at / self.unit_bytes) << SIZE_BITS | u64::from(entry.bytes)
    }

    fn decode(&self, word: u64) -> DltEntry {
        DltEntry { at: (word >> SIZE_BITS) * self.unit_bytes, bytes: word as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sixty_bits_and_the_table_less_than_four_kilobytes() {
        let mut dlt = Dlt::new(16_384, 512);
        assert_eq!((dlt.entry_bits(), dlt.bytes()), (60, 3840));
        assert_eq!(Dlt::new(16_384, 60_000).bytes(), 3840);
        // Page 3, memory page 2, 0x0102 bytes: 14 << 32 with the size below.
        dlt.push(DltEntry { at: 3 * 16_384 + 2 * 4096, bytes: 0x0102 });
        assert_eq!(dlt.words[0], 0x0000_000e_0000_0102);
    }

    #[test]
    fn it_names_memory_pages_of_one_terabyte() {
        let dlt = Dlt::new(16_384, 512);
        assert!(dlt.reaches((1 << 40) - 4096));
        assert!(!dlt.reaches(1 << 40));
        assert!(!dlt.reaches(4096 + 8));
        let last = DltEntry { at: (1 << 40) - 4096, bytes: u32::MAX };
        assert_eq!(dlt.decode(dlt.encode(last)), last);
    }

    #[test]
    fn the_queue_is_as_long_as_the_buffer() {
        let mut dlt = Dlt::new(8192, 2);
        let entry = |n: u64| DltEntry { at: n * 4096, bytes: n as u32 };
        dlt.push(entry(1));
        assert!(!dlt.is_full());
        dlt.push(entry(2));
        assert!(dlt.is_full());
        assert_eq!(dlt.pop(), Some(entry(1)));
        dlt.push(entry(3));
        dlt.extend_last(3 * 4096 + 8);
        assert_eq!(dlt.entries().collect::<Vec<_>>(), [entry(2), DltEntry { at: 3 * 4096, bytes: 8 }]);
        dlt.clear();
        assert_eq!((dlt.pop(), dlt.is_empty()), (None, true));
    }
}
