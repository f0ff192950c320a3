// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The data of an entry in the memory that its PRPs name, for devices that are elsewhere.

use saker_nvme::Status;

use super::DmaSpace;

/// Copies the pieces, address and bytes each, out of host memory.
///
/// # Errors
/// [`Status::DATA_TRANSFER_ERROR`] for memory that is not there.
pub fn gather(pieces: &[(u64, u32)], space: &DmaSpace) -> Result<Vec<u8>, Status> {
    let mut data = vec![0; pieces.iter().map(|(_, bytes)| *bytes as usize).sum()];
    gather_into(pieces, space, &mut data)?;
    Ok(data)
}

/// The same, into memory that is at least as long as all pieces.
///
/// # Errors
/// As [`gather`].
pub fn gather_into(pieces: &[(u64, u32)], space: &DmaSpace, data: &mut [u8]) -> Result<(), Status> {
    let mut rest = data;
    for (at, bytes) in pieces {
        let (piece, after) = rest.split_at_mut(*bytes as usize);
        space.read(*at, piece).map_err(|_| Status::DATA_TRANSFER_ERROR)?;
        rest = after;
    }
    Ok(())
}

/// Copies into host memory, as much as there is.
///
/// # Errors
/// As [`gather`].
pub fn scatter(pieces: &[(u64, u32)], space: &DmaSpace, mut data: &[u8]) -> Result<(), Status> {
    for (at, bytes) in pieces {
        let (piece, rest) = data.split_at(data.len().min(*bytes as usize));
        space.write(*at, piece).map_err(|_| Status::DATA_TRANSFER_ERROR)?;
        data = rest;
    }
    Ok(())
}
