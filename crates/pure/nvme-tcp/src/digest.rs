// SPDX-License-Identifier: Apache-2.0 OR MIT
//! CRC32C of headers and data.

use crc_fast::CrcAlgorithm;

/// CRC32C (Castagnoli), as both digests use it.
#[must_use]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// Whether `received` is the digest of `data`, with or without zero padding to a multiple of 4.
pub(crate) fn data_matches(data: &[u8], received: u32) -> bool {
    if crc32c(data) == received {
        return true;
    }
    let missing = data.len().next_multiple_of(4) - data.len();
    let mut digest = crc_fast::Digest::new(CrcAlgorithm::Crc32Iscsi);
    digest.update(data);
    digest.update([0; 3].get(..missing).unwrap_or_default());
    missing > 0 && digest.finalize() as u32 == received
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_value() {
        // The check value of CRC-32/ISCSI in the catalogue of parametrised CRC algorithms.
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn padding_may_be_covered() {
        assert!(data_matches(b"abcde", crc32c(b"abcde")));
        assert!(data_matches(b"abcde", crc32c(b"abcde\0\0\0")));
        assert!(!data_matches(b"abcde", crc32c(b"abcde\0\0")));
        assert!(!data_matches(b"abcd", crc32c(b"abcd\0\0\0\0")));
    }
}
