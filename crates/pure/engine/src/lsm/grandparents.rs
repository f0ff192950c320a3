// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where a table must end so that merging it down will not be too much: what it meets in the level below it
//! (`CompactionOutputs::UpdateGrandparentBoundaryInfo`, `ShouldStopBefore`; facebook/rocksdb v11.8.1,
//! `db/compaction/compaction_outputs.cc` lines 133 to 233 and 303 to 311).

use super::table::Table;
use crate::ordered::key::Key;
use std::sync::Arc;

/// Tables of the level below the one that a merge writes, and how much of them its open table has met.
#[derive(Clone, Debug, Default)]
pub struct Grandparents {
    /// First and last key and bytes of each, in order.
    tables: Vec<(Key, Key, u64)>,
    /// The one that the last key is in, or the next one behind it.
    at: usize,
    /// Whether the last key is in it.
    is_inside: bool,
    /// Bytes of those that the open table meets.
    met: u64,
}

impl Grandparents {
    /// Those tables, in order.
    pub fn new(tables: &[Arc<Table>], page_bytes: u64) -> Self {
        let tables = tables.iter().map(|t| (t.first, t.last, t.pages_total() * page_bytes)).collect();
        Self { tables, ..Self::default() }
    }

    /// The merge comes to a key, which no earlier one is behind. What the open table would meet with it, if the key lies behind a beginning
    /// or an end of one of them that the key before it did not lie behind.
    pub fn come_to(&mut self, key: &Key) -> Option<u64> {
        let mut is_crossed = false;
        while let Some((first, last, bytes)) = self.tables.get(self.at) {
            if !self.is_inside {
                if key < first {
                    break;
                }
                (self.met, self.is_inside) = (self.met + bytes, true);
            } else {
                if key <= last {
                    break;
                }
                (self.at, self.is_inside) = (self.at + 1, false);
            }
            is_crossed = true;
        }
        is_crossed.then_some(self.met)
    }

    /// A table begins with the key that the merge came to.
    pub fn begin(&mut self) {
        let here = self.tables.get(self.at).filter(|_| self.is_inside);
        self.met = here.map_or(0, |(.., bytes)| *bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u32) -> Key {
        Key::new(&n.to_be_bytes()).unwrap()
    }

    #[test]
    fn what_a_table_meets_is_told_where_it_changes() {
        let tables = [(10, 19, 100), (20, 29, 10), (40, 40, 1)];
        let tables = tables.map(|(first, last, bytes)| (key(first), key(last), bytes)).to_vec();
        let mut below = Grandparents { tables, ..Grandparents::default() };
        // Before them, at the first of one, in it, in the next one, between them, behind a short one.
        let met = [5, 10, 15, 19, 21, 30, 35, 50, 60].map(|n| below.come_to(&key(n)));
        let expected = [None, Some(100), None, None, Some(110), Some(110), None, Some(111), None];
        assert_eq!(met, expected);
    }

    #[test]
    fn a_table_meets_what_its_first_key_is_in() {
        let tables = vec![(key(10), key(19), 100), (key(20), key(29), 10)];
        let mut below = Grandparents { tables, ..Grandparents::default() };
        assert_eq!(below.come_to(&key(12)), Some(100));
        below.begin();
        assert_eq!(below.met, 100);
        assert_eq!(below.come_to(&key(25)), Some(110));
        below.begin();
        assert_eq!((below.met, below.come_to(&key(26))), (10, None));
        assert_eq!(below.come_to(&key(30)), Some(10));
        below.begin();
        assert_eq!(below.met, 0);
    }
}
