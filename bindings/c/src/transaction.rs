//! Transactions.

use crate::answer::answer;
use crate::bytes::{put, put_if_wanted, read, write};
use crate::registry::{STORES, TRANSACTIONS};
use crate::store::missing;

/// # Safety
/// `txn` is a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_txn_begin(store: u64, txn: *mut u64) -> i32 {
    answer(|| {
        // SAFETY: the caller says so. A place that is none is found before there is a transaction.
        unsafe { put("txn", txn, 0) }?;
        let begun = TRANSACTIONS.enter(STORES.find(store)?.begin()?);
        // SAFETY: as above.
        unsafe { put("txn", txn, begun) }
    })
}

/// # Safety
/// As `saker_get`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_txn_get(
    txn: u64,
    key: *const u8,
    key_bytes: usize,
    buffer: *mut u8,
    buffer_bytes: usize,
    value_bytes: *mut usize,
) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let (key, buffer) = unsafe { (read("key", key, key_bytes)?, write("buffer", buffer, buffer_bytes)?) };
        let value = TRANSACTIONS.find(txn)?.get(key)?.ok_or_else(|| missing(key))?;
        let copied = buffer.len().min(value.len());
        buffer[..copied].copy_from_slice(&value[..copied]);
        // SAFETY: the caller says so.
        unsafe { put("value_bytes", value_bytes, value.len()) }
    })
}

/// # Safety
/// As `saker_put`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_txn_put(
    txn: u64,
    key: *const u8,
    key_bytes: usize,
    value: *const u8,
    value_bytes: usize,
) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let (key, value) = unsafe { (read("key", key, key_bytes)?, read("value", value, value_bytes)?) };
        TRANSACTIONS.find(txn)?.put(key, value)
    })
}

/// # Safety
/// As `saker_delete`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_txn_delete(
    txn: u64,
    key: *const u8,
    key_bytes: usize,
    was_there: *mut bool,
) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let key = unsafe { read("key", key, key_bytes) }?;
        let deleted = TRANSACTIONS.find(txn)?.delete(key)?;
        // SAFETY: the caller says so.
        unsafe { put_if_wanted(was_there, deleted) };
        Ok(())
    })
}

/// Carries it out. The handle is none afterwards, whatever the answer.
#[unsafe(no_mangle)]
pub extern "C" fn saker_txn_commit(txn: u64) -> i32 {
    answer(|| TRANSACTIONS.leave(txn)?.commit())
}

/// Forgets it.
#[unsafe(no_mangle)]
pub extern "C" fn saker_txn_abort(txn: u64) -> i32 {
    answer(|| TRANSACTIONS.leave(txn).map(|txn| txn.abort()))
}
