//! Queue entries as 64-bit words, the unit in which the rings move them.

use zerocopy::transmute;

pub use saker_nvme::{Cqe, Sqe};

/// 64-bit words of a submission queue entry.
pub(crate) const SQE_WORDS: usize = Sqe::BYTES / 8;
/// 64-bit words of a completion queue entry.
pub(crate) const CQE_WORDS: usize = Cqe::BYTES / 8;

/// Words of an entry, each with the bytes of the entry in memory order.
#[inline]
pub(crate) fn sqe_words(sqe: &Sqe) -> [u64; SQE_WORDS] {
    transmute!(*sqe)
}

#[inline]
pub(crate) fn sqe_from_words(words: [u64; SQE_WORDS]) -> Sqe {
    transmute!(words)
}

#[inline]
pub(crate) fn cqe_words(cqe: &Cqe) -> [u64; CQE_WORDS] {
    transmute!(*cqe)
}

#[inline]
pub(crate) fn cqe_from_words(words: [u64; CQE_WORDS]) -> Cqe {
    transmute!(words)
}

/// The phase tag in the second word of a CQE (DW3 bit 16), so that a poll looks at one word only.
#[inline]
pub(crate) fn phase(second_word: u64) -> bool {
    u64::from_le(second_word) & 1 << 48 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_the_bytes_in_place() {
        let bytes: [u8; Sqe::BYTES] = std::array::from_fn(|i| i as u8);
        let sqe: Sqe = transmute!(bytes);
        assert_eq!(sqe_words(&sqe)[1].to_ne_bytes(), [8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(sqe_from_words(sqe_words(&sqe)), sqe);
    }

    #[test]
    fn the_phase_tag_is_bit_0_of_byte_14() {
        let mut bytes = [0xFFu8; Cqe::BYTES];
        bytes[14] = 0xFE;
        assert!(!phase(cqe_words(&transmute!(bytes))[1]));
        let mut bytes = [0u8; Cqe::BYTES];
        bytes[14] = 1;
        assert!(phase(cqe_words(&transmute!(bytes))[1]));
    }
}
