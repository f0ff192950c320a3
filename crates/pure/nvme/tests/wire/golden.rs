// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Byte images written by hand.

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Decodes bytes as a `T` and encodes it again.
pub fn reencoded<T: FromBytes + IntoBytes + Immutable>(bytes: &[u8]) -> Vec<u8> {
    T::read_from_bytes(bytes).unwrap().as_bytes().to_vec()
}

/// `bytes` zeros with some runs replaced: offset and contents.
pub fn image(bytes: usize, runs: &[(usize, &[u8])]) -> Vec<u8> {
    let mut image = vec![0; bytes];
    for (offset, run) in runs {
        assert!(
            image[*offset..*offset + run.len()].iter().all(|byte| *byte == 0),
            "runs overlap at {offset}"
        );
        image[*offset..*offset + run.len()].copy_from_slice(run);
    }
    image
}

/// Compares and names the first byte that differs: 4096 bytes are hard to read.
#[track_caller]
pub fn assert_image(actual: &[u8], runs: &[(usize, &[u8])]) {
    let expected = image(actual.len(), runs);
    if let Some(at) = (0..actual.len()).find(|at| actual[*at] != expected[*at]) {
        panic!("byte {at}: {:#04x}, expected {:#04x}", actual[at], expected[at]);
    }
}
