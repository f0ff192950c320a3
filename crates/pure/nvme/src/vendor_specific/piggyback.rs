// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values in the fields of commands (BandSlim, ICPP'24, section 3.2 and Figure 6).
//!
//! The paper's write command gives up CDW4-9, CDW12-13 and three bytes of CDW11: 24 + 8 + 3 = 35 bytes. Its key fields
//! (CDW2-3, CDW14-15) stay, so a command carries 35 bytes whatever the length of its key, 1 to 16. A transfer command
//! gives up all but CDW0-1: 56 bytes. What the paper does not have:
//!
//! * The Store options, whose byte is payload now, are in bits 7:5 of the KL byte; KL itself needs five bits.
//! * Transfer commands are numbered modulo 16 in the reserved bits 5:2 of the flags byte, so that a fragment that is
//!   lost, repeated or out of order is seen.
//! * The command that has the key has a checksum of the parts, so that parts of other values are seen wherever they got
//!   mixed up: of a piggyback store in bits 31:16 of CDW10, of a hybrid store in CDW12.

use zerocopy::little_endian::{U32, U64};

use super::fragment::{TRANSFER_BYTES, check_plain, fragment, parts_sum};
use super::opcode;
use crate::key::Key;
use crate::kv::{StoreOptions, key_of_length};
use crate::padded_words;
use crate::sqe::Sqe;
use crate::status::Status;

/// Value bytes of a piggyback store.
pub const PIGGYBACK_BYTES: usize = 35;
/// A piggyback store's part of the value in whole words: CDW4-9, then the rest of CDW11, CDW12 and CDW13.
const PADDED_BYTES: usize = 40;

const LENGTH_BITS: u32 = 16;
const LENGTH_MASK: u32 = (1 << LENGTH_BITS) - 1;
const KL_BITS: u32 = 5;
const KL_MASK: u32 = (1 << KL_BITS) - 1;

/// Commands for a value of `bytes` bytes: 1 + ceil(max(0, bytes - 35) / 56).
#[inline]
#[must_use]
pub const fn piggyback_commands(bytes: u32) -> u32 {
    1 + bytes.saturating_sub(PIGGYBACK_BYTES as u32).div_ceil(TRANSFER_BYTES as u32)
}

/// A decoded piggyback store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PiggybackStore {
    /// The key.
    pub key: Key,
    /// Bytes of the whole value; 65,535 stands for all that are longer.
    pub value_bytes: u32,
    /// Bits 15:0 of [`parts_sum`] of what follows the first 35 bytes; 0 if nothing does.
    pub rest_sum: u16,
    /// Conditions.
    pub options: StoreOptions,
    /// The beginning of the value, at most 35 bytes; those beyond it are meaningless.
    pub payload: [u8; PADDED_BYTES],
}

impl PiggybackStore {
    /// Decodes an entry.
    ///
    /// # Errors
    /// As for Store: 86h for no key, 02h for a key that is too long, contradicting options, flags or broadcast.
    #[inline]
    pub fn decode(sqe: &Sqe) -> Result<Self, Status> {
        check_plain(sqe)?;
        let cdw11 = sqe.cdw11.get();
        let key = key_of_length(sqe, cdw11 & KL_MASK)?;
        let options = StoreOptions::of_bits((cdw11 as u8) >> KL_BITS)?;
        let cdw10 = sqe.cdw10.get();
        let (value_bytes, rest_sum) = (cdw10 & LENGTH_MASK, (cdw10 >> LENGTH_BITS) as u16);
        let (cdw12, cdw13) = (u64::from(sqe.cdw12.get()), u64::from(sqe.cdw13.get()));
        let fourth = u64::from(cdw11 >> 8) | cdw12 << 24 | cdw13 << 56;
        let words: [U64; PADDED_BYTES / 8] =
            [sqe.mptr, sqe.prp1, sqe.prp2, fourth.into(), (cdw13 >> 8).into()];
        let payload = zerocopy::transmute!(words);
        Ok(Self { key, value_bytes, rest_sum, options, payload })
    }
}

/// Store of `value`, whose first 35 bytes travel in the entry. [`transfer`]s with the rest follow in the same queue.
#[inline]
#[must_use]
pub fn store_piggyback(nsid: u32, key: &Key, value: &[u8], options: StoreOptions) -> Sqe {
    let carried = value.get(..PIGGYBACK_BYTES).unwrap_or(value);
    let [first, second, third, fourth, fifth] =
        padded_words::<{ PADDED_BYTES / 8 }>(carried).map(u64::from_le);
    let kl = key.len() as u32 | u32::from(options.bits()) << KL_BITS;
    let mut sqe = Sqe::new(opcode::STORE_PIGGYBACK, nsid).with_key(key);
    sqe.cdw10 = U32::new(length_and_sum(value));
    (sqe.mptr, sqe.prp1, sqe.prp2) = (U64::new(first), U64::new(second), U64::new(third));
    sqe.cdw11 = U32::new(kl | (fourth as u32) << 8);
    sqe.cdw12 = U32::new((fourth >> 24) as u32);
    sqe.cdw13 = U32::new((fourth >> 56) as u32 | (fifth as u32) << 8);
    sqe
}

/// CDW10 of a piggyback store.
#[inline]
fn length_and_sum(value: &[u8]) -> u32 {
    let length = (value.len() as u32).min(LENGTH_MASK);
    match value.get(PIGGYBACK_BYTES..) {
        Some(rest) if !rest.is_empty() => length | parts_sum(rest) << LENGTH_BITS,
        _ => length,
    }
}

/// Bytes of a piggybacked value behind those of its store, at most 56; `sequence` counts from 1.
#[inline]
#[must_use]
pub fn transfer(nsid: u32, sequence: u32, bytes: &[u8]) -> Sqe {
    fragment(opcode::TRANSFER, nsid, sequence, bytes)
}
