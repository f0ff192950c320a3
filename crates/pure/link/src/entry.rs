// SPDX-License-Identifier: Apache-2.0 OR MIT
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

/// The entry with its phase tag replaced, put together as numbers: stored field by field and loaded as words it would wait for
/// the stores.
#[inline]
pub(crate) fn cqe_words(cqe: &Cqe, phase: bool) -> [u64; CQE_WORDS] {
    let status = u64::from(cqe.status_word.get() & !1) | u64::from(phase);
    let [sqhd, sqid, cid] = [cqe.sqhd, cqe.sqid, cqe.cid].map(|field| u64::from(field.get()));
    [cqe.result().to_le(), (sqhd | sqid << 16 | cid << 32 | status << 48).to_le()]
}

#[inline]
pub(crate) fn cqe_from_words(words: [u64; CQE_WORDS]) -> Cqe {
    transmute!(words)
}

/// The first word of a submission entry with the command identifier (CDW0 bits 31:16) replaced.
#[inline]
pub(crate) fn with_cid(first_word: u64, cid: u16) -> u64 {
    (u64::from_le(first_word) & !0xFFFF_0000 | u64::from(cid) << 16).to_le()
}

/// The submission queue head (DW2 bits 15:0) in the second word of a CQE.
#[inline]
pub(crate) fn sq_head(second_word: u64) -> u16 {
    u64::from_le(second_word) as u16
}

/// The command identifier (DW3 bits 15:0) in the second word of a CQE.
#[inline]
pub(crate) fn cid(second_word: u64) -> u16 {
    (u64::from_le(second_word) >> 32) as u16
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
    fn the_identifier_is_bytes_2_and_3() {
        let bytes: [u8; Sqe::BYTES] = std::array::from_fn(|i| 0xF0 | i as u8);
        let sqe: Sqe = transmute!(bytes);
        let word = with_cid(sqe_words(&sqe)[0], 0x1234);
        assert_eq!(word.to_ne_bytes(), [0xF0, 0xF1, 0x34, 0x12, 0xF4, 0xF5, 0xF6, 0xF7]);
    }

    #[test]
    fn the_words_of_a_completion_have_its_fields_in_place() {
        let bytes: [u8; Cqe::BYTES] = std::array::from_fn(|i| 0xA0 | i as u8);
        let cqe: Cqe = transmute!(bytes);
        for (tag, last) in [(false, 0xAE), (true, 0xAF)] {
            let words = cqe_words(&cqe, tag);
            let mut expected = bytes;
            expected[14] = last;
            assert_eq!(words.map(u64::to_ne_bytes).concat(), expected);
            assert_eq!((phase(words[1]), sq_head(words[1]), cid(words[1])), (tag, 0xA9A8, 0xADAC));
            assert_eq!(cqe_from_words(words), cqe.with_phase(tag));
        }
    }
}
