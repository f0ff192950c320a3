// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A file that is open, or has what no record says yet.

use crate::extent::{Extent, Extents};
use crate::tree::File;

/// A file as its users see it.
#[derive(Clone, Debug)]
pub struct Live {
    /// Who has it open.
    pub handles: u32,
    /// Its length.
    pub bytes: u64,
    /// When it was written last.
    pub time: u64,
    /// Its blocks, some of them ahead of its bytes.
    pub extents: Extents,
    /// So many of them, from the first on, are those that records name.
    pub same: u64,
    /// Bytes that are not on the device yet, or only in a block that is not full; they begin a block.
    pub tail: Vec<u8>,
    /// Where the tail begins in the file.
    pub tail_at: u64,
    /// Whether the tail has bytes that its block on the device has not.
    pub is_dirty: bool,
    /// Whether the tail has the last bytes of a file whose last block is not full.
    pub has_tail: bool,
    /// Whether its last name is gone.
    pub is_gone: bool,
    /// Whether somebody writes its full blocks without the file system.
    pub is_written_apart: bool,
}

impl Live {
    /// As records say.
    pub fn of(file: &File, time: u64, block_bytes: u64) -> Self {
        let tail_at = file.bytes / block_bytes * block_bytes;
        Self {
            handles: 0,
            bytes: file.bytes,
            time,
            extents: file.extents.clone(),
            same: file.extents.blocks(),
            tail: Vec::new(),
            tail_at,
            is_dirty: false,
            has_tail: tail_at == file.bytes,
            is_gone: false,
            is_written_apart: false,
        }
    }

    /// Where on the device bytes are that it has there, from a place in the file on: the byte, and how many in a row.
    pub fn places(&self, offset: u64, bytes: usize, block_bytes: u64) -> Vec<(u64, usize)> {
        let (mut places, mut done) = (Vec::new(), 0);
        while done < bytes {
            let at = offset + done as u64;
            let run = self.extents.run(at / block_bytes).expect("bytes of a file have blocks");
            let within = at % block_bytes;
            let most = (run.blocks * block_bytes - within).min((bytes - done) as u64) as usize;
            places.push((run.start * block_bytes + within, most));
            done += most;
        }
        places
    }

    /// Copies what the tail has of the bytes from a place on to the end of `out`. How many of them are on the device, before it, and how many
    /// there are.
    pub fn copy_tail(&self, offset: u64, out: &mut [u8]) -> (usize, usize) {
        let end = offset.saturating_add(out.len() as u64).min(self.bytes).max(offset);
        // Without its tail a file is all on the device.
        let on_device = if self.has_tail { self.tail_at.clamp(offset, end) } else { end };
        let from_tail = &mut out[(on_device - offset) as usize..(end - offset) as usize];
        if !from_tail.is_empty() {
            let start = (on_device - self.tail_at) as usize;
            from_tail.copy_from_slice(&self.tail[start..start + from_tail.len()]);
        }
        ((on_device - offset) as usize, (end - offset) as usize)
    }

    /// Blocks that its bytes need.
    pub fn blocks(&self, block_bytes: u64) -> u64 {
        self.bytes.div_ceil(block_bytes)
    }

    /// The blocks of its bytes behind those that records name.
    pub fn unnamed(&self, block_bytes: u64) -> Vec<Extent> {
        self.runs(self.same, self.blocks(block_bytes))
    }

    /// Its blocks from one to another.
    pub fn runs(&self, from: u64, to: u64) -> Vec<Extent> {
        let mut left = to.saturating_sub(from);
        let runs = self.extents.from(from).map(|run| {
            let blocks = run.blocks.min(left);
            left -= blocks;
            Extent { start: run.start, blocks }
        });
        runs.filter(|run| run.blocks > 0).collect()
    }

    /// The first of its bytes that no record names, or that lies in another block than records name.
    pub fn first_unnamed(&self, file: &File, block_bytes: u64) -> u64 {
        file.bytes.min(self.same * block_bytes)
    }

    /// Whether records say the same of it.
    pub fn is_recorded(&self, file: &File) -> bool {
        let is_same = self.bytes == file.bytes && self.same == file.extents.blocks();
        is_same && !self.is_dirty
    }
}
