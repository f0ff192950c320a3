// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Copy: all sources are read before the first block is written. So ranges may overlap, and a source that cannot be
//! read leaves the destination as it was.

use crate::config::{COPY_BYTES_MAX, COPY_RANGES_MAX};
use crate::execute::block::{check_range, done, forced, write_blocks};
use crate::execute::{Outcome, Reply};
use crate::transfer::Pieces;
use saker_flash::NamespaceSegments;
use saker_flash::page_map::{BlockError, PageMap};
use saker_link::{DmaSpace, Sqe};
use saker_nvme::Status;
use saker_nvme::nvm::{BlockRange, CopyCommand, CopyRange};
use saker_segment_store::Step;
use saker_sim::Meter;
use zerocopy::FromBytes;

/// A Copy, and how far it is.
#[derive(Clone, Debug)]
pub struct CopyRequest {
    command: CopyCommand,
    block_bytes: u32,
    /// Where the source ranges are.
    pieces: Pieces,
    /// The source ranges, once they are fetched; those that are read are taken out from the front.
    sources: Option<Vec<BlockRange>>,
    /// What is read.
    data: Vec<u8>,
    /// What is left to write.
    left: BlockRange,
    blocks: u32,
}

impl CopyRequest {
    /// Resolves where the source ranges are.
    ///
    /// # Errors
    /// 02h for another format than 0, 183h for too many ranges, and what its data pointer is refused with.
    pub fn decode(
        command: CopyCommand,
        sqe: &Sqe,
        block_bytes: u32,
        space: &DmaSpace,
    ) -> Result<Self, Status> {
        if command.format != 0 {
            return Err(Status::INVALID_FIELD);
        }
        if command.ranges > COPY_RANGES_MAX {
            return Err(Status::COMMAND_SIZE_LIMIT_EXCEEDED);
        }
        let pieces = Pieces::of(sqe, command.ranges * size_of::<CopyRange>() as u32, space)?;
        let left = BlockRange { slba: command.to, blocks: 0 };
        Ok(Self { command, block_bytes, pieces, sources: None, data: Vec::new(), left, blocks: 0 })
    }

    /// Where the source ranges are.
    pub const fn pieces(&self) -> &Pieces {
        &self.pieces
    }

    /// Bytes that it copied.
    pub fn bytes(&self) -> u32 {
        self.data.len() as u32
    }

    /// Bytes that its source ranges name, no more than it may copy: for timing alone.
    pub fn bytes_told(&self, space: &DmaSpace) -> u32 {
        let blocks: u64 =
            self.fetch(space).map_or(0, |ranges| ranges.iter().map(|range| u64::from(range.blocks)).sum());
        (blocks * u64::from(self.block_bytes)).min(u64::from(COPY_BYTES_MAX)) as u32
    }

    fn fetch(&self, space: &DmaSpace) -> Result<Vec<BlockRange>, Status> {
        let mut bytes = vec![0; self.pieces.bytes() as usize];
        self.pieces.read(space, 0, &mut bytes).map_err(|_| Status::DATA_TRANSFER_ERROR)?;
        let entries = bytes.chunks_exact(size_of::<CopyRange>());
        Ok(entries.filter_map(|entry| CopyRange::read_from_bytes(entry).ok()).map(|e| e.range()).collect())
    }

    /// Fetches the source ranges, once, and checks them.
    fn begin(&mut self, map: &PageMap, space: &DmaSpace) -> Result<(), Status> {
        let ranges = self.fetch(space)?;
        let config = map.config();
        let most = u64::from(COPY_BYTES_MAX / config.block_bytes);
        let blocks: u64 = ranges.iter().map(|range| u64::from(range.blocks)).sum();
        if blocks > most {
            return Err(Status::COMMAND_SIZE_LIMIT_EXCEEDED);
        }
        self.left.blocks = blocks as u32;
        self.blocks = self.left.blocks;
        ranges.iter().chain([&self.left]).try_for_each(|range| check_range(range, config.blocks))?;
        self.data.reserve_exact(blocks as usize * config.block_bytes as usize);
        self.sources = Some(ranges);
        Ok(())
    }

    /// Goes on with it.
    pub fn execute<W: Meter>(
        &mut self,
        map: &mut PageMap,
        space: &DmaSpace,
        m: &mut NamespaceSegments<'_>,
        w: &mut W,
    ) -> Outcome {
        if self.sources.is_none()
            && let Err(status) = self.begin(map, space)
        {
            return Outcome::Done(Reply::status(status));
        }
        match self.read(map, m, w) {
            Step::Done(Ok(())) => {}
            other => return done(other, 0),
        }
        let bytes = map.config().block_bytes as usize;
        let data = &self.data;
        let fill = |n: u32, out: &mut [u8]| {
            out.copy_from_slice(&data[n as usize * bytes..][..bytes]);
            Ok(())
        };
        let written = done(write_blocks(&mut self.left, self.blocks, fill, map, m, w), 0);
        forced(written, self.command.force_unit_access, map, m)
    }

    /// Reads the sources that are left.
    fn read<W: Meter>(
        &mut self,
        map: &mut PageMap,
        m: &NamespaceSegments<'_>,
        w: &mut W,
    ) -> Step<Result<(), BlockError>> {
        let zeros = vec![0; map.config().block_bytes as usize];
        let (sources, data) = (self.sources.get_or_insert_default(), &mut self.data);
        while let Some(range) = sources.first() {
            let keep = |_: u32, bytes: Option<&[u8]>| {
                data.extend_from_slice(bytes.unwrap_or(&zeros));
                Ok(())
            };
            match map.read(range.slba, range.blocks, keep, m, w) {
                Step::Done(Ok(())) => drop(sources.remove(0)),
                other => return other,
            }
        }
        Step::Done(Ok(()))
    }
}
