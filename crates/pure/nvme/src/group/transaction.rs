// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions: a group of which all is done or nothing (compound commands with `CC_TRANSACTION`, HotStorage'19, section 5).
//!
//! A transaction is a Group or Group Both Ways with bit 8 of CDW11. Its payload is that of the form, and in mixed payloads these types
//! are known besides those of [`Op`]. They ask something of the pair that is there, and change nothing:
//!
//! | type | condition | entry behind the type |
//! |---|---|---|
//! | 16 | there is no such pair | key length u32, key |
//! | 17 | there is such a pair | key length u32, key |
//! | 18 | the pair has that version, or of 24 zeros: is not there | key length u32, key, 24 as u32, version |
//! | 19 | the pair has that value | key length u32, key, value length u32, value |
//! | 20 | that many keys are in a range that begins with the key | key length u32, key, length u32, range: see [`CountedRange`] |
//!
//! Conditions and reads may name any key, also one that the transaction writes: they see the pairs as they were before it.
//! At most one entry writes a key.

use core::ops::Range;

use super::layout::{Form, KEY_BYTES_MAX, LENGTH_BYTES, Op, padded};
use super::pack::{put, put_counted};
use super::parse::{Malformed, Reason, count, number, padded_bytes, wrong};
use super::{COUNT_BYTES, Refused};
use crate::Key;

/// Bytes of a version.
pub const VERSION_BYTES: usize = 24;

/// What a device says of a pair to tell it from all that the key had and will have: bytes that mean nothing to a host. No two writes
/// of a namespace have one version, and a version that a power cycle or Format ended comes never again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PairVersion(pub [u8; VERSION_BYTES]);

impl PairVersion {
    /// That of no pair: there is none under the key.
    pub const ABSENT: Self = Self([0; VERSION_BYTES]);

    /// The version with that number in that life of a namespace, both little-endian. A life is never 0.
    #[must_use]
    pub fn new(life: u64, number: u128) -> Self {
        let mut bytes = [0; VERSION_BYTES];
        let (head, tail) = bytes.split_at_mut(8);
        head.copy_from_slice(&life.to_le_bytes());
        tail.copy_from_slice(&number.to_le_bytes());
        Self(bytes)
    }

    /// Whether there is no pair.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        *self == Self::ABSENT
    }

    /// From bytes; `None` if there are more or less than a version has.
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

/// What an entry of a transaction asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ask {
    /// An operation.
    Op(Op),
    /// There is no such pair.
    Absent,
    /// There is such a pair.
    Present,
    /// The pair has that version.
    Version,
    /// The pair has that value.
    Value,
    /// So many keys are in a range, of engines that keep keys in the order of their bytes.
    Range,
}

impl Ask {
    /// Its number in mixed payloads.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::Op(op) => op as u32,
            Self::Absent => 16,
            Self::Present => 17,
            Self::Version => 18,
            Self::Value => 19,
            Self::Range => 20,
        }
    }

    /// What has that number.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        match (Op::from_number(number), number) {
            (Some(op), _) => Some(Self::Op(op)),
            (None, 16) => Some(Self::Absent),
            (None, 17) => Some(Self::Present),
            (None, 18) => Some(Self::Version),
            (None, 19) => Some(Self::Value),
            (None, 20) => Some(Self::Range),
            _ => None,
        }
    }

    /// Whether something follows the key.
    #[must_use]
    pub const fn has_value(self) -> bool {
        matches!(self, Self::Op(Op::Store) | Self::Version | Self::Value | Self::Range)
    }

    /// Whether it changes what is stored.
    #[must_use]
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Op(op) if op.is_write())
    }

    /// Bytes of an entry, without the type of a mixed one.
    #[must_use]
    pub const fn entry_bytes(self, key_bytes: usize, value_bytes: usize) -> usize {
        let key = LENGTH_BYTES + padded(key_bytes);
        if self.has_value() { key + LENGTH_BYTES + padded(value_bytes) } else { key }
    }
}

/// An entry of a transaction: what it asks for, and where its parts lie in the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What it asks for.
    pub ask: Ask,
    /// The key, 1 to 255 bytes. Its length is in the four bytes before it.
    pub key: Range<u32>,
    /// The value to store, or the version or value that the pair must have; else empty.
    pub value: Range<u32>,
}

/// Reads the payload of a transaction as [`parse`](super::parse()) does that of a group.
///
/// # Errors
/// [`Malformed`]: the first thing that is wrong.
pub fn parse_transaction(form: Form, payload: &[u8], mut visit: impl FnMut(Asked)) -> Result<u32, Malformed> {
    let mut left = count(payload)?;
    let mut at = COUNT_BYTES;
    while left.take() {
        let (asked, end) = asked_at(form, payload, at)?;
        visit(asked);
        at = end;
    }
    left.ends(payload, at)
}

/// The entry at `at`, and where it ends.
fn asked_at(form: Form, payload: &[u8], at: usize) -> Result<(Asked, usize), Malformed> {
    let ask = match form {
        Form::All(op) => Ask::Op(op),
        Form::Mixed => Ask::from_number(number(payload, at)?).ok_or_else(|| wrong(at, Reason::Type))?,
    };
    let at = at + form.lead_bytes();
    let key_bytes = number(payload, at)? as usize;
    if key_bytes == 0 || key_bytes > KEY_BYTES_MAX {
        return Err(wrong(at, Reason::KeySize));
    }
    let (key, end) = padded_bytes(payload, at, key_bytes)?;
    if !ask.has_value() {
        return Ok((Asked { ask, key, value: 0..0 }, end));
    }
    let value_bytes = number(payload, end)? as usize;
    if ask == Ask::Version && value_bytes != VERSION_BYTES {
        return Err(wrong(end, Reason::Version));
    }
    let (value, value_end) = padded_bytes(payload, end, value_bytes)?;
    let rest = payload.get(value.start as usize..value.end as usize).unwrap_or_default();
    if ask == Ask::Range && CountedRange::decode(rest).is_none() {
        return Err(wrong(end, Reason::Range));
    }
    Ok((Asked { ask, key, value }, value_end))
}

/// What stands behind the first key of a range: how many keys are in it (4 bytes, little-endian), and the first key behind it, of
/// at most 16 bytes; none: it goes up to the last key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedRange<'a> {
    /// Keys.
    pub count: u32,
    /// The first key behind it.
    pub to: &'a [u8],
}

impl<'a> CountedRange<'a> {
    /// Reads it; `None` for bytes that are none.
    #[must_use]
    pub fn decode(bytes: &'a [u8]) -> Option<Self> {
        let (count, to) = bytes.split_first_chunk()?;
        (to.len() <= Key::MAX_LEN).then_some(Self { count: u32::from_le_bytes(*count), to })
    }

    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        [&self.count.to_le_bytes()[..], self.to].concat()
    }
}

/// An entry to be packed: what it asks for, its key, and what follows the key.
pub type ToAsk<'a> = (Ask, &'a [u8], &'a [u8]);

/// The payload of these entries, and its form: that of one type without types in entries, if they have one and it is no condition.
///
/// # Errors
/// [`Refused::KeySize`] for a key that cannot be one.
pub fn pack_transaction<'a>(
    entries: impl Iterator<Item = ToAsk<'a>> + Clone,
) -> Result<(Form, Vec<u8>), Refused> {
    let form = form_of(entries.clone());
    Ok((form, packed(form, entries)?))
}

/// The payload of these entries as a part of a transaction: of form mixed.
///
/// # Errors
/// As [`pack_transaction`].
pub fn pack_part<'a>(entries: impl Iterator<Item = ToAsk<'a>> + Clone) -> Result<Vec<u8>, Refused> {
    packed(Form::Mixed, entries)
}

fn packed<'a>(form: Form, entries: impl Iterator<Item = ToAsk<'a>> + Clone) -> Result<Vec<u8>, Refused> {
    let mut bytes = COUNT_BYTES;
    for (ask, key, value) in entries.clone() {
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            return Err(Refused::KeySize);
        }
        bytes += form.lead_bytes() + ask.entry_bytes(key.len(), value.len());
    }
    let mut payload = vec![0; bytes];
    let (head, mut out) = payload.split_at_mut(COUNT_BYTES);
    head.copy_from_slice(&(entries.clone().count() as u32).to_le_bytes());
    for (ask, key, value) in entries {
        if form == Form::Mixed {
            out = put(out, &ask.number().to_le_bytes());
        }
        out = put_counted(out, key);
        if ask.has_value() {
            out = put_counted(out, value);
        }
    }
    Ok(payload)
}

fn form_of<'a>(mut entries: impl Iterator<Item = ToAsk<'a>>) -> Form {
    match entries.next() {
        Some((Ask::Op(first), ..)) if entries.all(|(ask, ..)| ask == Ask::Op(first)) => Form::All(first),
        _ => Form::Mixed,
    }
}
