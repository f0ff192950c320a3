// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions.

use crate::answer::answer;
use crate::bytes::{KeyCopy, copy, put_if_wanted, read, wanted};
use crate::misuse::misuse;
use crate::registry::{Kind, enter, find, leave};
use crate::store::{missing, saker_store};
use saker_handle::{Class, Fault, Require, Store, Transaction};

/// A transaction that is being put together.
#[expect(non_camel_case_types, reason = "it is the name in C")]
pub struct saker_txn {
    _nobody_follows_it: [u8; 0],
}

impl Kind for Transaction {
    const NAME: &'static str = "transaction";
}

/// `saker_txn_require`: there is no such pair.
pub const SAKER_ABSENT: u32 = 0;
/// `saker_txn_require`: there is such a pair.
pub const SAKER_PRESENT: u32 = 1;

/// Begins a transaction. It is optimistic: nothing is locked, and nothing is at the device before the commit. End it with `saker_txn_commit` or
/// `saker_txn_abort`.
///
/// # Safety
/// `txn` is null or a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_txn_begin(store: *mut saker_store, txn: *mut *mut saker_txn) -> i32 {
    answer(|| {
        wanted("txn", txn)?;
        // SAFETY: the caller says so.
        unsafe { put_if_wanted(txn, std::ptr::null_mut()) };
        let begun = enter(find::<Store, _>(store)?.begin()?);
        // SAFETY: as above.
        unsafe { put_if_wanted(txn, begun) };
        Ok(())
    })
}

/// Reads a value as `saker_get`. It must not change until the commit.
///
/// # Safety
/// As `saker_get`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_txn_get(
    txn: *mut saker_txn,
    key: *const u8,
    key_bytes: usize,
    buffer: *mut u8,
    buffer_bytes: usize,
    value_bytes: *mut usize,
) -> i32 {
    answer(|| {
        wanted("value_bytes", value_bytes)?;
        // SAFETY: the caller says so.
        let key = unsafe { KeyCopy::of(key, key_bytes) }?;
        let found = find::<Transaction, _>(txn)?.get(key.as_slice())?;
        let value = found.ok_or_else(|| missing(key.as_slice()))?;
        // SAFETY: the caller says so.
        unsafe {
            copy("buffer", &value, buffer, buffer_bytes)?;
            put_if_wanted(value_bytes, value.len());
        }
        Ok(())
    })
}

/// Stores a pair when the transaction is committed: it is copied.
///
/// # Safety
/// As `saker_put`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_txn_put(
    txn: *mut saker_txn,
    key: *const u8,
    key_bytes: usize,
    value: *const u8,
    value_bytes: usize,
) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let (key, value) = unsafe { (read("key", key, key_bytes)?, read("value", value, value_bytes)?) };
        find::<Transaction, _>(txn)?.put(key, value)
    })
}

/// Deletes a pair when the transaction is committed.
///
/// # Safety
/// As `saker_delete`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_txn_delete(
    txn: *mut saker_txn,
    key: *const u8,
    key_bytes: usize,
    was_there: *mut bool,
) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let key = unsafe { read("key", key, key_bytes) }?;
        let deleted = find::<Transaction, _>(txn)?.delete(key)?;
        // SAFETY: the caller says so.
        unsafe { put_if_wanted(was_there, deleted) };
        Ok(())
    })
}

/// Requires `SAKER_ABSENT` or `SAKER_PRESENT` of a pair at the commit, which is `SAKER_UNMET` if it does not hold.
///
/// # Safety
/// There are as many bytes of key as its length says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_txn_require(
    txn: *mut saker_txn,
    key: *const u8,
    key_bytes: usize,
    what: u32,
) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let key = unsafe { read("key", key, key_bytes) }?;
        find::<Transaction, _>(txn)?.require(key, requirement(what)?)
    })
}

fn requirement(what: u32) -> Result<Require, Fault> {
    match what {
        SAKER_ABSENT => Ok(Require::Absent),
        SAKER_PRESENT => Ok(Require::Present),
        _ => Err(misuse(Class::Argument, "what is required is SAKER_ABSENT or SAKER_PRESENT")),
    }
}

/// Carries it out: all of it or nothing. The handle is none afterwards, whatever the answer. `SAKER_CONFLICT`: begin again.
#[unsafe(no_mangle)]
pub extern "C" fn saker_txn_commit(txn: *mut saker_txn) -> i32 {
    answer(|| leave::<Transaction, _>(txn)?.commit())
}

/// Forgets it. The handle is none afterwards.
#[unsafe(no_mangle)]
pub extern "C" fn saker_txn_abort(txn: *mut saker_txn) -> i32 {
    answer(|| leave::<Transaction, _>(txn).map(|txn| txn.abort()))
}
