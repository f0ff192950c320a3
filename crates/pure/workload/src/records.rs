// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys and values of the user's own, grouped by size. Whoever reads them has looked at what they are.

mod classes;

pub use classes::SizeClass;

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The value, which may be empty.
    pub value: &'a [u8],
}

/// Records in the order in which they came, in one piece of memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordSet {
    bytes: Vec<u8>,
    /// Where each record's key and value end; the next record begins there.
    ends: Vec<(usize, usize)>,
}

impl RecordSet {
    /// Number of records.
    pub const fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Record `index`; nothing beyond the last.
    pub fn get(&self, index: usize) -> Option<Record<'_>> {
        let (key_end, end) = *self.ends.get(index)?;
        let start = if index == 0 { 0 } else { self.ends[index - 1].1 };
        Some(Record { key: &self.bytes[start..key_end], value: &self.bytes[key_end..end] })
    }

    /// All records in order. A key may come more than once; the last one is what a store ends with.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Record<'_>> {
        (0..self.len()).map(|i| self.get(i).expect("below the length"))
    }

    /// Number of different keys.
    pub fn distinct_keys(&self) -> usize {
        let mut keys: Vec<&[u8]> = self.iter().map(|r| r.key).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.len()
    }

    /// Adds a record behind the others.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ends.push((key_end, self.bytes.len()));
    }
}

#[cfg(test)]
mod tests;
