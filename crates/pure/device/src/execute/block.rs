//! Commands of block namespaces.

use super::{Outcome, Reply};
use crate::config::TRANSFER_BYTES_MAX;
use crate::transfer::Pieces;
use saker_flash::page_map::{BlockError, PageMap};
use saker_flash::{Media, NamespaceMedium};
use saker_link::DmaSpace;
use saker_medium::Step;
use saker_nvme::Status;
use saker_nvme::nvm::{BlockRange, DsmRange, NvmCommand};
use saker_sim::Meter;
use zerocopy::FromBytes;

pub(super) fn block_data_bytes(command: &NvmCommand, block_bytes: u32, blocks: u64) -> Result<u32, Status> {
    match command {
        NvmCommand::Flush => Ok(0),
        NvmCommand::DatasetManagement { ranges, .. } => Ok(ranges * size_of::<DsmRange>() as u32),
        NvmCommand::Read { range, .. } | NvmCommand::Write { range, .. } => {
            let end = range.slba.checked_add(u64::from(range.blocks));
            if end.is_none_or(|end| end > blocks) {
                return Err(Status::LBA_OUT_OF_RANGE);
            }
            let bytes = range.blocks.checked_mul(block_bytes).filter(|b| *b <= TRANSFER_BYTES_MAX);
            bytes.ok_or(Status::INVALID_FIELD)
        }
    }
}

/// The one table from block errors to NVM status.
pub fn block_status(e: BlockError) -> Status {
    match e {
        BlockError::OutOfRange => Status::LBA_OUT_OF_RANGE,
        BlockError::Unrecovered(_) | BlockError::Corrupt => Status::UNRECOVERED_READ_ERROR,
        BlockError::Transfer => Status::DATA_TRANSFER_ERROR,
    }
}

pub(super) fn block<M: Media, W: Meter>(
    command: &mut NvmCommand,
    pieces: &Pieces,
    map: &mut PageMap,
    space: &DmaSpace,
    m: &mut NamespaceMedium<'_, M>,
    w: &mut W,
) -> Outcome {
    let block_bytes = map.config().block_bytes;
    let done = |step: Step<Result<(), BlockError>>, bytes_out| match step {
        Step::Done(Ok(())) => Outcome::Done(Reply { bytes_out, ..Reply::status(Status::SUCCESS) }),
        Step::Done(Err(e)) => Outcome::Done(Reply::status(block_status(e))),
        Step::Need(reads) => Outcome::Need(reads),
        Step::Blocked(_) => Outcome::Blocked,
    };
    match command {
        NvmCommand::Flush => {
            Outcome::Done(Reply { flush: Some(map.flush(m)), ..Reply::status(Status::SUCCESS) })
        }
        NvmCommand::Write { range, force_unit_access } => {
            let written = write_blocks(range, pieces, map, space, m, w);
            match done(written, 0) {
                Outcome::Done(r) if *force_unit_access && r.status.is_success() => {
                    Outcome::Done(Reply { flush: Some(map.flush(m)), ..r })
                }
                other => other,
            }
        }
        NvmCommand::Read { range, .. } => {
            let zeros = vec![0; block_bytes as usize];
            let deliver = |n: u32, bytes: Option<&[u8]>| {
                let bytes = bytes.unwrap_or(&zeros);
                pieces.write(space, n * block_bytes, bytes).map_err(|_| BlockError::Transfer)
            };
            done(map.read(range.slba, range.blocks, deliver, m, w), range.blocks * block_bytes)
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
    }
}

/// Writes what is left of a range, as much at once as the ring takes; `range` shrinks as blocks are written. So a command
/// may be longer than the ring, and none is atomic beyond a block (NVM command set, AWUN).
fn write_blocks<M: Media, W: Meter>(
    range: &mut BlockRange,
    pieces: &Pieces,
    map: &mut PageMap,
    space: &DmaSpace,
    m: &mut NamespaceMedium<'_, M>,
    w: &mut W,
) -> Step<Result<(), BlockError>> {
    let block_bytes = map.config().block_bytes;
    let total = pieces.bytes() / block_bytes;
    while range.blocks > 0 {
        let (done, part) = (total - range.blocks, range.blocks.min(map.blocks_at_once(m)));
        let fill = |n: u32, out: &mut [u8]| {
            pieces.read(space, (done + n) * block_bytes, out).map_err(|_| BlockError::Transfer)
        };
        match map.write(range.slba, part, fill, m, w) {
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
