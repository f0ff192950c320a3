//! Batches.

use crate::answer::answer;
use crate::bytes::{put, read};
use crate::registry::BATCHES;
use saker_handle::{WriteBatch, Writes};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Writes that leave together.
pub struct Batch {
    writes: Mutex<Writes>,
    is_atomic: bool,
}

impl Batch {
    fn writes(&self) -> MutexGuard<'_, Writes> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was noted, taken out.
    pub fn take(&self) -> WriteBatch {
        std::mem::take(&mut *self.writes()).into_batch(self.is_atomic)
    }
}

/// # Safety
/// `batch` is a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_batch_new(is_atomic: bool, batch: *mut u64) -> i32 {
    answer(|| {
        // SAFETY: the caller says so. A place that is none is found before there is a batch.
        unsafe { put("batch", batch, 0) }?;
        let made = BATCHES.enter(Batch { writes: Mutex::default(), is_atomic });
        // SAFETY: as above.
        unsafe { put("batch", batch, made) }
    })
}

/// # Safety
/// There are as many bytes of key and value as the lengths say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_batch_put(
    batch: u64,
    key: *const u8,
    key_bytes: usize,
    value: *const u8,
    value_bytes: usize,
) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let (key, value) = unsafe { (read("key", key, key_bytes)?, read("value", value, value_bytes)?) };
        BATCHES.find(batch)?.writes().put(key, value);
        Ok(())
    })
}

/// # Safety
/// There are as many bytes of key as its length says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_batch_delete(batch: u64, key: *const u8, key_bytes: usize) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let key = unsafe { read("key", key, key_bytes) }?;
        BATCHES.find(batch)?.writes().delete(key);
        Ok(())
    })
}

/// Forgets the batch.
#[unsafe(no_mangle)]
pub extern "C" fn saker_batch_free(batch: u64) -> i32 {
    answer(|| BATCHES.leave(batch).map(drop))
}
