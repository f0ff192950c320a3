// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bytes as 64-bit words.

/// The first `8 * N` of `bytes` as words with the bytes in memory order, zeros behind them. Whole words are moved as such: what
/// is written in parts and read as a whole makes a processor wait.
#[inline]
#[must_use]
pub fn padded_words<const N: usize>(bytes: &[u8]) -> [u64; N] {
    core::array::from_fn(|n| {
        let rest = bytes.get(8 * n..).unwrap_or_default();
        match rest.first_chunk() {
            Some(word) => u64::from_ne_bytes(*word),
            None => last_word(bytes, rest.len()).to_le(),
        }
    })
}

/// The last `count` (0 to 7) bytes of `bytes` as the low bytes of a number.
#[inline]
fn last_word(bytes: &[u8], count: usize) -> u64 {
    match bytes.last_chunk::<8>() {
        _ if count == 0 => 0,
        Some(last) => u64::from_le_bytes(*last) >> (64 - 8 * count),
        None => bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::padded_words;

    #[test]
    fn bytes_stay_in_place_and_zeros_follow() {
        let bytes: [u8; 64] = core::array::from_fn(|i| 1 + i as u8);
        for length in 0..=bytes.len() {
            let expected: [u8; 40] = core::array::from_fn(|i| if i < length { 1 + i as u8 } else { 0 });
            let start = bytes.get(..length).unwrap_or_default();
            let padded: [u8; 40] = zerocopy::transmute!(padded_words::<5>(start));
            assert_eq!(padded, expected);
        }
    }
}
