// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions.

use crate::answer::answer;
use crate::bytes::{KeyCopy, copy, put_if_wanted, read, wanted};
use crate::misuse::misuse;
use crate::registry::{Kind, enter, find, leave};
use crate::store::{missing, saker_store};
use saker_handle::{Class, Fault, Require, SplitOutcome, Store, Transaction, TransactionEnd, TransactionId};

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

/// `saker_txn_outcome`: it was carried out.
pub const SAKER_TXN_DONE: u32 = 1;
/// `saker_txn_outcome`: it was not carried out; a commit on its way may do so.
pub const SAKER_TXN_NOT_DONE: u32 = 2;
/// `saker_txn_outcome`: parts of it are at the device, and no commit.
pub const SAKER_TXN_OPEN: u32 = 3;

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

/// As `saker_txn_commit`, and returns when the transaction survives a power cut, with all that was carried out before it. Threads that commit at
/// the same time share a flush. `SAKER_UNFLUSHED`: it was carried out, and whether it survives a power cut is not known.
#[unsafe(no_mangle)]
pub extern "C" fn saker_txn_commit_through(txn: *mut saker_txn) -> i32 {
    answer(|| leave::<Transaction, _>(txn)?.commit_through())
}

/// The ID of a transaction.
///
/// # Safety
/// `host` is null or 16 bytes.
unsafe fn id(host: *const u8, number: u64) -> Result<TransactionId, Fault> {
    // SAFETY: the caller says so.
    let host = unsafe { read("host", host, 16) }?;
    Ok(TransactionId { host: host.first_chunk().copied().unwrap_or_default(), number })
}

/// Carries it out under an ID, once: `host` is 16 bytes that no other host has, and numbers rise. A commit whose answer is lost is sent again
/// by itself; so may a program that was restarted, with the same ID. `*was_done` says whether it was carried out before, and nothing was done
/// now. The device remembers the last 4,096 numbers of a host; older ones are `SAKER_OUTCOME_UNKNOWN`. The handle is none afterwards,
/// whatever the answer.
///
/// # Safety
/// `host` is null or 16 bytes; `was_done` is null or a place for an answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_txn_commit_as(
    txn: *mut saker_txn,
    host: *const u8,
    number: u64,
    was_done: *mut bool,
) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let id = unsafe { id(host, number) };
        let end = leave::<Transaction, _>(txn)?.commit_as(id?)?;
        // SAFETY: as above.
        unsafe { put_if_wanted(was_done, end == TransactionEnd::DoneBefore) };
        Ok(())
    })
}

/// What became of the transaction of an ID: `SAKER_TXN_DONE`, `SAKER_TXN_NOT_DONE` or `SAKER_TXN_OPEN`.
///
/// # Safety
/// `host` is null or 16 bytes; `outcome` is null or a place for an answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_txn_outcome(
    store: *mut saker_store,
    host: *const u8,
    number: u64,
    outcome: *mut u32,
) -> i32 {
    answer(|| {
        wanted("outcome", outcome)?;
        // SAFETY: the caller says so.
        let id = unsafe { id(host, number) }?;
        let told = match find::<Store, _>(store)?.transaction_outcome(id)? {
            SplitOutcome::Done | SplitOutcome::DoneBefore => SAKER_TXN_DONE,
            SplitOutcome::NotDone => SAKER_TXN_NOT_DONE,
            SplitOutcome::Open => SAKER_TXN_OPEN,
        };
        // SAFETY: as above.
        unsafe { put_if_wanted(outcome, told) };
        Ok(())
    })
}

/// Forgets it. The handle is none afterwards.
#[unsafe(no_mangle)]
pub extern "C" fn saker_txn_abort(txn: *mut saker_txn) -> i32 {
    answer(|| leave::<Transaction, _>(txn).map(|txn| txn.abort()))
}
