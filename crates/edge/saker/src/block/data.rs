// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whole blocks to and from the device, in commands of bounded size.

use super::Block;
use super::pieces::{check, pieces, take_part};
use crate::error::Error;
use saker_host::host_kv::{BlockDone, BlockQueue};
use saker_host::{Driver, HostError, Patience, ProtocolError};
use std::ops::Range;

/// Commands of one call that are in flight at most.
pub(super) const FLYING_MAX: usize = 16;

impl Block {
    /// Reads whole blocks from block `first` on.
    ///
    /// # Errors
    /// [`Error::Range`] before anything is read; [`Error::Host`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # let namespaces = vec![saker::NamespacePlan::Block { bytes: Some(4 << 20), block_bytes: 512 }];
    /// # saker::ImagePlan { namespaces, ..saker::ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path)?;
    /// # let mut disk = saker::Block::open(&format!("file:{}", path.display()))?;
    /// let mut block = [1; 512];
    /// disk.read(9, &mut block)?;
    /// assert_eq!(block, [0; 512], "it was never written");
    /// let error = disk.read(9, &mut block[..100]).unwrap_err();
    /// assert_eq!(error.to_string(), "100 bytes are no whole blocks; give a multiple of 512 bytes");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(&mut self, first: u64, out: &mut [u8]) -> Result<(), Error> {
        self.check(first, out.len())?;
        self.fetch(first, 0, out)
    }

    /// Reads bytes from byte `offset` of the namespace on: a part of a block, or of several.
    ///
    /// # Errors
    /// [`Error::Range`] before anything is read; [`Error::Host`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # let namespaces = vec![saker::NamespacePlan::Block { bytes: Some(4 << 20), block_bytes: 512 }];
    /// # saker::ImagePlan { namespaces, ..saker::ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path)?;
    /// # let mut disk = saker::Block::open(&format!("file:{}", path.display()))?;
    /// disk.write(2, &[7; 512])?;
    /// let mut bytes = [1; 4];
    /// disk.read_at(3 * 512 - 2, &mut bytes)?;
    /// assert_eq!(bytes, [7, 7, 0, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_at(&mut self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        let block = u64::from(self.block_bytes());
        let (first, skip) = (offset / block, (offset % block) as usize);
        self.check(first, (skip + out.len()).next_multiple_of(block as usize))?;
        self.fetch(first, skip, out)
    }

    /// Bytes of the blocks from `first` on, without the first `skip`.
    fn fetch(&mut self, first: u64, skip: usize, out: &mut [u8]) -> Result<(), Error> {
        let block_bytes = self.block_bytes();
        let whole = (skip + out.len()).next_multiple_of(block_bytes as usize);
        let parts = pieces(first, block_bytes, whole);
        let submit =
            |disk: &mut Self, at, part: &Range<usize>| disk.queue.read(at, part.len() as u32 / block_bytes);
        self.run(parts, submit, |part, data| take_part(part, data, skip, out))
    }

    /// Writes whole blocks from block `first` on. Atomic by block, not as a whole.
    ///
    /// # Errors
    /// [`Error::Range`] before anything is written; [`Error::Host`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # let namespaces = vec![saker::NamespacePlan::Block { bytes: Some(4 << 20), block_bytes: 512 }];
    /// # saker::ImagePlan { namespaces, ..saker::ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path)?;
    /// # let mut disk = saker::Block::open(&format!("file:{}", path.display()))?;
    /// disk.write(2, &[7; 2 * 512])?; // blocks 2 and 3
    /// let last = disk.blocks() - 1;
    /// assert!(matches!(disk.write(last, &[7; 2 * 512]), Err(saker::Error::Range(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write(&mut self, first: u64, data: &[u8]) -> Result<(), Error> {
        self.check(first, data.len())?;
        let parts = pieces(first, self.block_bytes(), data.len());
        let submit =
            |disk: &mut Self, at, part: &Range<usize>| disk.queue.write(at, data[part.clone()].to_vec()).ok();
        self.run(parts, submit, |_, _| true)
    }

    /// Sends the commands of a call, several at a time, and gives the answer of each to `take`, which says whether it is one.
    fn run(
        &mut self,
        mut parts: impl Iterator<Item = (u64, Range<usize>)>,
        mut submit: impl FnMut(&mut Self, u64, &Range<usize>) -> Option<u64>,
        mut take: impl FnMut(&Range<usize>, &[u8]) -> bool,
    ) -> Result<(), Error> {
        let mut flying = std::mem::take(&mut self.flying);
        flying.clear();
        let (mut done, mut next) = (Ok(()), parts.next());
        loop {
            while let Some((at, part)) = next.as_ref().filter(|_| done.is_ok() && flying.len() < FLYING_MAX) {
                match submit(self, *at, part) {
                    Some(ticket) => flying.push((ticket, part.clone())),
                    None if flying.is_empty() => done = Err(HostError::from(ProtocolError::Queues).into()),
                    // The queue is full.
                    None => break,
                }
                if done.is_ok() {
                    next = parts.next();
                }
            }
            if flying.is_empty() {
                self.flying = flying;
                return done;
            }
            let answered = self.answer(&mut flying, &mut take)?;
            done = done.and(answered);
        }
    }

    /// Waits for the answer of one of the commands in flight. The outer error: none comes.
    fn answer(
        &mut self,
        flying: &mut Vec<(u64, Range<usize>)>,
        take: &mut impl FnMut(&Range<usize>, &[u8]) -> bool,
    ) -> Result<Result<(), Error>, Error> {
        self.queue.ring();
        for _ in 0..Patience::default().polls_max {
            let answered = self.queue.poll_with(|ticket, status, data| {
                let place = flying.iter().position(|(other, _)| *other == ticket)?;
                let (_, part) = flying.swap_remove(place);
                Some(match status.is_success() {
                    false => Err(HostError::from(status).into()),
                    true if take(&part, data) => Ok(()),
                    true => Err(HostError::from(ProtocolError::Format).into()),
                })
            });
            match answered {
                Some(Some(answer)) => return Ok(answer),
                // Of a call that gave up waiting.
                Some(None) => {}
                None => self.driver.drive(),
            }
        }
        Err(HostError::Timeout { turns: Patience::default().polls_max }.into())
    }

    /// Deallocates blocks: they read as zeros, and their flash is free.
    ///
    /// # Errors
    /// [`Error::Range`], [`Error::Host`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # let namespaces = vec![saker::NamespacePlan::Block { bytes: Some(4 << 20), block_bytes: 512 }];
    /// # saker::ImagePlan { namespaces, ..saker::ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path)?;
    /// # let mut disk = saker::Block::open(&format!("file:{}", path.display()))?;
    /// disk.write(0, &[7; 1024])?;
    /// disk.trim(1, 1)?; // one block, not one byte
    /// let mut both = [1; 1024];
    /// disk.read(0, &mut both)?;
    /// assert_eq!((&both[..512], &both[512..]), (&[7; 512][..], &[0; 512][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trim(&mut self, first: u64, blocks: u64) -> Result<(), Error> {
        let bytes = blocks.saturating_mul(u64::from(self.block_bytes()));
        self.check(first, usize::try_from(bytes).unwrap_or(usize::MAX))?;
        let (mut at, mut left) = (first, blocks);
        while left > 0 {
            let part = left.min(u32::MAX.into());
            let ticket = self.queue.deallocate(at, part);
            self.finish(ticket)?;
            (at, left) = (at + part, left - part);
        }
        Ok(())
    }

    fn check(&self, first: u64, bytes: usize) -> Result<(), Error> {
        check((self.block_bytes(), self.blocks()), first, bytes)
    }

    /// Rings, and waits for the command just submitted.
    pub(super) fn finish(&mut self, ticket: Option<u64>) -> Result<BlockDone, Error> {
        let ticket = ticket.ok_or(HostError::from(ProtocolError::Queues))?;
        self.queue.ring();
        for _ in 0..Patience::default().polls_max {
            if let Some(done) = self.queue.poll().filter(|done| done.ticket == ticket) {
                return if done.status.is_success() {
                    Ok(done)
                } else {
                    Err(HostError::from(done.status).into())
                };
            }
            self.driver.drive();
        }
        Err(HostError::Timeout { turns: Patience::default().polls_max }.into())
    }
}
