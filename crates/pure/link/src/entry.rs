//! Queue entries as 64-bit words, the unit in which the rings move them.

use zerocopy::transmute;

mod stand_in {
    use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

    /// Submission queue entry.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C, align(64))]
    pub struct Sqe(pub [u8; 64]);

    /// Completion queue entry.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C, align(16))]
    pub struct Cqe(pub [u8; 16]);
}
pub use stand_in::{Cqe, Sqe};

/// Bytes of a submission queue entry (NVMe Base 2.0, section 3.3.3.1).
pub const SQE_BYTES: usize = 64;
/// Bytes of a completion queue entry (NVMe Base 2.0, section 3.3.3.2).
pub const CQE_BYTES: usize = 16;

/// 64-bit words of a submission queue entry.
pub(crate) const SQE_WORDS: usize = SQE_BYTES / 8;
/// 64-bit words of a completion queue entry.
pub(crate) const CQE_WORDS: usize = CQE_BYTES / 8;

const _: () = assert!(size_of::<Sqe>() == SQE_BYTES && size_of::<Cqe>() == CQE_BYTES);

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

/// DW0 bits 31:16 are the command identifier (NVMe Base 2.0, figure 87).
const SQE_CID_SHIFT: u32 = 16;

/// `sqe` with its command identifier replaced.
#[inline]
pub(crate) fn sqe_with_cid(sqe: &Sqe, cid: u16) -> Sqe {
    let mut words = sqe_words(sqe);
    let cleared = u64::from_le(words[0]) & !(0xFFFF << SQE_CID_SHIFT);
    words[0] = (cleared | u64::from(cid) << SQE_CID_SHIFT).to_le();
    sqe_from_words(words)
}

/// The command identifier of `sqe`.
#[inline]
pub(crate) fn sqe_cid(sqe: &Sqe) -> u16 {
    (u64::from_le(sqe_words(sqe)[0]) >> SQE_CID_SHIFT) as u16
}

/// The second word of a CQE: DW2 (SQHD, SQID) and DW3 (CID, phase, status), NVMe Base 2.0, figures 90 to 93.
#[derive(Clone, Copy)]
pub(crate) struct CqeTail(u64);

impl CqeTail {
    const PHASE: u64 = 1 << 48;

    #[inline]
    pub(crate) fn from_word(word: u64) -> Self {
        Self(u64::from_le(word))
    }

    #[inline]
    pub(crate) fn of(cqe: &Cqe) -> Self {
        Self::from_word(cqe_words(cqe)[1])
    }

    #[inline]
    pub(crate) fn word_with_phase(self, phase: bool) -> u64 {
        ((self.0 & !Self::PHASE) | if phase { Self::PHASE } else { 0 }).to_le()
    }

    #[inline]
    pub(crate) fn phase(self) -> bool {
        self.0 & Self::PHASE != 0
    }

    #[inline]
    pub(crate) fn sq_head(self) -> u16 {
        self.0 as u16
    }

    #[inline]
    pub(crate) fn cid(self) -> u16 {
        (self.0 >> 32) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_the_bytes_in_place() {
        let sqe: Sqe = transmute!(std::array::from_fn::<u8, SQE_BYTES, _>(|i| i as u8));
        assert_eq!(sqe_words(&sqe)[1].to_ne_bytes(), [8, 9, 10, 11, 12, 13, 14, 15]);
        let bytes: [u8; SQE_BYTES] = transmute!(sqe_with_cid(&sqe, 0xBEEF));
        assert_eq!(bytes[..8], [0, 1, 0xEF, 0xBE, 4, 5, 6, 7]);
        let plain: [u8; SQE_BYTES] = transmute!(sqe);
        assert_eq!(bytes[8..], plain[8..]);
    }

    #[test]
    fn completion_fields_are_where_the_figures_put_them() {
        // DW2: SQHD 0x1234, SQID 0x0005. DW3: CID 0x0ABC, phase 1, status 0.
        let bytes: [u8; CQE_BYTES] = [0, 0, 0, 0, 0, 0, 0, 0, 0x34, 0x12, 5, 0, 0xBC, 0x0A, 0x01, 0x00];
        let tail = CqeTail::of(&transmute!(bytes));
        assert_eq!((tail.sq_head(), tail.cid(), tail.phase()), (0x1234, 0x0ABC, true));
        let cleared: [u8; 8] = tail.word_with_phase(false).to_ne_bytes();
        assert_eq!(cleared, [0x34, 0x12, 5, 0, 0xBC, 0x0A, 0x00, 0x00]);
    }
}
