//! What is written by one system call.

use std::io::IoSlice;

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
