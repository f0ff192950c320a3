// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A range of blocks in commands of bounded size.

use crate::error::Error;
use std::ops::Range;

/// Bytes that one command moves at most, so that little memory is lent at a time. The device takes more (MDTS).
const COMMAND_BYTES_MAX: usize = 64 << 10;

/// Cuts a transfer into commands: the first block and the bytes of each.
pub(in crate::block) fn pieces(
    first: u64,
    block_bytes: u32,
    bytes: usize,
) -> impl Iterator<Item = (u64, Range<usize>)> {
    let step = COMMAND_BYTES_MAX.max(block_bytes as usize);
    (0..bytes).step_by(step).map(move |from| {
        let at = first + from as u64 / u64::from(block_bytes);
        (at, from..bytes.min(from + step))
    })
}

/// Copies what a command has read of what was asked for: all but the first `skip` bytes of the blocks.
pub(in crate::block) fn take_part(part: &Range<usize>, data: &[u8], skip: usize, out: &mut [u8]) -> bool {
    if data.len() != part.len() {
        return false;
    }
    let (start, end) = (part.start.max(skip), part.end.min(skip + out.len()));
    out[start - skip..end - skip].copy_from_slice(&data[start - part.start..end - part.start]);
    true
}

/// A range that starts and ends within a namespace of such blocks, and so many, and covers whole ones.
pub(in crate::block) fn check((block, blocks): (u32, u64), first: u64, bytes: usize) -> Result<(), Error> {
    if !(bytes as u64).is_multiple_of(u64::from(block)) {
        return Err(Error::Range(format!(
            "{bytes} bytes are no whole blocks; give a multiple of {block} bytes"
        )));
    }
    let count = bytes as u64 / u64::from(block);
    match first.checked_add(count).filter(|end| *end <= blocks) {
        Some(_) => Ok(()),
        None => Err(Error::Range(format!(
            "{count} blocks from block {first} on end behind the namespace; it has {blocks} blocks, from 0"
        ))),
    }
}
