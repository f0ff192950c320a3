// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Replay of passing records: operations whose bytes may be lost, as far as they are not.
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
use crate::error::{FsError, damaged};
use crate::extent::{Extent, Extents};
use crate::inode::InodeId;
use crate::layout::Layout;
use crate::op::Op;
use crate::trailer::{self, Follow, Length};
use crate::tree::Tree;

/// Bytes that one [`Op::Grow`] names, at most.
pub const GROW_BYTES_MAX: u64 = 2 << 20;

/// Carries operations out up to the first one whose bytes are not on the device, and then what trailers say. `records`: their numbers and
/// operations. Whether trailers said something.
///
/// # Errors
/// The device's, or what contradicts itself.
pub fn apply<'r>(
    disk: &mut impl Disk,
    layout: &Layout,
    tree: &mut Tree,
    records: impl Iterator<Item = (u64, &'r [u8])>,
) -> Result<bool, FsError> {
    let (mut followed, mut before) = (None, None);
    'records: for (number, operations) in records {
        let mut rest = operations;
        while !rest.is_empty() {
            let op = Op::decode(&mut rest);
            let at = operations.len() - rest.len();
            let op = op.ok_or_else(|| damaged(number, at, "it is not an operation"))?;
            if let Op::Behind { crc } = op
                && before.is_some_and(|before| before != crc)
            {
                break 'records;
            }
            if let Op::Grow { inode, bytes, kept, from, crc, runs, .. } = &op
                && !is_there(disk, layout, &after(tree, *inode, *kept, runs), (*from, *bytes), *crc)?
            {
                return Ok(false);
            }
            tree.apply(&op).map_err(|why| damaged(number, at, why))?;
            followed = if let Op::Follow { follow, runs } = op { Some((number, follow, runs)) } else { None };
        }
        before = Some(crc_fast::crc32_iscsi(operations));
    }
    let Some((number, follow, runs)) = followed else { return Ok(false) };
    lengthen(disk, layout, tree, &follow, &runs)?.map_err(|why| damaged(number, 0, why))
}

/// A file has the length of its last trailer, if there is one. The inner error: why it cannot have it.
fn lengthen(
    disk: &mut impl Disk,
    layout: &Layout,
    tree: &mut Tree,
    follow: &Follow,
    runs: &[Extent],
) -> Result<Result<bool, &'static str>, FsError> {
    let Some(file) = tree.file(follow.inode).filter(|file| file.bytes == follow.from) else {
        return Ok(Err("no such file is followed"));
    };
    let kept = file.extents.blocks();
    let extents = after(tree, follow.inode, kept, runs);
    let Some(Length { bytes, time }) = trailer::longest(disk, layout, follow, &extents)? else {
        return Ok(Ok(false));
    };
    let mut left = bytes.div_ceil(u64::from(layout.block_bytes)).saturating_sub(kept);
    let needed = extents.from(kept).map(|run| {
        let blocks = run.blocks.min(left);
        left -= blocks;
        Extent { start: run.start, blocks }
    });
    let runs = needed.filter(|run| run.blocks > 0).collect();
    Ok(tree.apply(&Op::Set { inode: follow.inode, bytes, time, kept, runs }).map(|_| true))
}

/// The blocks of a file when it has grown.
fn after(tree: &Tree, inode: InodeId, kept: u64, runs: &[Extent]) -> Extents {
    let mut extents = tree.file(inode).map(|file| file.extents.clone()).unwrap_or_default();
    extents.cut(kept);
    runs.iter().for_each(|run| extents.push(*run));
    extents
}

/// Whether the bytes from one to another are those that have this checksum.
fn is_there(
    disk: &mut impl Disk,
    layout: &Layout,
    extents: &Extents,
    (from, to): (u64, u64),
    crc: u32,
) -> Result<bool, FsError> {
    let (data, block_bytes) = (layout.data(), u64::from(layout.block_bytes));
    let Some(count) = to.checked_sub(from).filter(|count| *count <= GROW_BYTES_MAX) else { return Ok(false) };
    let (mut bytes, mut at) = (vec![0; count as usize], from);
    let mut rest = bytes.as_mut_slice();
    while !rest.is_empty() {
        let run = extents.run(at / block_bytes);
        let Some(run) = run.filter(|run| run.start >= data.start && run.end() <= data.end()) else {
            return Ok(false);
        };
        let within = at % block_bytes;
        let most = (run.blocks * block_bytes - within).min(rest.len() as u64);
        let (part, behind) = rest.split_at_mut(most as usize);
        disk.read_bytes(run.start * block_bytes + within, part)?;
        (rest, at) = (behind, at + most);
    }
    Ok(crc_fast::crc32_iscsi(&bytes) == crc)
}
