//! Stores: opening, closing, and pairs.

use crate::answer::answer;
use crate::bytes::{put, put_if_wanted, read, text, write};
use crate::registry::{BATCHES, STORES};
use saker_handle::{Class, Fault, Store};
use std::ffi::c_char;

/// # Safety
/// `url` ends with a zero; `store` is null or a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_open(url: *const c_char, store: *mut u64) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let url = unsafe { text("url", url) }?;
        // SAFETY: as above. A place that is none is found before anything is opened.
        unsafe { put("store", store, 0) }?;
        let opened = STORES.enter(Store::open(url)?);
        // SAFETY: as above.
        unsafe { put("store", store, opened) }
    })
}

/// Closes in order. The handle is none afterwards, whatever the answer.
#[unsafe(no_mangle)]
pub extern "C" fn saker_close(store: u64) -> i32 {
    answer(|| STORES.leave(store)?.close())
}

/// # Safety
/// There are as many bytes of key and value as the lengths say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_put(
    store: u64,
    key: *const u8,
    key_bytes: usize,
    value: *const u8,
    value_bytes: usize,
) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let (key, value) = unsafe { (read("key", key, key_bytes)?, read("value", value, value_bytes)?) };
        STORES.find(store)?.put(key, value)
    })
}

/// # Safety
/// As [`saker_put`]; `stored` is null or a place for the answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_put_if_absent(
    store: u64,
    key: *const u8,
    key_bytes: usize,
    value: *const u8,
    value_bytes: usize,
    stored: *mut bool,
) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let (key, value) = unsafe { (read("key", key, key_bytes)?, read("value", value, value_bytes)?) };
        let is_stored = STORES.find(store)?.put_if_absent(key, value)?;
        // SAFETY: the caller says so.
        unsafe { put_if_wanted(stored, is_stored) };
        Ok(())
    })
}

/// # Safety
/// There are as many bytes of key and buffer as the lengths say; `value_bytes` is a place for a length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_get(
    store: u64,
    key: *const u8,
    key_bytes: usize,
    buffer: *mut u8,
    buffer_bytes: usize,
    value_bytes: *mut usize,
) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let (key, buffer) = unsafe { (read("key", key, key_bytes)?, write("buffer", buffer, buffer_bytes)?) };
        let found = STORES.find(store)?.get_into(key, buffer)?;
        let length = found.ok_or_else(|| missing(key))?;
        // SAFETY: the caller says so.
        unsafe { put("value_bytes", value_bytes, length) }
    })
}

/// There is no such key.
pub fn missing(key: &[u8]) -> Fault {
    let text = format!("there is no key \"{}\"", key.escape_ascii());
    Fault { class: Class::NotFound, text, key: Some(key.to_vec()), status: Some(0x87) }
}

/// # Safety
/// There are as many bytes of key as its length says; `was_there` is null or a place for the answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_delete(
    store: u64,
    key: *const u8,
    key_bytes: usize,
    was_there: *mut bool,
) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let key = unsafe { read("key", key, key_bytes) }?;
        let deleted = STORES.find(store)?.delete(key)?;
        // SAFETY: the caller says so.
        unsafe { put_if_wanted(was_there, deleted) };
        Ok(())
    })
}

/// # Safety
/// As [`saker_delete`]; `is_there` is a place for the answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_exists(
    store: u64,
    key: *const u8,
    key_bytes: usize,
    is_there: *mut bool,
) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let key = unsafe { read("key", key, key_bytes) }?;
        let found = STORES.find(store)?.exists(key)?;
        // SAFETY: the caller says so.
        unsafe { put("is_there", is_there, found) }
    })
}

/// Carries a batch out, which is empty afterwards, whatever the answer.
#[unsafe(no_mangle)]
pub extern "C" fn saker_write(store: u64, batch: u64) -> i32 {
    answer(|| STORES.find(store)?.write(&BATCHES.find(batch)?.take()))
}

#[unsafe(no_mangle)]
pub extern "C" fn saker_flush(store: u64) -> i32 {
    answer(|| STORES.find(store)?.flush())
}

#[unsafe(no_mangle)]
pub extern "C" fn saker_format(store: u64) -> i32 {
    answer(|| STORES.find(store)?.format())
}

/// # Safety
/// The texts end with a zero; `profile` and `engine` may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_create(
    path: *const c_char,
    size: *const c_char,
    profile: *const c_char,
    engine: *const c_char,
) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let (path, size) = unsafe { (text("path", path)?, text("size", size)?) };
        let or = |at: *const c_char, usual| {
            if at.is_null() {
                return Ok(usual);
            }
            // SAFETY: the caller says so.
            unsafe { text("a name", at) }
        };
        let (profile, engine) = (or(profile, "default")?, or(engine, "hash_store")?);
        saker_handle::create(path.as_ref(), size, profile, engine, 1).map(drop)
    })
}
