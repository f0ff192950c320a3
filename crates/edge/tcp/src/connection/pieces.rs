// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is written by one system call.

use std::io::IoSlice;

use crate::memory::Seat;
use crate::turn::Turn;

/// Puts pieces of at most so many bytes together into slices to write; how many of these.
pub(super) fn fill<'a>(
    slices: &mut [IoSlice<'a>],
    pieces: impl Iterator<Item = &'a [u8]>,
    most: usize,
) -> usize {
    let (mut used, mut left) = (0, most);
    for (slice, piece) in slices.iter_mut().zip(pieces) {
        if left == 0 {
            break;
        }
        let piece = &piece[..piece.len().min(left)];
        (*slice, left) = (IoSlice::new(piece), left - piece.len());
        used += 1;
    }
    used
}

/// A system call has moved so many bytes.
pub(super) fn note_moved(seat: &Seat, turn: Option<&Turn>, bytes: usize) {
    seat.moved(bytes);
    if let Some(turn) = turn {
        turn.moved(bytes);
    }
}
