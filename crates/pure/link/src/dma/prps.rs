// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The host memory that a command's PRPs name.

use saker_nvme::{Sqe, Status, prp};

use super::{DmaError, DmaSpace, PAGE_BYTES};

/// Pieces for `bytes` bytes of data as address and length, neighbours joined.
///
/// # Errors
/// The status to complete the command with: offsets that cannot be, or lists outside the space.
pub fn prp_pieces(sqe: &Sqe, bytes: u32, space: &DmaSpace) -> Result<Vec<(u64, u32)>, Status> {
    let mut pieces: Vec<(u64, u32)> = Vec::new();
    let walked = prp::walk(
        sqe.prp1.get(),
        sqe.prp2.get(),
        bytes,
        PAGE_BYTES as u32,
        |at| space.read_u64(at),
        |at, len| {
            match pieces.last_mut() {
                Some((start, n)) if start.checked_add(u64::from(*n)) == Some(at) => *n += len,
                _ => pieces.push((at, len)),
            }
            Ok::<(), DmaError>(())
        },
    );
    walked.map_err(|error| error.status(|_| Status::DATA_TRANSFER_ERROR))?;
    Ok(pieces)
}
