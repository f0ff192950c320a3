// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where a value goes in the value log, and what is copied for it (BandSlim, ICPP'24, section 3.3).
//!
//! A DMA engine writes to addresses that are aligned to memory pages. A value that comes by DMA is copied by a core, or stays
//! where it lands: its record then begins so that the value is aligned, and leaves a gap behind the record before it. A
//! policy decides; the engine does what it decides, and keeps the gaps that can still be filled ([`Gaps`]). Records of collections,
//! deletes and groups are packed whatever the policy.

mod all;
mod auto;
mod auto_time;
mod backfill;
mod block;
mod dlt;
mod gaps;
mod selective;

pub use dlt::DltEntry;
pub use gaps::{Gaps, OpenGap};

/// Bytes of a memory page: the unit of DMA.
pub const UNIT_BYTES: u32 = 4096;
/// A price of programming is one of so many bytes.
pub const PRICED_BYTES: u32 = 1024;
/// Part of the log that may be gaps.
const GAP_PART: u64 = 64;
const _: () = assert!(100 / GAP_PART < 2);

/// The unit of DMA where NAND pages have so many bytes, in bytes.
#[inline]
pub fn dma_unit(page_bytes: u32) -> u64 {
    u64::from(UNIT_BYTES.min(page_bytes))
}

/// A packing policy. Without one, DMA reaches any byte: values are packed and nothing that comes by DMA is copied.
///
/// ```
/// use saker_value_log::packing::Packing;
/// assert_eq!(Packing::named("auto-time"), Some(Packing::AutoTime));
/// assert!(Packing::Backfill.fills_gaps() && !Packing::Selective.fills_gaps());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Every value begins at a memory page, and none that fits one straddles NAND pages (section 2.3).
    Block,
    /// Every value follows the one before it (section 3.3.1).
    All,
    /// Values that come by DMA stay where they land (section 3.3.2).
    Selective,
    /// The same, and others fill the gaps (section 3.3.3).
    Backfill,
    /// Our own: values stay where they land as long as others fill the gaps.
    Auto,
    /// The same for time: they also stay where programming the gap costs less than their copy.
    AutoTime,
}

impl Packing {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Block, Self::All, Self::Selective, Self::Backfill, Self::Auto, Self::AutoTime];

    /// Its name for users.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::All => "all",
            Self::Selective => "selective",
            Self::Backfill => "backfill",
            Self::Auto => "auto",
            Self::AutoTime => "auto-time",
        }
    }

    /// The policy of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|packing| packing.name() == name)
    }

    /// Whether values that do not come by DMA fill gaps.
    pub fn fills_gaps(self) -> bool {
        matches!(self, Self::Backfill | Self::Auto | Self::AutoTime)
    }

    /// Finds a place at the end of the log.
    pub fn place(self, value: &Arriving, end: &End) -> Placement {
        if value.bytes == 0 {
            return Placement::Packed;
        }
        match self {
            Self::Block => block::place(value, end),
            Self::All => all::place(),
            Self::Selective => selective::place(value, end),
            Self::Backfill => backfill::place(value, end),
            Self::Auto => auto::place(value, end),
            Self::AutoTime => auto_time::place(value, end),
        }
    }
}

/// A value that is to be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arriving {
    /// Its length in bytes.
    pub bytes: u32,
    /// Bytes of its record before it, a multiple of 8.
    pub head_bytes: u32,
    /// Whether it comes by DMA, wholly or in part.
    pub by_dma: bool,
}

/// The end of the value log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Its position, within its segment at least.
    pub at: u64,
    /// Bytes of a NAND page.
    pub page_bytes: u32,
    /// Bytes of gaps that can still be filled.
    pub open_bytes: u64,
    /// Bytes that were ever appended, gaps included.
    pub appended_bytes: u64,
    /// Bytes of them in gaps that nothing fills, open ones included.
    pub gap_bytes: u64,
    /// Bytes of values that were not copied because they landed.
    pub spared_bytes: u64,
    /// How far the log may go before a gap is given up.
    pub buffer_end: u64,
    /// Bytes that a core copies while [`PRICED_BYTES`] are programmed.
    pub program_price: u32,
    /// Whether programs do not keep up: half of the page buffer or more is on its way to the flash. Until then nobody waits for a page.
    pub is_behind: bool,
}

impl End {
    /// The first place for a value where DMA can put it, behind its head.
    pub fn aligned(&self, value: &Arriving) -> u64 {
        (self.at + u64::from(value.head_bytes)).next_multiple_of(self.unit())
    }

    /// Bytes between the end and a record whose value is there.
    pub fn gap(&self, value: &Arriving, value_at: u64) -> u64 {
        value_at - u64::from(value.head_bytes) - self.at
    }

    /// Whether a gap before a value may count on others to fill it. The buffer has to hold all open gaps, these come to no more than
    /// a page, and the past has to bear it out: gaps that stayed empty are a small part of the log, and to program them took at
    /// most half of the time that copies were spared. One page of gaps is free, to find out.
    fn may_be_filled(&self, value: &Arriving, value_at: u64, gap: u64) -> bool {
        let (page, unfilled) = (u64::from(self.page_bytes), self.gap_bytes + gap);
        let fits = value_at + u64::from(value.bytes) <= self.buffer_end;
        let is_little = unfilled <= self.appended_bytes / GAP_PART + page;
        let spared = self.spared_bytes + u64::from(value.bytes);
        let has_paid = 2 * self.program_time(unfilled.saturating_sub(page)) <= self.copy_time(spared);
        fits && is_little && has_paid && self.open_bytes + gap <= page
    }

    /// Time of programming bytes, in the unit of [`Self::copy_time`].
    fn program_time(&self, bytes: u64) -> u128 {
        u128::from(bytes) * u128::from(self.program_price)
    }

    fn copy_time(&self, bytes: u64) -> u128 {
        u128::from(bytes) * u128::from(PRICED_BYTES)
    }

    /// Bytes of the unit of DMA.
    fn unit(&self) -> u64 {
        dma_unit(self.page_bytes)
    }
}

/// Where a value goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Its record follows the last one.
    Packed,
    /// DMA puts the value there.
    Landed {
        /// Its position.
        value_at: u64,
        /// Whether others may fill the gap before its record.
        stays_open: bool,
    },
}

#[cfg(test)]
mod tests;
