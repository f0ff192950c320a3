// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The two copies of the header block in the file.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use super::{BLOCK, Fault, Header};
use crate::host;
use crate::layout::BLOCK_BYTES;
use std::fs::File;
use std::io::{self, Read};

/// Both copies as they are in the file.
pub(crate) type Copies = [Result<Header, Fault>; 2];

/// Reads both copies; bytes behind the end of a short file count as zero.
pub(crate) fn read_copies(file: &File) -> io::Result<Copies> {
    Ok([read_copy(file, 0)?, read_copy(file, 1)?])
}

fn read_copy(file: &File, copy: u64) -> io::Result<Result<Header, Fault>> {
    let mut block = [0; BLOCK];
    match host::read_at(file, &mut block, copy * BLOCK_BYTES) {
        Ok(()) => Ok(Header::decode(&block)),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(Err(Fault::Foreign)),
        Err(e) => Err(e),
    }
}

/// Whether a file has a header, or nothing but zeros where headers go.
pub(crate) fn is_there_or_begun(mut file: &File) -> io::Result<bool> {
    let mut head = Vec::with_capacity(BLOCK * 2);
    file.by_ref().take(BLOCK_BYTES * 2).read_to_end(&mut head)?;
    let is_there = read_copies(file)?.iter().any(|copy| !matches!(copy, Err(Fault::Foreign)));
    Ok(is_there || head.iter().all(|byte| *byte == 0))
}

/// The copy that counts and its place. A whole copy of a later version wins over everything: this program
/// must not touch such an image even if the other copy is an old one that it understands.
pub(crate) fn choose(copies: &Copies) -> Result<(Header, u64), Fault> {
    if let Some(Err(newer)) = copies.iter().find(|c| matches!(c, Err(Fault::Unsupported(_)))) {
        return Err(newer.clone());
    }
    let generation = |copy: &Result<Header, Fault>| copy.as_ref().ok().map(|h| h.generation);
    let [first, second] = copies;
    let place = usize::from(generation(second) > generation(first));
    match if place == 0 { (first, second) } else { (second, first) } {
        (Ok(header), _) => Ok((header.clone(), place as u64)),
        (Err(Fault::Foreign), Err(Fault::Foreign)) => Err(Fault::Foreign),
        (Err(Fault::Foreign), Err(other)) => Err(other.clone()),
        (Err(fault), _) => Err(fault.clone()),
    }
}

/// Writes both copies; the one at `kept` was good and is overwritten last. The state they tell of must
/// already be in the file, because each copy is synced.
pub(crate) fn write_copies(file: &File, header: &Header, kept: u64) -> io::Result<()> {
    for place in [1 - kept, kept] {
        write_copy(file, header, place)?;
        host::sync_data(file)?;
    }
    Ok(())
}

/// Writes one copy, which must be on the disk before the other is written.
pub(crate) fn write_copy(file: &File, header: &Header, place: u64) -> io::Result<()> {
    host::write_at(file, header.block(), place * BLOCK_BYTES)
}
