// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Batches.

use crate::answer::answer;
use crate::bytes::{put_if_wanted, read, wanted};
use crate::misuse::misuse;
use crate::registry::{Kind, enter, find, leave};
use crate::store::saker_store;
use saker_handle::{Class, Store, WriteBatch, Writes};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Writes that are noted, and leave together.
#[expect(non_camel_case_types, reason = "it is the name in C")]
pub struct saker_batch {
    _nobody_follows_it: [u8; 0],
}

/// `saker_batch_new`: all of the batch is done or nothing.
pub const SAKER_ATOMIC: u32 = 1;

/// Writes that leave together.
pub struct Batch {
    writes: Mutex<Writes>,
    is_atomic: bool,
}

impl Kind for Batch {
    const NAME: &'static str = "batch";
}

impl Batch {
    fn writes(&self) -> MutexGuard<'_, Writes> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was noted, taken out.
    fn take(&self) -> WriteBatch {
        std::mem::take(&mut *self.writes()).into_batch(self.is_atomic)
    }
}

/// Makes an empty batch. `flags` is 0 or `SAKER_ATOMIC`.
///
/// # Safety
/// `batch` is null or a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_batch_new(flags: u32, batch: *mut *mut saker_batch) -> i32 {
    answer(|| {
        wanted("batch", batch)?;
        if flags & !SAKER_ATOMIC != 0 {
            return Err(misuse(Class::Argument, "flags of a batch are 0 or SAKER_ATOMIC"));
        }
        let made = enter(Batch { writes: Mutex::default(), is_atomic: flags & SAKER_ATOMIC != 0 });
        // SAFETY: the caller says so.
        unsafe { put_if_wanted(batch, made) };
        Ok(())
    })
}

/// Notes a pair: it is copied.
///
/// # Safety
/// There are as many bytes of key and value as the lengths say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_batch_put(
    batch: *mut saker_batch,
    key: *const u8,
    key_bytes: usize,
    value: *const u8,
    value_bytes: usize,
) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let (key, value) = unsafe { (read("key", key, key_bytes)?, read("value", value, value_bytes)?) };
        find::<Batch, _>(batch)?.writes().put(key, value);
        Ok(())
    })
}

/// Notes that a pair is to be deleted.
///
/// # Safety
/// There are as many bytes of key as its length says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_batch_delete(
    batch: *mut saker_batch,
    key: *const u8,
    key_bytes: usize,
) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let key = unsafe { read("key", key, key_bytes) }?;
        find::<Batch, _>(batch)?.writes().delete(key);
        Ok(())
    })
}

/// Carries a batch out: of each key the last write. The batch is empty afterwards, unless a handle was none. `saker_error_key` names the first
/// write that failed; the others were carried out, unless the batch is atomic: then nothing was done.
#[unsafe(no_mangle)]
pub extern "C" fn saker_write(store: *mut saker_store, batch: *mut saker_batch) -> i32 {
    answer(|| {
        let store = find::<Store, _>(store)?;
        store.write(&find::<Batch, _>(batch)?.take())
    })
}

/// Forgets a batch.
#[unsafe(no_mangle)]
pub extern "C" fn saker_batch_free(batch: *mut saker_batch) -> i32 {
    answer(|| leave::<Batch, _>(batch).map(drop))
}
