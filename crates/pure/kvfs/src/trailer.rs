// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a flush leaves behind the end of a file, so that no record is needed: the length, and a checksum.
//!
//! A record that ends with `Op::Follow` names a file, its length, and blocks ahead of it. From then on a flush of that file writes
//! its last blocks only. The last bytes of the first block that has room for them behind the file's end are a trailer, little-endian:
//! `SKTL`, CRC-32C 4, the length 8, the time 8. The CRC is of these numbers, 8 bytes each: identity of the file system, the file, generation
//! and number of the follow, where it begins, the length, the time, and the CRC-32C of the file's bytes from there on. A replay takes the
//! longest length whose trailer is right.
//!
//! Two blocks are not written at once. So the block with the last trailer is written last: until then that trailer is right, and from
//! then on the new one.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of devices"
    )
)]

use crate::disk::Disk;
use crate::error::FsError;
use crate::extent::Extents;
use crate::inode::InodeId;
use crate::layout::Layout;
use crc_fast::{CrcAlgorithm, Digest};

const MAGIC: &[u8; 4] = b"SKTL";
/// Bytes of a trailer.
pub const TRAILER_BYTES: u64 = 24;
/// Bytes that trailers name behind the beginning of a follow, at most.
pub const FOLLOWED_BYTES_MAX: u64 = 1 << 20;

/// Which flushes belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Follow {
    /// The file.
    pub inode: InodeId,
    /// Its length at the beginning.
    pub from: u64,
    /// The journal's generation.
    pub generation: u64,
    /// Its number in this generation.
    pub number: u64,
}

/// A file's length, as a trailer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// In bytes.
    pub bytes: u64,
    /// Microseconds since 1970.
    pub time: u64,
}

/// Of no byte yet.
pub fn digest() -> Digest {
    Digest::new(CrcAlgorithm::Crc32Iscsi)
}

/// The block of a file in which the trailer of a length is.
pub fn block_of(bytes: u64, block_bytes: u64) -> u64 {
    bytes.saturating_add(TRAILER_BYTES - 1) / block_bytes
}

/// The trailer of a length. `crc`: of the file's bytes since the beginning of the follow.
pub fn encode(layout: &Layout, follow: &Follow, length: Length, crc: u32) -> [u8; TRAILER_BYTES as usize] {
    let Follow { inode, from, generation, number } = *follow;
    let Length { bytes, time } = length;
    let numbers = [layout.identity, inode.0, generation, number, from, bytes, time, u64::from(crc)];
    let mut all = [0; 64];
    all.as_chunks_mut().0.iter_mut().zip(numbers).for_each(|(out, n)| *out = n.to_le_bytes());
    let head = u64::from(u32::from_le_bytes(*MAGIC)) | u64::from(crc_fast::crc32_iscsi(&all)) << 32;
    let mut out = [0; TRAILER_BYTES as usize];
    out.as_chunks_mut().0.iter_mut().zip([head, bytes, time]).for_each(|(out, n)| *out = n.to_le_bytes());
    out
}

/// What a block's last bytes say, if they are of a trailer; whether it is right is not looked at.
fn decode(block: &[u8]) -> Option<Length> {
    let trailer = block.last_chunk::<{ TRAILER_BYTES as usize }>()?;
    let ([_, bytes, time], _) = trailer.as_chunks::<8>() else { return None };
    let length = Length { bytes: u64::from_le_bytes(*bytes), time: u64::from_le_bytes(*time) };
    trailer.starts_with(MAGIC).then_some(length)
}

/// The longest length whose trailer is right. `extents`: the file's blocks, and those ahead.
///
/// # Errors
/// The device's.
pub fn longest(
    disk: &mut impl Disk,
    layout: &Layout,
    follow: &Follow,
    extents: &Extents,
) -> Result<Option<Length>, FsError> {
    let (data, block_bytes) = (layout.data(), u64::from(layout.block_bytes));
    let (mut longest, mut before, mut block) = (None, Vec::new(), vec![0; layout.block_bytes as usize]);
    // Of the bytes up to this block, and up to the one before it.
    let (mut digests, first) = ([digest(); 2], follow.from / block_bytes);
    for n in first..=block_of(follow.from.saturating_add(FOLLOWED_BYTES_MAX), block_bytes) {
        let run = extents.run(n).filter(|run| run.start >= data.start && run.end() <= data.end());
        let Some(run) = run else { break };
        disk.read(run.start, &mut block)?;
        let start = n * block_bytes;
        if let Some(length) = decode(&block).filter(|length| block_of(length.bytes, block_bytes) == n) {
            let [up_to_here, up_to_before] = digests;
            let crc = match length.bytes.checked_sub(start) {
                Some(_) => sum(up_to_here, &block, start, (follow.from, length.bytes)),
                None => {
                    sum(up_to_before, &before, start.saturating_sub(block_bytes), (follow.from, length.bytes))
                }
            };
            let is_right = crc.is_some_and(|crc| block.ends_with(&encode(layout, follow, length, crc)));
            if is_right && length.bytes >= follow.from {
                longest = Some(length);
            }
        }
        let up_to_here = digests[0];
        let mut next = up_to_here;
        next.update(part(&block, start, (follow.from, start + block_bytes)).unwrap_or_default());
        (digests, before) = ([next, up_to_here], block.clone());
    }
    Ok(longest)
}

/// The bytes from one to another of a file that lie in a block, which begins at `start`.
fn part(block: &[u8], start: u64, (from, to): (u64, u64)) -> Option<&[u8]> {
    block.get(from.saturating_sub(start) as usize..to.checked_sub(start)? as usize)
}

fn sum(mut digest: Digest, block: &[u8], start: u64, range: (u64, u64)) -> Option<u32> {
    digest.update(part(block, start, range)?);
    Some(digest.finalize() as u32)
}
