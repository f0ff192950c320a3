// SPDX-License-Identifier: Apache-2.0 OR MIT
//! SGL segments: arrays of descriptors in host memory (Base 2.0, section 4.1.2). Each is copied once.

use saker_link::{Data, DmaSpace};
use saker_nvme::Status;
use saker_nvme::sgl::{SglDescriptor, kind};
use zerocopy::FromBytes;

use super::Pieces;

/// Descriptors of one command: more than a longest transfer in pieces of a page has.
const DESCRIPTORS_MAX: u32 = 2048;
const DESCRIPTOR_BYTES: u32 = size_of::<SglDescriptor>() as u32;

/// The blocks that the segments from `first` on name, for `bytes` bytes of data. An SGL may be longer than that (SGLS bit 18).
pub(super) fn segments(first: &SglDescriptor, bytes: u32, space: &DmaSpace) -> Result<Pieces, Status> {
    let (mut segment, mut fetched) = (*first, 0);
    let mut blocks = Blocks { pieces: Vec::new(), left: bytes };
    loop {
        let is_last = match segment.kind {
            kind::SEGMENT => false,
            kind::LAST_SEGMENT => true,
            _ => return Err(Status::SGL_DESCRIPTOR_TYPE_INVALID),
        };
        let length = segment.length.get();
        if length == 0 || !length.is_multiple_of(DESCRIPTOR_BYTES) {
            return Err(Status::INVALID_SGL_SEGMENT_DESCRIPTOR);
        }
        if length / DESCRIPTOR_BYTES > DESCRIPTORS_MAX - fetched {
            return Err(Status::INVALID_SGL_DESCRIPTOR_COUNT);
        }
        fetched += length / DESCRIPTOR_BYTES;
        let mut copied = vec![0; length as usize];
        space.read(segment.address.get(), &mut copied).map_err(|_| Status::DATA_TRANSFER_ERROR)?;
        let descriptors =
            <[SglDescriptor]>::ref_from_bytes(&copied).map_err(|_| Status::INVALID_SGL_SEGMENT_DESCRIPTOR)?;
        if is_last {
            blocks.take_all(descriptors)?;
            break;
        }
        let Some((next, others)) = descriptors.split_last() else {
            return Err(Status::INVALID_SGL_SEGMENT_DESCRIPTOR);
        };
        blocks.take_all(others)?;
        segment = *next;
    }
    if blocks.left > 0 {
        return Err(Status::DATA_SGL_LENGTH_INVALID);
    }
    Ok(Pieces::Blocks(blocks.pieces, fetched * DESCRIPTOR_BYTES))
}

struct Blocks {
    pieces: Vec<(u64, u32)>,
    /// Bytes of data that no block has taken.
    left: u32,
}

impl Blocks {
    fn take_all(&mut self, descriptors: &[SglDescriptor]) -> Result<(), Status> {
        for descriptor in descriptors {
            if descriptor.kind != kind::DATA_BLOCK {
                return Err(Status::SGL_DESCRIPTOR_TYPE_INVALID);
            }
            let taken = descriptor.length.get().min(self.left);
            self.left -= taken;
            if taken > 0 {
                self.pieces.push((descriptor.address.get(), taken));
            }
        }
        Ok(())
    }
}

/// Counts the first `bytes` bytes of blocks.
pub(super) fn count_blocks(blocks: &[(u64, u32)], bytes: u32, data: &mut Data) {
    let mut left = bytes;
    for (at, length) in blocks {
        let moved = left.min(*length);
        data.add_exact(*at, u64::from(moved));
        left -= moved;
    }
}
