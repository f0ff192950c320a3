// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys under which nobody stores: the device keeps there what became of transactions, and lists leave them out.

use saker_nvme::group::{OUTCOME_MARK, is_outcome_key};

use crate::error::HostError;

/// Whether a pair may be stored under `key`. Reads and deletes of any key are the caller's.
///
/// # Errors
/// [`HostError::ReservedKey`].
#[inline]
pub fn check_storable(key: &[u8]) -> Result<(), HostError> {
    if may_be_reserved(key) { refuse_reserved(key) } else { Ok(()) }
}

/// Whether the first byte leaves it open: all that most stores pay for.
#[inline]
pub(crate) fn may_be_reserved(key: &[u8]) -> bool {
    key.first() == Some(&OUTCOME_MARK[0])
}

#[cold]
pub(crate) fn refuse_reserved(key: &[u8]) -> Result<(), HostError> {
    if is_outcome_key(key) { Err(HostError::ReservedKey { key: key.to_vec() }) } else { Ok(()) }
}
