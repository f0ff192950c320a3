// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocks to and from a device that several threads share.

use super::SharedBlock;
use crate::block::Block;
use crate::block::pieces::{pieces, take_part};
use crate::error::Error;
use saker_host::host_kv::BlockQueue;
use std::ops::Range;

impl SharedBlock {
    /// Reads whole blocks, as [`Block::read`].
    ///
    /// # Errors
    /// As of [`Block::read`]; the device is closed.
    ///
    /// ```
    /// # let disk = saker::Block::open("mem:?blocks=1MiB&size=8MiB&profile=tiny")?.share();
    /// let mut block = vec![1; disk.block_bytes() as usize];
    /// disk.read(9, &mut block)?;
    /// assert!(block.iter().all(|byte| *byte == 0), "it was never written");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(&self, first: u64, out: &mut [u8]) -> Result<(), Error> {
        self.check(first, out.len())?;
        self.fetch(first, 0, out)
    }

    /// Reads bytes, as [`Block::read_at`].
    ///
    /// # Errors
    /// As of [`Self::read`].
    ///
    /// ```
    /// # let disk = saker::Block::open("mem:?blocks=1MiB&size=8MiB&profile=tiny")?.share();
    /// disk.write(0, &vec![7; disk.block_bytes() as usize])?;
    /// let mut bytes = [1; 4];
    /// disk.read_at(u64::from(disk.block_bytes()) - 2, &mut bytes)?;
    /// assert_eq!(bytes, [7, 7, 0, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        let block = u64::from(self.block_bytes());
        let (first, skip) = (offset / block, (offset % block) as usize);
        self.check(first, (skip + out.len()).next_multiple_of(block as usize))?;
        self.fetch(first, skip, out)
    }

    fn fetch(&self, first: u64, skip: usize, out: &mut [u8]) -> Result<(), Error> {
        let block_bytes = self.block_bytes();
        let whole = (skip + out.len()).next_multiple_of(block_bytes as usize);
        let mut submit =
            |disk: &mut Block, at, part: &Range<usize>| disk.queue.read(at, part.len() as u32 / block_bytes);
        let mut take = |part: &Range<usize>, data: &[u8]| take_part(part, data, skip, out);
        self.run(&mut pieces(first, block_bytes, whole), &mut submit, &mut take)
    }

    /// Writes whole blocks, as [`Block::write`].
    ///
    /// # Errors
    /// As of [`Block::write`]; the device is closed.
    ///
    /// ```
    /// # let disk = saker::Block::open("mem:?blocks=1MiB&size=8MiB&profile=tiny")?.share();
    /// disk.write(2, &vec![7; 2 * disk.block_bytes() as usize])?; // blocks 2 and 3
    /// assert!(disk.write(disk.blocks(), &[7; 2048]).is_err(), "it ends before that");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write(&self, first: u64, data: &[u8]) -> Result<(), Error> {
        self.check(first, data.len())?;
        let mut submit = |disk: &mut Block, at, part: &Range<usize>| {
            disk.queue.write(at, data[part.clone()].to_vec()).ok()
        };
        self.run(&mut pieces(first, self.block_bytes(), data.len()), &mut submit, &mut |_, _| true)
    }

    /// Deallocates blocks, as [`Block::trim`].
    ///
    /// # Errors
    /// As of [`Block::trim`]; the device is closed.
    ///
    /// ```
    /// # let disk = saker::Block::open("mem:?blocks=1MiB&size=8MiB&profile=tiny")?.share();
    /// let mut block = vec![7; disk.block_bytes() as usize];
    /// disk.write(2, &block)?;
    /// disk.trim(2, 1)?;
    /// disk.read(2, &mut block)?;
    /// assert!(block.iter().all(|byte| *byte == 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trim(&self, first: u64, blocks: u64) -> Result<(), Error> {
        let bytes = blocks.saturating_mul(u64::from(self.block_bytes()));
        self.check(first, usize::try_from(bytes).unwrap_or(usize::MAX))?;
        let step = u64::from(u32::MAX);
        let starts = (0..blocks).step_by(step as usize);
        // A part says how many blocks a command has.
        let mut parts = starts.map(|from| (first + from, 0..step.min(blocks - from) as usize));
        let mut submit =
            |disk: &mut Block, at, part: &Range<usize>| disk.queue.deallocate(at, part.len() as u64);
        self.run(&mut parts, &mut submit, &mut |_, _| true)
    }

    /// Returns when everything that calls have written that have returned survives a power cut.
    ///
    /// # Errors
    /// As of [`Block::flush`]; the device is closed.
    ///
    /// ```
    /// # let disk = saker::Block::open("mem:?blocks=1MiB&size=8MiB&profile=tiny")?.share();
    /// disk.write(0, &vec![7; disk.block_bytes() as usize])?;
    /// disk.flush()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn flush(&self) -> Result<(), Error> {
        let mut submit = |disk: &mut Block, _, _: &Range<usize>| disk.queue.flush();
        self.run(&mut std::iter::once((0, 0..0)), &mut submit, &mut |_, _| true)
    }
}
