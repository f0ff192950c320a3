// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What became of a host's transactions, as a device keeps it: pairs of the namespace, which change with what the transactions write.
//! A pair tells of 256 numbers. A host has at most 17 of them, which go round, so the last 4,096 numbers are always among them.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::split::{HOST_ID_BYTES, OUTCOMES_KEPT, TransactionId};

/// Numbers that a pair tells of.
const NUMBERS: u64 = 256;
/// Pairs of a host: one more than the kept numbers fill, for they begin amid one.
pub const OUTCOME_PLACES: u8 = (OUTCOMES_KEPT / NUMBERS) as u8 + 1;

/// The value of a pair of outcomes, 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Outcomes {
    /// "SKTO".
    pub signature: [u8; 4],
    /// Version of the layout: 1.
    pub version: U32,
    /// Whose they are.
    pub host: [u8; HOST_ID_BYTES],
    /// The first number, divided by 256.
    pub block: U64,
    /// Bit n of byte m: the transaction of number 256 * block + 8 * m + n was carried out.
    pub done: [u8; 32],
}

layout!(Outcomes, 64, signature @ 0, version @ 4, host @ 8, block @ 24, done @ 32);

/// What is known of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It was carried out.
    Done,
    /// It was not.
    NotDone,
    /// Nothing any more: the host has had newer ones.
    TooOld,
    /// The pair is none of outcomes, or of another host.
    Strange,
}

impl Outcomes {
    const SIGNATURE: [u8; 4] = *b"SKTO";
    const VERSION: u32 = 1;

    /// Which of its host's pairs tells of a transaction.
    #[must_use]
    pub const fn place(id: TransactionId) -> u8 {
        (id.number / NUMBERS % OUTCOME_PLACES as u64) as u8
    }

    /// What a pair says of a transaction; an empty one that there is none yet.
    #[must_use]
    pub fn look(pair: &[u8], id: TransactionId) -> Known {
        if pair.is_empty() {
            return Known::NotDone;
        }
        let Some(found) = Self::of(pair, id) else { return Known::Strange };
        let (block, (byte, bit)) = (id.number / NUMBERS, bit_of(id));
        match found.block.get() {
            newer if newer > block => Known::TooOld,
            same if same == block && found.done.get(byte).is_some_and(|byte| byte & bit != 0) => Known::Done,
            _ => Known::NotDone,
        }
    }

    /// The pair once the transaction is carried out, of what it was before.
    #[must_use]
    pub fn with(pair: &[u8], id: TransactionId) -> Self {
        let block = id.number / NUMBERS;
        let before = Self::of(pair, id).filter(|found| found.block.get() == block);
        let mut after = before.unwrap_or(Self {
            signature: Self::SIGNATURE,
            version: U32::new(Self::VERSION),
            host: id.host,
            block: U64::new(block),
            done: [0; 32],
        });
        let (byte, bit) = bit_of(id);
        if let Some(byte) = after.done.get_mut(byte) {
            *byte |= bit;
        }
        after
    }

    fn of(pair: &[u8], id: TransactionId) -> Option<Self> {
        let found = Self::read_from_bytes(pair).ok()?;
        let is_known = found.signature == Self::SIGNATURE && found.version.get() == Self::VERSION;
        (is_known && found.host == id.host).then_some(found)
    }
}

const fn bit_of(id: TransactionId) -> (usize, u8) {
    let n = id.number % NUMBERS;
    ((n / 8) as usize, 1 << (n % 8))
}
