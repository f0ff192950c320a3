// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flushes of a file, one after the other, of which the journal does not hear: each leaves its length in a trailer.
//!
//! One file at a time is followed, and only while the journal's last operation says so. Whatever is done to anything else ends it: what
//! trailers say becomes an operation first. Until the device has that, the block with the last trailer stays as it is.

use super::data::write_blocks;
use super::{Fs, InodeId};
use crate::disk::Disk;
use crate::error::FsError;
use crate::layout::VERSION_WITHOUT_FOLLOW;
use crate::op::Op;
use crate::trailer::{self, FOLLOWED_BYTES_MAX, Follow, Length, TRAILER_BYTES};
use crc_fast::Digest;

/// Runs of blocks ahead that the journal names.
const RUNS_MAX: usize = 8;

/// The file whose flushes leave trailers.
#[derive(Clone, Debug)]
pub(super) struct Followed {
    follow: Follow,
    /// Blocks of the file, those ahead included, that the journal names.
    blocks: u64,
    /// What was flushed.
    length: Length,
    /// Of the bytes from the beginning to that length.
    digest: Digest,
    /// The block of the file that has the last trailer. `None`: the journal says the same.
    block: Option<u64>,
    /// Whether the operation that says what trailers say waits for the next record.
    is_said: bool,
    /// Whether a write has failed: what the device has of it is not known.
    is_unsure: bool,
}

impl<D: Disk> Fs<D> {
    /// A file is to be followed: said in the next record, as its last operation.
    pub(super) fn follow(&mut self, inode: InodeId) -> Result<(), FsError> {
        self.followed = None;
        let block_bytes = self.block_bytes();
        let (Some(live), Some(file)) = (self.live.get(&inode), self.tree.file(inode)) else { return Ok(()) };
        let (from, time) = (file.bytes, live.time);
        let runs: Vec<_> = live.extents.from(live.same).take(RUNS_MAX).collect();
        let blocks = live.same + runs.iter().map(|run| run.blocks).sum::<u64>();
        let is_of_use =
            self.layout.version > VERSION_WITHOUT_FOLLOW && trailer::block_of(from + 1, block_bytes) < blocks;
        if !is_of_use || live.bytes != from {
            return Ok(());
        }
        self.follows += 1;
        let follow = Follow { inode, from, generation: self.journal.generation(), number: self.follows };
        self.perform(&Op::Follow { follow, runs })?;
        let length = Length { bytes: from, time };
        let digest = trailer::digest();
        self.followed =
            Some(Followed { follow, blocks, length, digest, block: None, is_said: false, is_unsure: false });
        Ok(())
    }

    /// Flushes a file that is followed. `false`: it is not, or the journal has to hear of it.
    pub(super) fn flush_followed(&mut self, inode: InodeId) -> Result<bool, FsError> {
        let block_bytes = self.block_bytes();
        let (Some(followed), Some(live)) = (&self.followed, self.live.get(&inode)) else { return Ok(false) };
        let (follow, before) = (followed.follow, followed.length.bytes);
        let length = Length { bytes: live.bytes, time: live.time };
        let last = trailer::block_of(length.bytes, block_bytes);
        let is_followed = follow.inode == inode && !followed.is_said && !followed.is_unsure;
        let has_bytes = live.has_tail && live.tail_at <= before && before <= length.bytes;
        let fits =
            last < followed.blocks && length.bytes - follow.from.min(length.bytes) <= FOLLOWED_BYTES_MAX;
        if !self.pending.is_empty() || !is_followed || !has_bytes || !fits {
            return Ok(false);
        }
        if length.bytes == before {
            return Ok(true);
        }
        let mut digest = followed.digest;
        digest.update(&live.tail[(before - live.tail_at) as usize..]);
        let trailer = trailer::encode(&self.layout, &follow, length, digest.finalize() as u32);
        let written = self.write_trailed(inode, (followed.block, last), &trailer);
        if let Some(followed) = &mut self.followed {
            followed.is_unsure = written.is_err();
            if written.is_ok() {
                (followed.length, followed.digest, followed.block) = (length, digest, Some(last));
            }
        }
        written.map(|()| true)
    }

    /// Writes a file's tail and the trailer behind it: the block with the trailer before this one comes last.
    fn write_trailed(
        &mut self,
        inode: InodeId,
        (old, last): (Option<u64>, u64),
        trailer: &[u8; TRAILER_BYTES as usize],
    ) -> Result<(), FsError> {
        let block_bytes = self.block_bytes();
        let live = self.live.get_mut(&inode).ok_or(FsError::Closed)?;
        let (first, kept) = (live.tail_at / block_bytes, live.tail.len());
        let all = ((last + 1 - first) * block_bytes) as usize;
        live.tail.resize(all, 0);
        live.tail[all - trailer.len()..].copy_from_slice(trailer);
        self.is_unflushed = true;
        let old = old.unwrap_or(last).clamp(first, last);
        let done = [first..old, old + 1..last + 1, old..old + 1].into_iter().try_for_each(|blocks| {
            let bytes = ((blocks.start - first) * block_bytes) as usize
                ..((blocks.end.max(blocks.start) - first) * block_bytes) as usize;
            write_blocks(&mut self.disk, &live.extents, blocks.start, &live.tail[bytes], block_bytes)
        });
        live.tail.truncate(kept);
        done?;
        let full = kept as u64 / block_bytes * block_bytes;
        live.tail.drain(..full as usize);
        live.tail_at += full;
        live.is_dirty = false;
        Ok(())
    }

    /// What trailers say becomes an operation, and nothing is followed any more.
    pub(super) fn unfollow(&mut self) -> Result<(), FsError> {
        let Some(followed) = self.followed.as_mut().filter(|followed| !followed.is_said) else {
            return Ok(());
        };
        if followed.block.is_none() {
            self.followed = None;
            return Ok(());
        }
        followed.is_said = true;
        let (Follow { inode, from, .. }, Length { bytes, time }) = (followed.follow, followed.length);
        let crc = followed.digest.finalize() as u32;
        let block_bytes = self.block_bytes();
        let Some(live) = self.live.get(&inode) else { return Ok(()) };
        let (kept, blocks) = (live.same, bytes.div_ceil(block_bytes));
        let runs = live.runs(kept, blocks);
        self.perform(&Op::Grow { inode, bytes, time, kept, from, crc, runs })?;
        self.live_mut(inode)?.same = blocks.max(kept);
        Ok(())
    }

    /// The journal says what trailers say, those of an earlier life too, and the block with the last one can be written.
    pub(super) fn settle(&mut self) -> Result<(), FsError> {
        self.unfollow()?;
        if self.journal.is_lengthened() {
            return self.commit();
        }
        if self.followed.is_none() {
            return Ok(());
        }
        if self.pass_pending()? { Ok(()) } else { self.commit() }
    }

    /// As [`Self::settle`], if it is this file that is followed.
    pub(super) fn settle_file(&mut self, inode: InodeId) -> Result<(), FsError> {
        let is_followed = self.followed.as_ref().is_some_and(|followed| followed.follow.inode == inode);
        if is_followed { self.settle() } else { Ok(()) }
    }

    /// What waits goes to the device in a passing record. `false`: the journal's area does not take it.
    pub(super) fn pass_pending(&mut self) -> Result<bool, FsError> {
        if self.pending.is_empty() {
            return Ok(true);
        }
        if !self.journal.pass(&mut self.disk, &self.pending)? {
            return Ok(false);
        }
        self.is_unflushed = true;
        self.pending.clear();
        self.followed.take_if(|followed| followed.is_said);
        Ok(true)
    }
}
