// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a transaction that was carried out answers: the results of a group ([`results`](super::results)), with the version of the pair
//! behind the length of the value where the host asks for versions.
//!
//! ```text
//! count u32
//! per entry, in their order:
//!   result u32: status without phase tag in bits 15:0, reserved 30:16, bit 31: the value did not fit
//!   bytes u32: length of the value
//!   version, 24 bytes: of entries that read, as it was before the transaction; else zeros. Only with bit 9 of CDW11
//!   the value, and zeros up to a multiple of four, unless bit 31 is set
//! ```
//!
//! A read that finds no pair has status 87h and 24 zeros. A transaction that was refused has no results.

use super::mode::GroupMode;
use super::results::RESULT_BYTES;
use super::transaction::{PairVersion, VERSION_BYTES};
use super::{COUNT_BYTES, padded};
use crate::Status;

const LEFT_OUT: u32 = 1 << 31;

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionResult<'a> {
    /// Success, or 87h of a read that found no pair.
    pub status: Status,
    /// Length of the value it found, in bytes.
    pub bytes: u32,
    /// The version of what was read; `None` if the host did not ask for versions.
    pub version: Option<PairVersion>,
    /// The value; `None` if it did not fit, empty for entries that return none.
    pub value: Option<&'a [u8]>,
}

/// Bytes of a result before its value.
#[must_use]
pub const fn result_bytes(mode: GroupMode) -> usize {
    RESULT_BYTES + if mode.has_versions { VERSION_BYTES } else { 0 }
}

/// The results, within `bytes_max` bytes: values that do not fit are left out, those behind them may fit. `None`: not even their heads
/// have room.
#[must_use]
pub fn write_transaction_results(
    mode: GroupMode,
    results: &[TransactionResult<'_>],
    bytes_max: usize,
) -> Option<Vec<u8>> {
    let heads = COUNT_BYTES + results.len() * result_bytes(mode);
    let mut left = bytes_max.checked_sub(heads)?;
    let values: usize = results.iter().filter_map(|r| r.value).map(|value| padded(value.len())).sum();
    let mut bytes = Vec::with_capacity(heads + values.min(left));
    bytes.extend_from_slice(&(results.len() as u32).to_le_bytes());
    for result in results {
        let value = result.value.filter(|value| padded(value.len()) <= left);
        let word = u32::from(result.status.shifted()) | if value.is_none() { LEFT_OUT } else { 0 };
        bytes.extend_from_slice(&word.to_le_bytes());
        bytes.extend_from_slice(&result.bytes.to_le_bytes());
        if mode.has_versions {
            bytes.extend_from_slice(&result.version.unwrap_or_default().0);
        }
        if let Some(value) = value {
            bytes.extend_from_slice(value);
            bytes.resize(padded(bytes.len()), 0);
            left -= padded(value.len());
        }
    }
    Some(bytes)
}

/// Reads results that a device returned, which may be followed by other bytes. `None` where they are not results.
#[must_use]
pub fn read_transaction_results(mode: GroupMode, bytes: &[u8]) -> Option<Vec<TransactionResult<'_>>> {
    let (count, mut rest) = number(bytes)?;
    let mut results = Vec::with_capacity((count as usize).min(rest.len() / RESULT_BYTES));
    for _ in 0..count {
        let (result, behind) = read(mode, rest)?;
        results.push(result);
        rest = behind;
    }
    Some(results)
}

fn read(mode: GroupMode, bytes: &[u8]) -> Option<(TransactionResult<'_>, &[u8])> {
    let (word, rest) = number(bytes)?;
    let (bytes, mut rest) = number(rest)?;
    let mut version = None;
    if mode.has_versions {
        let (head, behind) = rest.split_first_chunk()?;
        (version, rest) = (Some(PairVersion(*head)), behind);
    }
    let status = Status::from_shifted(word as u16);
    if word & LEFT_OUT != 0 {
        return Some((TransactionResult { status, bytes, version, value: None }, rest));
    }
    let value = rest.get(..bytes as usize)?;
    let behind = rest.get(padded(bytes as usize)..)?;
    Some((TransactionResult { status, bytes, version, value: Some(value) }, behind))
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (head, rest) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*head), rest))
}
