// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stores: opening, closing, and pairs.

use crate::answer::answer;
use crate::bytes::{KeyCopy, put_if_wanted, read, text, text_or, wanted, write};
use crate::registry::{Kind, enter, find, leave};
use saker_handle::{Class, Fault, Store};
use std::ffi::c_char;

/// A device of pairs. Any thread may use it; it does one call at a time.
#[expect(non_camel_case_types, reason = "it is the name in C")]
pub struct saker_store {
    _nobody_follows_it: [u8; 0],
}

impl Kind for Store {
    const NAME: &'static str = "store";
}

fn store_of(store: *mut saker_store) -> Result<std::sync::Arc<Store>, Fault> {
    find(store)
}

/// Opens one, and gives its handle out. A place that is none is found before anything is opened.
unsafe fn give_out(
    store: *mut *mut saker_store,
    open: impl FnOnce() -> Result<Store, Fault>,
) -> Result<(), Fault> {
    wanted("store", store)?;
    // SAFETY: the caller says that it is a place for a handle.
    unsafe { put_if_wanted(store, std::ptr::null_mut()) };
    let opened = enter(open()?);
    // SAFETY: as above.
    unsafe { put_if_wanted(store, opened) };
    Ok(())
}

/// Makes an image with one namespace of pairs. `size` is such as "1GiB"; `profile` and `engine` may be null. What is there is never overwritten.
///
/// # Safety
/// The texts end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_create(
    path: *const c_char,
    size: *const c_char,
    profile: *const c_char,
    engine: *const c_char,
) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let [path, size, profile, engine] = unsafe { plan(path, size, profile, engine) }?;
        saker_handle::create(path.as_ref(), size, profile, engine, 1).map(drop)
    })
}

/// What an image is to be, with what is usual.
///
/// # Safety
/// The texts end with a zero.
unsafe fn plan<'a>(
    path: *const c_char,
    size: *const c_char,
    profile: *const c_char,
    engine: *const c_char,
) -> Result<[&'a str; 4], Fault> {
    // SAFETY: the caller says so.
    unsafe {
        let (path, size) = (text("path", path)?, text("size", size)?);
        Ok([path, size, text_or("profile", profile, "default")?, text_or("engine", engine, "hash_store")?])
    }
}

/// Opens the device of a URL: "mem:", "file:disk.img", "tcp://HOST:PORT/NQN", "/dev/ng0n1". `*store` is null if it fails.
///
/// # Safety
/// `url` ends with a zero; `store` is null or a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_open(url: *const c_char, store: *mut *mut saker_store) -> i32 {
    // SAFETY: the caller says so.
    answer(|| unsafe { give_out(store, || Store::open(text("url", url)?)) })
}

/// Opens an image, which is made if it is not there, and grows if it is smaller than `size`. One that is there keeps its profile and its engine.
///
/// # Safety
/// As `saker_create`; `store` is null or a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_open_or_create(
    path: *const c_char,
    size: *const c_char,
    profile: *const c_char,
    engine: *const c_char,
    store: *mut *mut saker_store,
) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        unsafe {
            let [path, size, profile, engine] = plan(path, size, profile, engine)?;
            give_out(store, || Store::open_or_create(path.as_ref(), size, profile, engine))
        }
    })
}

/// Closes in order: everything is flushed, an image is marked clean. The handle is none afterwards, whatever the answer. Calls of other threads
/// that are under way end first. Scans and transactions of the store are told that it is closed; end them as well.
#[unsafe(no_mangle)]
pub extern "C" fn saker_close(store: *mut saker_store) -> i32 {
    answer(|| leave::<Store, _>(store)?.close())
}

/// Stores a pair. A key has 1 to 255 bytes, a value up to 2 MiB.
///
/// # Safety
/// There are as many bytes of key and value as the lengths say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_put(
    store: *mut saker_store,
    key: *const u8,
    key_bytes: usize,
    value: *const u8,
    value_bytes: usize,
) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let (key, value) = unsafe { (read("key", key, key_bytes)?, read("value", value, value_bytes)?) };
        store_of(store)?.put(key, value)
    })
}

/// Stores a pair if its key is not there. `*stored` becomes whether it was stored; it may be null.
///
/// # Safety
/// As `saker_put`; `stored` is null or a place for the answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_put_if_absent(
    store: *mut saker_store,
    key: *const u8,
    key_bytes: usize,
    value: *const u8,
    value_bytes: usize,
    stored: *mut bool,
) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let (key, value) = unsafe { (read("key", key, key_bytes)?, read("value", value, value_bytes)?) };
        let is_stored = store_of(store)?.put_if_absent(key, value)?;
        // SAFETY: the caller says so.
        unsafe { put_if_wanted(stored, is_stored) };
        Ok(())
    })
}

/// Reads a value into a buffer. `*value_bytes` becomes the value's length, which may be more than the buffer's: its beginning is there then.
///
/// # Safety
/// There are as many bytes of key and buffer as the lengths say; `value_bytes` is null or a place for a length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_get(
    store: *mut saker_store,
    key: *const u8,
    key_bytes: usize,
    buffer: *mut u8,
    buffer_bytes: usize,
    value_bytes: *mut usize,
) -> i32 {
    answer(|| {
        wanted("value_bytes", value_bytes)?;
        // SAFETY: the caller says so. The key is copied before there is the buffer, which may lie over it.
        let (key, buffer) = unsafe { (KeyCopy::of(key, key_bytes)?, write("buffer", buffer, buffer_bytes)?) };
        let found = store_of(store)?.get_into(key.as_slice(), buffer)?;
        let length = found.ok_or_else(|| missing(key.as_slice()))?;
        // SAFETY: the caller says so.
        unsafe { put_if_wanted(value_bytes, length) };
        Ok(())
    })
}

/// There is no such key.
pub fn missing(key: &[u8]) -> Fault {
    let text = format!("there is no key \"{}\"", key.escape_ascii());
    Fault { class: Class::NotFound, text, key: Some(key.to_vec()), status: Some(0x87) }
}

/// Deletes a pair, if it is there. `*was_there` becomes whether it was; it may be null.
///
/// # Safety
/// There are as many bytes of key as its length says; `was_there` is null or a place for the answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_delete(
    store: *mut saker_store,
    key: *const u8,
    key_bytes: usize,
    was_there: *mut bool,
) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let key = unsafe { read("key", key, key_bytes) }?;
        let deleted = store_of(store)?.delete(key)?;
        // SAFETY: the caller says so.
        unsafe { put_if_wanted(was_there, deleted) };
        Ok(())
    })
}

/// `*is_there` becomes whether there is such a pair.
///
/// # Safety
/// There are as many bytes of key as its length says; `is_there` is null or a place for the answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_exists(
    store: *mut saker_store,
    key: *const u8,
    key_bytes: usize,
    is_there: *mut bool,
) -> i32 {
    answer(|| {
        wanted("is_there", is_there)?;
        // SAFETY: the caller says so.
        let key = unsafe { read("key", key, key_bytes) }?;
        let found = store_of(store)?.exists(key)?;
        // SAFETY: the caller says so.
        unsafe { put_if_wanted(is_there, found) };
        Ok(())
    })
}

/// What was answered survives a power cut when this returns.
#[unsafe(no_mangle)]
pub extern "C" fn saker_flush(store: *mut saker_store) -> i32 {
    answer(|| store_of(store)?.flush())
}

/// Deletes everything.
#[unsafe(no_mangle)]
pub extern "C" fn saker_format(store: *mut saker_store) -> i32 {
    answer(|| store_of(store)?.format())
}
