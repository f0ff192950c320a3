// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocks that a merge takes along as they are in their page, to be decoded where it is computed.
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

use super::input::Run;
use super::pairs::{LONG_HEAD, Pairs, open_long};
use super::table::Table;
use crate::ordered::sum::Sum;
use std::ops::Range;
use std::sync::Arc;

/// Blocks of a table that follow each other in a page, or one that crosses pages; not decoded.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// The table.
    pub table: Arc<Table>,
    /// The next of the blocks, and the one behind the last.
    pub blocks: Range<usize>,
    /// Their bytes.
    pub bytes: Vec<u8>,
    /// Where these begin in the table.
    pub base: u32,
    /// Where they end there.
    pub end: u32,
}

impl Stretch {
    /// The entries of one of its blocks, whose bytes are in the run by now. `None`: it is not as it was written.
    pub fn decode(&self, n: usize, run: &mut Run) -> Option<()> {
        let (start, end) = self.table.index.span(n, self.end)?;
        let begin = start.checked_sub(run.base)? as usize;
        let bytes = run.bytes.get(begin..end.checked_sub(run.base)? as usize)?;
        let (table, index) = (self.table.id, n as u32);
        match Pairs::open(bytes, table, index, start) {
            Some(pairs) => (0..pairs.count()).try_for_each(|n| {
                run.entries.push(pairs.get(n)?);
                Some(())
            }),
            None => {
                let (e, checksum, whole) = open_long(bytes.get(..LONG_HEAD)?, table, index, start)?;
                let is_right = Sum::of(bytes.get(4..whole as usize)?) == checksum;
                is_right.then(|| run.entries.push(e))
            }
        }
    }
}
