// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Copy (NVM, section 3.2.2): logical blocks from several ranges to one place.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{BlockRange, CountError, FUA_BIT, opcode, zeroes_based};
use crate::bits::{field, flag};
use crate::sqe::Sqe;

/// A Copy without its source ranges, which are its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopyCommand {
    /// SDLBA, CDW10-11: the first logical block to write.
    pub to: u64,
    /// Number of [`CopyRange`]s in the data, 1 to 256 (NR, CDW12 bits 7:0, is one less).
    pub ranges: u32,
    /// Descriptor format, CDW12 bits 11:8: 0 for [`CopyRange`].
    pub format: u8,
    /// FUA, CDW12 bit 30: non-volatile before the completion.
    pub force_unit_access: bool,
}

impl CopyCommand {
    pub(super) const fn decode(sqe: &Sqe) -> Self {
        let cdw12 = sqe.cdw12.get();
        Self {
            to: sqe.cdw10.get() as u64 | (sqe.cdw11.get() as u64) << 32,
            ranges: field(cdw12, 0, 8) + 1,
            format: field(cdw12, 8, 4) as u8,
            force_unit_access: flag(cdw12, FUA_BIT),
        }
    }
}

/// Copy to `copy.to` from the ranges of the data; an error unless there are 1 to 256.
pub fn copy(nsid: u32, copy: CopyCommand) -> Result<Sqe, CountError> {
    let ranges = zeroes_based(copy.ranges, 256)?;
    let mut sqe = Sqe::new(opcode::COPY, nsid);
    sqe.cdw10 = U32::new(copy.to as u32);
    sqe.cdw11 = U32::new((copy.to >> 32) as u32);
    let format = u32::from(copy.format & 0xF) << 8;
    sqe.cdw12 = U32::new(ranges | format | u32::from(copy.force_unit_access) << FUA_BIT);
    Ok(sqe)
}

/// A source range of format 0: 32 bytes, in the layout of the wire (NVM, Figure "Copy - Source Range Entries Copy
/// Descriptor Format 0h").
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct CopyRange {
    /// Reserved.
    pub reserved_0: [u8; 8],
    /// SLBA: the first logical block.
    pub slba: U64,
    /// NLB: logical blocks, 0's based.
    pub nlb: U16,
    /// Reserved.
    pub reserved_18: [u8; 6],
    /// EILBRT: of protection information.
    pub reference_tag: U32,
    /// ELBATM: of protection information.
    pub application_tag_mask: U16,
    /// ELBAT: of protection information.
    pub application_tag: U16,
}

layout!(
    CopyRange, 32, slba @ 8, nlb @ 16, reserved_18 @ 18, reference_tag @ 24, application_tag_mask @ 28,
    application_tag @ 30,
);

impl CopyRange {
    /// A range without protection information; an error unless it has 1 to 65,536 blocks.
    pub fn new(range: BlockRange) -> Result<Self, CountError> {
        let nlb = zeroes_based(range.blocks, 1 << 16)?;
        Ok(Self { slba: U64::new(range.slba), nlb: U16::new(nlb as u16), ..Self::default() })
    }

    /// The logical blocks.
    #[must_use]
    pub const fn range(&self) -> BlockRange {
        BlockRange { slba: self.slba.get(), blocks: self.nlb.get() as u32 + 1 }
    }
}
