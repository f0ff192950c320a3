// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands of block namespaces whose data stays in the device: Verify and Copy.

mod copy;

use super::block::{check_range, done};
use super::{Outcome, Timing};
use crate::transfer::Pieces;
use copy::CopyRequest;
use saker_flash::NamespaceSegments;
use saker_flash::page_map::PageMap;
use saker_link::{DmaSpace, Sqe};
use saker_nvme::Status;
use saker_nvme::nvm::{BlockRange, NvmCommand};
use saker_profile::TimedOp;
use saker_segment_store::Step;
use saker_sim::Meter;

/// Blocks that a Verify looks at in one step: each needs its page, and pages of a step are in memory together.
const VERIFIED_AT_ONCE: u32 = 64;

/// A command, and how far it is.
#[derive(Clone, Debug)]
pub enum Inner {
    /// Blocks that are left to read, of so many bytes in all.
    Verify(BlockRange, u64),
    /// Blocks to copy.
    Copy(CopyRequest),
}

impl Inner {
    /// A command for a namespace of so many blocks of so many bytes, if it is one whose data stays in the device.
    ///
    /// # Errors
    /// The status to complete the command with.
    pub fn decode(
        command: &NvmCommand,
        sqe: &Sqe,
        (block_bytes, blocks): (u32, u64),
        space: &DmaSpace,
    ) -> Result<Option<Self>, Status> {
        match command {
            NvmCommand::Verify { range, .. } => {
                check_range(range, blocks)?;
                Ok(Some(Self::Verify(*range, u64::from(range.blocks) * u64::from(block_bytes))))
            }
            NvmCommand::Copy(copy) => {
                CopyRequest::decode(*copy, sqe, block_bytes, space).map(|c| Some(Self::Copy(c)))
            }
            _ => Ok(None),
        }
    }

    /// Whether it changes what is stored.
    pub const fn is_write(&self) -> bool {
        matches!(self, Self::Copy(_))
    }

    /// Where the source ranges of a Copy are.
    pub const fn pieces(&self) -> &Pieces {
        match self {
            Self::Verify(..) => &Pieces::NONE,
            Self::Copy(copy) => copy.pieces(),
        }
    }

    /// What a latency table looks at: a Verify is a Read of its blocks, a Copy a Write.
    pub fn timing(&self, space: &DmaSpace) -> Timing {
        match self {
            Self::Verify(_, bytes) => {
                Timing::Single(TimedOp::BlockRead, 0, u32::try_from(*bytes).unwrap_or(u32::MAX))
            }
            Self::Copy(copy) => Timing::Single(TimedOp::BlockWrite, 0, copy.bytes_told(space)),
        }
    }

    /// Goes on with it.
    pub fn execute<W: Meter>(
        &mut self,
        map: &mut PageMap,
        space: &DmaSpace,
        m: &mut NamespaceSegments<'_>,
        w: &mut W,
    ) -> Outcome {
        match self {
            Self::Verify(range, _) => done(verify(range, map, m, w), 0),
            Self::Copy(copy) => copy.execute(map, space, m, w),
        }
    }
}

/// Reads what is left of a range, and checks it; `range` shrinks.
fn verify<W: Meter>(
    range: &mut BlockRange,
    map: &mut PageMap,
    m: &NamespaceSegments<'_>,
    w: &mut W,
) -> Step<Result<(), saker_flash::page_map::BlockError>> {
    while range.blocks > 0 {
        let part = range.blocks.min(VERIFIED_AT_ONCE);
        match map.read(range.slba, part, |_, _| Ok(()), m, w) {
            Step::Done(Ok(())) => {}
            other => return other,
        }
        *range = BlockRange { slba: range.slba + u64::from(part), blocks: range.blocks - part };
    }
    Step::Done(Ok(()))
}
