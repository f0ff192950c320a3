// SPDX-License-Identifier: Apache-2.0 OR MIT
//! CRC-32C (Castagnoli), as NVMe uses it.
//!
//! The library behind it has code for each processor. Sums of pieces are not marked for inlining, so that this code is not
//! compiled into every crate. The sum of one piece is: records are short, and the call costs a tenth of it.

use crc_fast::{CrcAlgorithm, Digest};

/// The checksum of bytes in one piece.
#[inline]
pub fn checksum(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}

/// The checksum of bytes that come in pieces.
#[derive(Debug)]
pub struct Crc32c(Digest);

impl Default for Crc32c {
    fn default() -> Self {
        Self::new()
    }
}

impl Crc32c {
    /// Of nothing yet.
    pub fn new() -> Self {
        Self(Digest::new(CrcAlgorithm::Crc32Iscsi))
    }

    /// These bytes come next.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum of all that came.
    pub fn finish(&self) -> u32 {
        self.0.finalize() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_as_good_as_the_whole() {
        assert_eq!(checksum(b"123456789"), 0xe306_9283);
        let mut pieces = Crc32c::new();
        [&b"1234"[..], b"", b"56789"].into_iter().for_each(|piece| pieces.update(piece));
        assert_eq!(pieces.finish(), checksum(b"123456789"));
    }
}
