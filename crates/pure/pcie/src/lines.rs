// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stores of a driver's processor to memory behind a BAR. A bus with write combining delivers whole lines; one without delivers a
//! line in words, in ascending order. A line goes on once it is whole.

use saker_link::{BarBuffer, LINE_BYTES, REGION_BYTES};

const LINE: usize = LINE_BYTES as usize;

/// The line that is being stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    line: [u8; LINE],
    /// Where the next byte is due; nothing before a line has begun.
    next: u64,
    held: usize,
}

impl Default for Lines {
    fn default() -> Self {
        Self { line: [0; LINE], next: 0, held: 0 }
    }
}

impl Lines {
    /// Bytes are stored at an offset of BAR 2, within it. A line that another one interrupts is lost.
    pub fn store(&mut self, bar: &BarBuffer, mut offset: u64, mut from: &[u8]) {
        while !from.is_empty() {
            let begins = offset.is_multiple_of(LINE as u64);
            if begins {
                self.held = 0;
            } else if self.held == 0 || self.next != offset {
                // No line that has begun: up to the next one nothing is taken.
                let skip = LINE - (offset % LINE as u64) as usize;
                let Some(rest) = from.get(skip..) else { return };
                (offset, from, self.held) = (offset + skip as u64, rest, 0);
                continue;
            }
            let (part, rest) = from.split_at(from.len().min(LINE - self.held));
            self.line[self.held..self.held + part.len()].copy_from_slice(part);
            self.held += part.len();
            (offset, from) = (offset + part.len() as u64, rest);
            self.next = offset;
            if self.held == LINE {
                self.held = 0;
                let start = offset - LINE as u64;
                let (queue, at) = (start / u64::from(REGION_BYTES) + 1, start % u64::from(REGION_BYTES));
                // A queue without a region has nothing that could be stored.
                let _ = bar.store(queue as u16, at as u32, &self.line);
            }
        }
    }
}
