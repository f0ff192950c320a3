// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocks of tables, of whatever kind.
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

use super::pairs::Pairs;
use crate::ordered::block::Block;
use crate::ordered::key::{Entry, Key};
use crate::ordered::search::Share;

/// A block that is as it was written.
#[derive(Clone, Copy)]
pub enum DataBlock<'a> {
    /// Entries of one length.
    Entries(Block<'a>),
    /// Pairs with values among them.
    Pairs(Pairs<'a>),
    /// One pair that crosses pages, and the bytes of the block.
    Long(Entry, u32),
}

impl<'a> DataBlock<'a> {
    /// Number of entries.
    #[inline]
    pub fn count(&self) -> usize {
        match self {
            Self::Entries(block) => block.count(),
            Self::Pairs(block) => block.count(),
            Self::Long(..) => 1,
        }
    }

    /// An entry.
    #[inline]
    pub fn get(&self, n: usize) -> Option<Entry> {
        match self {
            Self::Entries(block) => block.get(n),
            Self::Pairs(block) => block.get(n),
            Self::Long(e, _) => (n == 0).then_some(*e),
        }
    }

    /// The value beside the key of one of its entries, if it is at hand in one piece.
    #[inline]
    pub fn value(&self, e: &Entry) -> &'a [u8] {
        match self {
            Self::Pairs(block) => block.value(e),
            Self::Entries(_) | Self::Long(..) => &[],
        }
    }

    /// The first entry that is not before `key` at `version`.
    #[inline]
    pub fn lower_bound(&self, key: &Key, version: u64) -> usize {
        match self {
            Self::Entries(block) => block.lower_bound(key, version),
            Self::Pairs(block) => block.lower_bound(key, version),
            Self::Long(e, _) => usize::from((e.key, version) < (*key, e.version)),
        }
    }

    /// The same, which is likely to be near such a share of the entries.
    #[inline]
    pub fn lower_bound_near(&self, key: &Key, version: u64, share: Share) -> usize {
        match self {
            Self::Entries(block) => block.lower_bound_near(key, version, share),
            Self::Pairs(block) => block.lower_bound_near(key, version, share),
            Self::Long(..) => self.lower_bound(key, version),
        }
    }

    /// Bytes that its checksum covers.
    pub fn checked_bytes(&self, slot_bytes: u32) -> u64 {
        match self {
            Self::Entries(_) => u64::from(slot_bytes),
            Self::Pairs(block) => block.bytes() as u64,
            Self::Long(_, bytes) => u64::from(*bytes),
        }
    }
}
