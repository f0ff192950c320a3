// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The NVM command set, CSI 00h, as far as the block namespaces need it (NVM, section 3).

mod copy;

pub use copy::{CopyCommand, CopyRange, copy};

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::NSID_ALL;
use crate::bits::{field, flag};
use crate::sqe::{PointerRule, Sqe};
use crate::status::Status;

/// Opcodes of the NVM command set (NVM, Figure "Opcodes for NVM Commands").
pub mod opcode {
    /// Flush, of the base specification: no data.
    pub const FLUSH: u8 = 0x00;
    /// Write: data from the host.
    pub const WRITE: u8 = 0x01;
    /// Read: data to the host.
    pub const READ: u8 = 0x02;
    /// Compare: data from the host.
    pub const COMPARE: u8 = 0x05;
    /// Write Zeroes: no data.
    pub const WRITE_ZEROES: u8 = 0x08;
    /// Dataset Management: ranges from the host.
    pub const DATASET_MANAGEMENT: u8 = 0x09;
    /// Verify: no data.
    pub const VERIFY: u8 = 0x0C;
    /// Copy: source ranges from the host.
    pub const COPY: u8 = 0x19;
}

/// Logical blocks of a command that names one range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockRange {
    /// SLBA, CDW10-11: the first logical block.
    pub slba: u64,
    /// Number of logical blocks, 1 to 65,536 (NLB, CDW12 bits 15:0, is one less).
    pub blocks: u32,
}

/// A decoded I/O command of a block namespace. Protection information and hints are ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NvmCommand {
    /// Make what was acknowledged non-volatile.
    Flush,
    /// Write logical blocks.
    Write {
        /// The blocks.
        range: BlockRange,
        /// FUA, CDW12 bit 30: non-volatile before the completion.
        force_unit_access: bool,
    },
    /// Read logical blocks.
    Read {
        /// The blocks.
        range: BlockRange,
        /// FUA, CDW12 bit 30.
        force_unit_access: bool,
    },
    /// Compare logical blocks with data of the host.
    Compare {
        /// The blocks.
        range: BlockRange,
        /// FUA, CDW12 bit 30.
        force_unit_access: bool,
    },
    /// Make logical blocks zeros.
    WriteZeroes {
        /// The blocks.
        range: BlockRange,
        /// FUA, CDW12 bit 30: non-volatile before the completion.
        force_unit_access: bool,
        /// DEAC, CDW12 bit 25: the host asks for the blocks to be deallocated.
        deallocate: bool,
    },
    /// Read logical blocks without giving them to the host, to see whether they can be read.
    Verify {
        /// The blocks.
        range: BlockRange,
        /// FUA, CDW12 bit 30.
        force_unit_access: bool,
    },
    /// Copy logical blocks.
    Copy(CopyCommand),
    /// Dataset Management.
    DatasetManagement {
        /// Number of [`DsmRange`]s in the data, 1 to 256 (NR, CDW10 bits 7:0, is one less).
        ranges: u32,
        /// AD, CDW11 bit 2: the host no longer needs the ranges. Without it the ranges are only hints.
        deallocate: bool,
    },
}

impl NvmCommand {
    /// Decodes an entry with PRP data pointers.
    ///
    /// # Errors
    /// The status to complete the command with: 01h for an unknown opcode; 02h for fused commands, for data pointers
    /// not admitted, and for NSID FFFFFFFFh except with Flush.
    #[inline]
    pub fn decode(sqe: &Sqe) -> Result<Self, Status> {
        Self::decode_with(sqe, PointerRule::Prp)
    }

    /// [`NvmCommand::decode`] for a transport that admits other data pointers.
    #[inline]
    pub fn decode_with(sqe: &Sqe, rule: PointerRule) -> Result<Self, Status> {
        let fua = flag(sqe.cdw12.get(), FUA_BIT);
        let command = match sqe.opcode {
            opcode::FLUSH => Self::Flush,
            opcode::WRITE => Self::Write { range: range_of(sqe), force_unit_access: fua },
            opcode::READ => Self::Read { range: range_of(sqe), force_unit_access: fua },
            opcode::COMPARE => Self::Compare { range: range_of(sqe), force_unit_access: fua },
            opcode::WRITE_ZEROES => Self::WriteZeroes {
                range: range_of(sqe),
                force_unit_access: fua,
                deallocate: flag(sqe.cdw12.get(), DEAC_BIT),
            },
            opcode::VERIFY => Self::Verify { range: range_of(sqe), force_unit_access: fua },
            opcode::COPY => Self::Copy(CopyCommand::decode(sqe)),
            opcode::DATASET_MANAGEMENT => Self::DatasetManagement {
                ranges: field(sqe.cdw10.get(), 0, 8) + 1,
                deallocate: flag(sqe.cdw11.get(), DEALLOCATE_BIT),
            },
            _ => return Err(Status::INVALID_OPCODE),
        };
        sqe.check_flags(rule)?;
        if sqe.nsid.get() == NSID_ALL && command != Self::Flush {
            return Err(Status::INVALID_FIELD);
        }
        Ok(command)
    }
}

const FUA_BIT: u32 = 30;
const DEAC_BIT: u32 = 25;
const DEALLOCATE_BIT: u32 = 2;

#[inline]
const fn range_of(sqe: &Sqe) -> BlockRange {
    BlockRange {
        slba: sqe.cdw10.get() as u64 | (sqe.cdw11.get() as u64) << 32,
        blocks: field(sqe.cdw12.get(), 0, 16) + 1,
    }
}

/// A count of blocks or ranges that the command cannot carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a command carries 1 to {max}, not {count}")]
pub struct CountError {
    /// What was asked for.
    pub count: u32,
    /// The most that fits.
    pub max: u32,
}

const fn zeroes_based(count: u32, max: u32) -> Result<u32, CountError> {
    if count == 0 || count > max { Err(CountError { count, max }) } else { Ok(count - 1) }
}

#[inline]
fn transfer(opcode: u8, nsid: u32, range: BlockRange, force_unit_access: bool) -> Result<Sqe, CountError> {
    let nlb = zeroes_based(range.blocks, 1 << 16)?;
    let mut sqe = Sqe::new(opcode, nsid);
    sqe.cdw10 = U32::new(range.slba as u32);
    sqe.cdw11 = U32::new((range.slba >> 32) as u32);
    sqe.cdw12 = U32::new(nlb | u32::from(force_unit_access) << FUA_BIT);
    Ok(sqe)
}

/// Write `range`; an error unless it has 1 to 65,536 blocks.
#[inline]
pub fn write(nsid: u32, range: BlockRange, force_unit_access: bool) -> Result<Sqe, CountError> {
    transfer(opcode::WRITE, nsid, range, force_unit_access)
}

/// Read `range`; an error unless it has 1 to 65,536 blocks.
#[inline]
pub fn read(nsid: u32, range: BlockRange, force_unit_access: bool) -> Result<Sqe, CountError> {
    transfer(opcode::READ, nsid, range, force_unit_access)
}

/// Compare `range` with the data; an error unless it has 1 to 65,536 blocks.
#[inline]
pub fn compare(nsid: u32, range: BlockRange, force_unit_access: bool) -> Result<Sqe, CountError> {
    transfer(opcode::COMPARE, nsid, range, force_unit_access)
}

/// Verify `range`; an error unless it has 1 to 65,536 blocks.
#[inline]
pub fn verify(nsid: u32, range: BlockRange) -> Result<Sqe, CountError> {
    transfer(opcode::VERIFY, nsid, range, false)
}

/// Make `range` zeros; an error unless it has 1 to 65,536 blocks.
#[inline]
pub fn write_zeroes(
    nsid: u32,
    range: BlockRange,
    force_unit_access: bool,
    deallocate: bool,
) -> Result<Sqe, CountError> {
    let mut sqe = transfer(opcode::WRITE_ZEROES, nsid, range, force_unit_access)?;
    sqe.cdw12 |= u32::from(deallocate) << DEAC_BIT;
    Ok(sqe)
}

/// Flush a namespace, or all with [`NSID_ALL`].
#[inline]
#[must_use]
pub const fn flush(nsid: u32) -> Sqe {
    Sqe::new(opcode::FLUSH, nsid)
}

/// Deallocate the `ranges` [`DsmRange`]s of the data; an error unless there are 1 to 256.
pub fn deallocate(nsid: u32, ranges: u32) -> Result<Sqe, CountError> {
    let mut sqe = Sqe::new(opcode::DATASET_MANAGEMENT, nsid);
    sqe.cdw10 = U32::new(zeroes_based(ranges, 256)?);
    sqe.cdw11 = U32::new(1 << DEALLOCATE_BIT);
    Ok(sqe)
}

/// A range of Dataset Management: 16 bytes, in the layout of the wire (NVM, Figure "Range Definition").
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct DsmRange {
    /// Context attributes: hints.
    pub attributes: U32,
    /// Length in logical blocks; not 0's based.
    pub blocks: U32,
    /// The first logical block.
    pub slba: U64,
}

layout!(DsmRange, 16, attributes @ 0, blocks @ 4, slba @ 8);

impl DsmRange {
    /// A range without hints.
    #[inline]
    #[must_use]
    pub const fn new(slba: u64, blocks: u32) -> Self {
        Self { attributes: U32::ZERO, blocks: U32::new(blocks), slba: U64::new(slba) }
    }
}
