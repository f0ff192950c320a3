// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The alternative that HotStorage'19, section 2.2, describes and rejects: a vector of the addresses of keys and values,
//! which the device gathers one by one. Kept to measure how much it costs.
//!
//! ```text
//! count u32, reserved u32
//! per pair: key address u64, value address u64, key length u32, value length u32
//! ```

use super::layout::KEY_BYTES_MAX;
use super::parse::{Malformed, Reason};

/// Bytes before the first pair.
pub const VECTOR_HEAD_BYTES: usize = 8;
/// Bytes of a pair's addresses and lengths.
pub const VECTOR_PAIR_BYTES: usize = 24;

/// Where a pair is in host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairAddress {
    /// Address of the key.
    pub key_address: u64,
    /// Address of the value.
    pub value_address: u64,
    /// Length of the key in bytes, 1 to 255.
    pub key_bytes: u32,
    /// Length of the value in bytes.
    pub value_bytes: u32,
}

/// The list of these pairs.
#[must_use]
pub fn write_vector(pairs: &[PairAddress]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(VECTOR_HEAD_BYTES + pairs.len() * VECTOR_PAIR_BYTES);
    bytes.extend_from_slice(&(pairs.len() as u64).to_le_bytes());
    for pair in pairs {
        bytes.extend_from_slice(&pair.key_address.to_le_bytes());
        bytes.extend_from_slice(&pair.value_address.to_le_bytes());
        bytes.extend_from_slice(&pair.key_bytes.to_le_bytes());
        bytes.extend_from_slice(&pair.value_bytes.to_le_bytes());
    }
    bytes
}

/// Reads a list: exactly as long as its count says, with keys of 1 to 255 bytes.
///
/// # Errors
/// [`Malformed`]: the first thing that is wrong.
pub fn parse_vector(list: &[u8]) -> Result<Vec<PairAddress>, Malformed> {
    let wrong = |at: usize, reason| Malformed { at: at as u32, reason };
    let (head, rest) = list.split_first_chunk::<VECTOR_HEAD_BYTES>().ok_or(wrong(0, Reason::Truncated))?;
    let [c0, c1, c2, c3, reserved @ ..] = *head;
    let count = u32::from_le_bytes([c0, c1, c2, c3]) as usize;
    if reserved != [0; 4] {
        return Err(wrong(4, Reason::Type));
    }
    let (pairs, trailing) = rest.as_chunks::<VECTOR_PAIR_BYTES>();
    match pairs.len() {
        _ if count == 0 => return Err(wrong(0, Reason::Empty)),
        there if there < count => return Err(wrong(0, Reason::Truncated)),
        there if there > count || !trailing.is_empty() => {
            return Err(wrong(VECTOR_HEAD_BYTES + count * VECTOR_PAIR_BYTES, Reason::Trailing));
        }
        _ => {}
    }
    let read = |(n, pair): (usize, &[u8; VECTOR_PAIR_BYTES])| {
        let pair = pair_of(pair);
        let good = (1..=KEY_BYTES_MAX as u32).contains(&pair.key_bytes);
        let at = VECTOR_HEAD_BYTES + n * VECTOR_PAIR_BYTES + 16;
        if good { Ok(pair) } else { Err(wrong(at, Reason::KeySize)) }
    };
    pairs.iter().enumerate().map(read).collect()
}

fn pair_of(bytes: &[u8; VECTOR_PAIR_BYTES]) -> PairAddress {
    let (words, _) = bytes.as_chunks::<8>();
    let word = |n: usize| words.get(n).map_or(0, |w| u64::from_le_bytes(*w));
    let lengths = word(2);
    PairAddress {
        key_address: word(0),
        value_address: word(1),
        key_bytes: lengths as u32,
        value_bytes: (lengths >> 32) as u32,
    }
}
