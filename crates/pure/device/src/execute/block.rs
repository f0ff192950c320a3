// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands of block namespaces.

use super::{Outcome, Reply};
use crate::config::TRANSFER_BYTES_MAX;
use crate::transfer::Pieces;
use saker_flash::NamespaceSegments;
use saker_flash::page_map::{BlockError, PageMap};
use saker_link::DmaSpace;
use saker_nvme::Status;
use saker_nvme::nvm::{BlockRange, DsmRange, NvmCommand};
use saker_segment_store::Step;
use saker_sim::Meter;
use zerocopy::FromBytes;

pub(super) fn block_data_bytes(command: &NvmCommand, block_bytes: u32, blocks: u64) -> Result<u32, Status> {
    match command {
        NvmCommand::Flush => Ok(0),
        NvmCommand::DatasetManagement { ranges, .. } => Ok(ranges * size_of::<DsmRange>() as u32),
        NvmCommand::WriteZeroes { range, .. } => check_range(range, blocks).map(|()| 0),
        NvmCommand::Read { range, .. }
        | NvmCommand::Write { range, .. }
        | NvmCommand::Compare { range, .. } => {
            check_range(range, blocks)?;
            let bytes = range.blocks.checked_mul(block_bytes).filter(|b| *b <= TRANSFER_BYTES_MAX);
            bytes.ok_or(Status::INVALID_FIELD)
        }
        NvmCommand::Copy(_) | NvmCommand::Verify { .. } => unreachable!("their data stays in the device"),
    }
}

/// 80h unless the range lies in a namespace of `blocks` blocks.
pub(super) fn check_range(range: &BlockRange, blocks: u64) -> Result<(), Status> {
    let end = range.slba.checked_add(u64::from(range.blocks));
    if end.is_some_and(|end| end <= blocks) { Ok(()) } else { Err(Status::LBA_OUT_OF_RANGE) }
}

/// The one table from block errors to NVM status.
pub fn block_status(e: BlockError) -> Status {
    match e {
        BlockError::OutOfRange => Status::LBA_OUT_OF_RANGE,
        BlockError::Unrecovered(_) | BlockError::Corrupt => Status::UNRECOVERED_READ_ERROR,
        BlockError::Transfer => Status::DATA_TRANSFER_ERROR,
    }
}

/// What comes of a step of the map; a success brings `bytes_out` bytes to the host.
pub(super) fn done(step: Step<Result<(), BlockError>>, bytes_out: u32) -> Outcome {
    match step {
        Step::Done(Ok(())) => Outcome::Done(Reply { bytes_out, ..Reply::status(Status::SUCCESS) }),
        Step::Done(Err(e)) => Outcome::Done(Reply::status(block_status(e))),
        Step::Need(reads) => Outcome::Need(reads),
        Step::Blocked(stall) => Outcome::Blocked(stall),
    }
}

/// A write that succeeded is complete when a Flush would be, if its command says so.
pub(super) fn forced(
    outcome: Outcome,
    force_unit_access: bool,
    map: &mut PageMap,
    m: &mut NamespaceSegments<'_>,
) -> Outcome {
    match outcome {
        Outcome::Done(r) if force_unit_access && r.status.is_success() => {
            Outcome::Done(Reply { flush: Some(map.flush(m)), ..r })
        }
        other => other,
    }
}

pub(super) fn block<W: Meter>(
    command: &mut NvmCommand,
    pieces: &Pieces,
    map: &mut PageMap,
    space: &DmaSpace,
    m: &mut NamespaceSegments<'_>,
    w: &mut W,
) -> Outcome {
    let block_bytes = map.config().block_bytes;
    match command {
        NvmCommand::Flush => {
            Outcome::Done(Reply { flush: Some(map.flush(m)), ..Reply::status(Status::SUCCESS) })
        }
        NvmCommand::Write { range, force_unit_access } => {
            let total = pieces.bytes() / block_bytes;
            let fill = |n: u32, out: &mut [u8]| {
                pieces.read(space, n * block_bytes, out).map_err(|_| BlockError::Transfer)
            };
            let written = done(write_blocks(range, total, fill, map, m, w), 0);
            forced(written, *force_unit_access, map, m)
        }
        NvmCommand::Read { range, .. } => {
            let zeros = vec![0; block_bytes as usize];
            let deliver = |n: u32, bytes: Option<&[u8]>| {
                let bytes = bytes.unwrap_or(&zeros);
                pieces.write(space, n * block_bytes, bytes).map_err(|_| BlockError::Transfer)
            };
            done(map.read(range.slba, range.blocks, deliver, m, w), range.blocks * block_bytes)
        }
        NvmCommand::Compare { range, .. } => compare(range, pieces, map, space, m, w),
        NvmCommand::WriteZeroes { range, force_unit_access, .. } => {
            // Deallocated blocks read as zeros, so DEAC changes nothing; one record of the log has them all or none.
            let zeroed = map.deallocate(&[(range.slba, u64::from(range.blocks))], m, w);
            forced(done(zeroed, 0), *force_unit_access, map, m)
        }
        NvmCommand::DatasetManagement { ranges, deallocate } => {
            let mut bytes = vec![0; *ranges as usize * size_of::<DsmRange>()];
            if pieces.read(space, 0, &mut bytes).is_err() {
                return Outcome::Done(Reply::status(Status::DATA_TRANSFER_ERROR));
            }
            if !*deallocate {
                return Outcome::Done(Reply::status(Status::SUCCESS));
            }
            let ranges: Vec<_> = bytes.chunks_exact(size_of::<DsmRange>()).filter_map(dsm_range).collect();
            done(map.deallocate(&ranges, m, w), 0)
        }
        NvmCommand::Copy(_) | NvmCommand::Verify { .. } => unreachable!("their data stays in the device"),
    }
}

/// All blocks are read before a difference is told: what cannot be read is an error, equal or not.
fn compare<W: Meter>(
    range: &BlockRange,
    pieces: &Pieces,
    map: &mut PageMap,
    space: &DmaSpace,
    m: &NamespaceSegments<'_>,
    w: &mut W,
) -> Outcome {
    let block_bytes = map.config().block_bytes;
    let (zeros, mut theirs) = (vec![0; block_bytes as usize], vec![0; block_bytes as usize]);
    let mut differs = false;
    let look = |n: u32, ours: Option<&[u8]>| {
        pieces.read(space, n * block_bytes, &mut theirs).map_err(|_| BlockError::Transfer)?;
        differs |= ours.unwrap_or(&zeros) != theirs;
        Ok(())
    };
    match done(map.read(range.slba, range.blocks, look, m, w), 0) {
        Outcome::Done(r) if r.status.is_success() && differs => {
            Outcome::Done(Reply::status(Status::COMPARE_FAILURE))
        }
        other => other,
    }
}

/// Writes what is left of a range of `total` blocks, as much at once as the page buffer takes; `range` shrinks as blocks are
/// written. So a command may be longer than the page buffer, and none is atomic beyond a block (NVM command set, AWUN). `fill`
/// gives block `n` of the command.
pub(super) fn write_blocks<W: Meter>(
    range: &mut BlockRange,
    total: u32,
    fill: impl Fn(u32, &mut [u8]) -> Result<(), BlockError>,
    map: &mut PageMap,
    m: &mut NamespaceSegments<'_>,
    w: &mut W,
) -> Step<Result<(), BlockError>> {
    while range.blocks > 0 {
        let (done, part) = (total - range.blocks, range.blocks.min(map.blocks_at_once(m)));
        match map.write(range.slba, part, |n, out| fill(done + n, out), m, w) {
            Step::Done(Ok(())) => {}
            other => return other,
        }
        *range = BlockRange { slba: range.slba + u64::from(part), blocks: range.blocks - part };
    }
    Step::Done(Ok(()))
}

fn dsm_range(bytes: &[u8]) -> Option<(u64, u64)> {
    let range = DsmRange::read_from_bytes(bytes).ok()?;
    Some((range.slba.get(), u64::from(range.blocks.get())))
}
