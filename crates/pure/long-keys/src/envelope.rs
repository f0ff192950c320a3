// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The value that holds the pairs of all long keys of one digest.
//!
//! All numbers are little-endian. The directory comes before the values, so that the first 4 KiB tell the keys.
//!
//! | bytes | field |
//! |---|---|
//! | 0-3 | magic `SKLK` |
//! | 4 | version, 1 |
//! | 5 | reserved, 0 |
//! | 6-7 | count of pairs, at least 1 |
//! | then, per pair | key length (1 byte), value length (4 bytes), key; in ascending order of keys |
//! | then, per pair | value |
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use std::ops::Range;

use thiserror::Error;

use crate::digest::{KeyDigest, device_key, is_enveloped};

const MAGIC: [u8; 4] = *b"SKLK";
const VERSION: u8 = 1;
const HEAD_BYTES: usize = 8;
const ENTRY_HEAD_BYTES: usize = 5;

/// What is wrong with the bytes of an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EnvelopeError {
    /// It does not begin with the magic number: written by other software.
    #[error("no magic number")]
    Magic,
    /// A version from the future.
    #[error("version {0} is not known")]
    Version(u8),
    /// A reserved byte is set.
    #[error("a reserved byte is not zero")]
    Reserved,
    /// It holds no pair.
    #[error("it holds no pair")]
    Empty,
    /// It ends too early or too late for what its directory says.
    #[error("its length is not what its directory says")]
    Length,
    /// A key that does not belong into an envelope.
    #[error("a key of {0} bytes does not belong here")]
    Key(usize),
    /// Keys are not in ascending order.
    #[error("its keys are not in ascending order")]
    Order,
    /// A key of another digest.
    #[error("a key has another digest")]
    Digest,
    /// More pairs of one digest than an envelope counts.
    #[error("more than 65,535 pairs")]
    Count,
}

/// A pair's place in an envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The full key.
    pub key: &'a [u8],
    /// Where the value is in the envelope, in bytes.
    pub value: Range<usize>,
}

/// What the beginning of an envelope tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directory<'a> {
    /// Every pair.
    Complete(Vec<Entry<'a>>),
    /// The directory is longer than the bytes at hand.
    Incomplete,
}

impl<'a> Directory<'a> {
    /// Reads the directory from `bytes`, the beginning (or all) of an envelope of `total_bytes`. Any bytes are taken.
    ///
    /// # Errors
    /// [`EnvelopeError`]: no entry of such an envelope is to be trusted.
    pub fn parse(bytes: &'a [u8], total_bytes: usize) -> Result<Self, EnvelopeError> {
        let partial = bytes.len() < total_bytes;
        let mut reader = Reader { rest: bytes };
        let entries = reader.head().and_then(|count| reader.entries(count));
        match entries {
            Ok(entries) => {
                place_values(entries, bytes.len() - reader.rest.len(), total_bytes).map(Self::Complete)
            }
            Err(EnvelopeError::Length) if partial => Ok(Self::Incomplete),
            Err(error) => Err(error),
        }
    }
}

/// Consumes bytes from the front; too few of them are [`EnvelopeError::Length`].
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], EnvelopeError> {
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or(EnvelopeError::Length)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], EnvelopeError> {
        self.take(N)?.try_into().map_err(|_| EnvelopeError::Length)
    }

    fn head(&mut self) -> Result<u16, EnvelopeError> {
        let [m0, m1, m2, m3, version, reserved, count @ ..] = self.array::<HEAD_BYTES>()?;
        match u16::from_le_bytes(count) {
            _ if [m0, m1, m2, m3] != MAGIC => Err(EnvelopeError::Magic),
            _ if version != VERSION => Err(EnvelopeError::Version(version)),
            _ if reserved != 0 => Err(EnvelopeError::Reserved),
            0 => Err(EnvelopeError::Empty),
            count => Ok(count),
        }
    }

    /// Keys and value lengths; the values' places are not known yet.
    fn entries(&mut self, count: u16) -> Result<Vec<(&'a [u8], usize)>, EnvelopeError> {
        let mut entries: Vec<(&[u8], usize)> = Vec::new();
        for _ in 0..count {
            let [key_bytes] = self.array()?;
            let value_bytes = u32::from_le_bytes(self.array()?) as usize;
            let key = self.take(usize::from(key_bytes))?;
            if !is_enveloped(key) {
                return Err(EnvelopeError::Key(key.len()));
            }
            if entries.last().is_some_and(|(before, _)| *before >= key) {
                return Err(EnvelopeError::Order);
            }
            entries.push((key, value_bytes));
        }
        Ok(entries)
    }
}

/// The values follow the directory, which ends at `at`, and end with the envelope.
fn place_values(
    entries: Vec<(&[u8], usize)>,
    mut at: usize,
    total_bytes: usize,
) -> Result<Vec<Entry<'_>>, EnvelopeError> {
    let mut placed = Vec::with_capacity(entries.len());
    for (key, value_bytes) in entries {
        let end = at.checked_add(value_bytes).ok_or(EnvelopeError::Length)?;
        placed.push(Entry { key, value: at..end });
        at = end;
    }
    if at == total_bytes { Ok(placed) } else { Err(EnvelopeError::Length) }
}

/// Bytes of an envelope apart from keys and values.
#[must_use]
pub const fn overhead_bytes(pairs: usize) -> usize {
    HEAD_BYTES + pairs * ENTRY_HEAD_BYTES
}

/// Bytes of an envelope of these pairs.
#[must_use]
pub fn bytes(pairs: &[(&[u8], &[u8])]) -> usize {
    overhead_bytes(pairs.len()) + pairs.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>()
}

/// Replaces `into` by the envelope of `pairs`: at least one, in ascending order of keys, which are long, with values of
/// less than 4 GiB.
///
/// # Errors
/// [`EnvelopeError::Count`].
pub fn write(pairs: &[(&[u8], &[u8])], into: &mut Vec<u8>) -> Result<(), EnvelopeError> {
    assert!(!pairs.is_empty() && pairs.is_sorted_by(|(one, _), (next, _)| one < next), "keys ascend");
    let count = u16::try_from(pairs.len()).map_err(|_| EnvelopeError::Count)?;
    into.clear();
    into.reserve(bytes(pairs));
    into.extend_from_slice(&MAGIC);
    into.extend_from_slice(&[VERSION, 0]);
    into.extend_from_slice(&count.to_le_bytes());
    for (key, value) in pairs {
        assert!(is_enveloped(key), "only long keys are in envelopes");
        into.push(key.len() as u8);
        into.extend_from_slice(&(value.len() as u32).to_le_bytes());
        into.extend_from_slice(key);
    }
    for (_, value) in pairs {
        into.extend_from_slice(value);
    }
    Ok(())
}

/// Whether all entries have the digest of the device key `at`: an envelope that was copied to another one is as wrong as a
/// torn one.
///
/// # Errors
/// [`EnvelopeError::Digest`].
pub fn check_digests(entries: &[Entry<'_>], at: &[u8], digest: &impl KeyDigest) -> Result<(), EnvelopeError> {
    let belongs = |entry: &Entry<'_>| device_key(entry.key, digest) == *at;
    if entries.iter().all(belongs) { Ok(()) } else { Err(EnvelopeError::Digest) }
}

/// The place of `key` among `entries`, which ascend.
///
/// # Errors
/// Where it would be.
pub fn position(entries: &[Entry<'_>], key: &[u8]) -> Result<usize, usize> {
    entries.binary_search_by(|entry| entry.key.cmp(key))
}

/// Replaces `into` by the envelope of `entries` with the pair at `place` replaced by `pair`, or added, or left out. `None`
/// if a value that stays is not among `bytes`, the envelope's beginning.
pub fn rewrite(
    bytes: &[u8],
    entries: &[Entry<'_>],
    place: Result<usize, usize>,
    pair: Option<(&[u8], &[u8])>,
    into: &mut Vec<u8>,
) -> Option<Result<(), EnvelopeError>> {
    let (before, after) = match place {
        Ok(at) => (entries.get(..at)?, entries.get(at + 1..)?),
        Err(at) => entries.split_at_checked(at)?,
    };
    let mut pairs = Vec::with_capacity(entries.len() + 1);
    for entry in before {
        pairs.push((entry.key, bytes.get(entry.value.clone())?));
    }
    pairs.extend(pair);
    for entry in after {
        pairs.push((entry.key, bytes.get(entry.value.clone())?));
    }
    Some(write(&pairs, into))
}
