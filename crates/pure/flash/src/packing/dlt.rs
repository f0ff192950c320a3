//! The DMA Log Table (section 3.3.3): where values lie that the write pointer has not passed.
//!
//! A circular queue of as many entries as the page buffer has. An entry is a word: the page's number in the value log (26
//! bits for 1 TB of 16-KB pages), the memory page within it (2 bits), and the size (32 bits).

use super::BufferShape;

const SIZE_BITS: u32 = 32;
const PAGE_BITS: u32 = 26;

/// A value that DMA put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DltEntry {
    /// Its address in the value log.
    pub at: u64,
    /// Its size in bytes.
    pub bytes: u32,
}

impl DltEntry {
    /// The first address behind it.
    pub fn end(&self) -> u64 {
        self.at + u64::from(self.bytes)
    }
}

/// The table.
#[derive(Clone, Debug)]
pub struct Dlt {
    shape: BufferShape,
    words: Vec<u64>,
    head: usize,
    len: usize,
}

impl Dlt {
    /// An empty table for that buffer.
    pub fn new(shape: BufferShape) -> Self {
        Self { shape, words: vec![0; shape.pages as usize], head: 0, len: 0 }
    }

    fn unit_bits(&self) -> u32 {
        (self.shape.page_bytes / self.shape.unit_bytes).trailing_zeros()
    }

    /// Bits of an entry.
    pub fn entry_bits(&self) -> u32 {
        PAGE_BITS + self.unit_bits() + SIZE_BITS
    }

    /// Whether no entry can be added.
    pub fn is_full(&self) -> bool {
        self.len == self.words.len()
    }

    /// The oldest entry.
    pub fn head(&self) -> Option<DltEntry> {
        (self.len > 0).then(|| self.decode(self.words[self.head]))
    }

    /// The youngest entry grows by bytes right behind it.
    pub fn extend_last(&mut self, bytes: u32) {
        assert!(self.len > 0, "there is an entry to extend");
        let last = (self.head + self.len - 1) % self.words.len();
        self.words[last] += u64::from(bytes);
    }

    /// Adds an entry.
    pub fn push(&mut self, entry: DltEntry) {
        assert!(!self.is_full(), "whoever adds an entry has made room");
        let tail = (self.head + self.len) % self.words.len();
        self.words[tail] = self.encode(entry);
        self.len += 1;
    }

    /// Removes the oldest entry.
    pub fn pop(&mut self) -> Option<DltEntry> {
        let entry = self.head()?;
        self.head = (self.head + 1) % self.words.len();
        self.len -= 1;
        Some(entry)
    }

    fn encode(&self, entry: DltEntry) -> u64 {
        let unit = entry.at / u64::from(self.shape.unit_bytes);
        assert!(unit * u64::from(self.shape.unit_bytes) == entry.at, "DMA writes to aligned addresses");
        assert!(unit >> (PAGE_BITS + self.unit_bits()) == 0, "the value log fits the table's addresses");
        unit << SIZE_BITS | u64::from(entry.bytes)
    }

    fn decode(&self, word: u64) -> DltEntry {
        DltEntry { at: (word >> SIZE_BITS) * u64::from(self.shape.unit_bytes), bytes: word as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sixty_bits_and_the_table_four_kilobytes() {
        let shape = BufferShape { page_bytes: 16_384, unit_bytes: 4096, pages: 512 };
        let mut dlt = Dlt::new(shape);
        assert_eq!(dlt.entry_bits(), 60);
        assert!(dlt.entry_bits() * shape.pages / 8 <= 4096);
        // Page 3, memory page 2, 0x0102 bytes: 14 << 32 with the size below.
        dlt.push(DltEntry { at: 3 * 16_384 + 2 * 4096, bytes: 0x0102 });
        assert_eq!(dlt.words[0], 0x0000_000e_0000_0102);
    }

    #[test]
    fn the_queue_is_circular() {
        let mut dlt = Dlt::new(BufferShape { page_bytes: 8192, unit_bytes: 4096, pages: 2 });
        let entry = |n: u64| DltEntry { at: n * 4096, bytes: n as u32 };
        dlt.push(entry(1));
        dlt.push(entry(2));
        assert!(dlt.is_full());
        assert_eq!((dlt.pop(), dlt.head()), (Some(entry(1)), Some(entry(2))));
        dlt.push(entry(3));
        dlt.extend_last(5);
        assert_eq!((dlt.pop(), dlt.pop()), (Some(entry(2)), Some(DltEntry { at: 3 * 4096, bytes: 8 })));
        assert_eq!((dlt.pop(), dlt.head()), (None, None));
    }
}
