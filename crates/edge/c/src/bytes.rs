// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory of the caller's. Nothing is said about how it is aligned, nor that its parts do not overlap.

use crate::misuse::misuse;
use saker_handle::{Class, Fault};
use std::ffi::{CStr, c_char};

/// Bytes of the longest key.
const KEY_BYTES_MAX: usize = 255;

fn null(what: &str) -> Fault {
    misuse(Class::Argument, &format!("{what} is a null pointer"))
}

/// What can be no memory.
fn refuse<T>(what: &str, at: *const T, bytes: usize) -> Result<(), Fault> {
    if at.is_null() {
        return Err(null(what));
    }
    if bytes > isize::MAX as usize {
        return Err(misuse(Class::Argument, &format!("{what} of {bytes} bytes: no memory is so long")));
    }
    Ok(())
}

/// Bytes to read. Null is no bytes if their length is 0.
///
/// # Safety
/// There are as many bytes at `at`, and nobody changes them during the call.
pub unsafe fn read<'a>(what: &str, at: *const u8, bytes: usize) -> Result<&'a [u8], Fault> {
    if bytes == 0 {
        return Ok(&[]);
    }
    refuse(what, at, bytes)?;
    // SAFETY: the caller says so; the length is none that no memory has.
    Ok(unsafe { std::slice::from_raw_parts(at, bytes) })
}

/// A key that was copied: what is written to the caller's buffer may lie over it.
pub struct KeyCopy {
    bytes: [u8; KEY_BYTES_MAX + 1],
    length: usize,
}

impl KeyCopy {
    /// Copies a key; of one that is too long one byte more than a key has.
    ///
    /// # Safety
    /// As [`read`].
    pub unsafe fn of(at: *const u8, bytes: usize) -> Result<Self, Fault> {
        // SAFETY: the caller says so.
        let key = unsafe { read("key", at, bytes) }?;
        let mut copy = Self { bytes: [0; KEY_BYTES_MAX + 1], length: key.len().min(KEY_BYTES_MAX + 1) };
        copy.bytes[..copy.length].copy_from_slice(&key[..copy.length]);
        Ok(copy)
    }

    /// Its bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Bytes to write.
///
/// # Safety
/// There are as many bytes at `at`, and nobody looks at them during the call.
pub unsafe fn write<'a>(what: &str, at: *mut u8, bytes: usize) -> Result<&'a mut [u8], Fault> {
    if bytes == 0 {
        return Ok(&mut []);
    }
    refuse(what, at, bytes)?;
    // SAFETY: the caller says so; the length is none that no memory has.
    Ok(unsafe { std::slice::from_raw_parts_mut(at, bytes) })
}

/// Copies as much of `bytes` as there is room for; whether that was all. Without a byte to copy `at` may be null.
///
/// # Safety
/// There are `room` bytes at `at`.
pub unsafe fn copy(what: &str, bytes: &[u8], at: *mut u8, room: usize) -> Result<bool, Fault> {
    if room > 0 {
        refuse(what, at, room)?;
        // SAFETY: the caller says that there is so much room; `bytes` are ours, so that they do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, bytes.len().min(room)) };
    }
    Ok(bytes.len() <= room)
}

/// A text.
///
/// # Safety
/// It ends with a zero.
pub unsafe fn text<'a>(what: &str, at: *const c_char) -> Result<&'a str, Fault> {
    if at.is_null() {
        return Err(null(what));
    }
    // SAFETY: the caller says that it ends.
    let text = unsafe { CStr::from_ptr(at) };
    text.to_str().map_err(|_| misuse(Class::Argument, &format!("{what} is not UTF-8")))
}

/// A text, or what is usual where there is none.
///
/// # Safety
/// It is null or ends with a zero.
pub unsafe fn text_or<'a>(what: &str, at: *const c_char, usual: &'a str) -> Result<&'a str, Fault> {
    // SAFETY: the caller says so.
    if at.is_null() { Ok(usual) } else { unsafe { text(what, at) } }
}

/// Refuses a place for an answer that is none, before anything is done.
pub fn wanted<T>(what: &str, at: *mut T) -> Result<(), Fault> {
    if at.is_null() { Err(null(what)) } else { Ok(()) }
}

/// Puts an answer where the caller wants it, if anywhere.
///
/// # Safety
/// `at` is null or a place for it.
pub unsafe fn put_if_wanted<T>(at: *mut T, value: T) {
    if !at.is_null() {
        // SAFETY: the caller says that it is a place for it.
        unsafe { at.write_unaligned(value) };
    }
}
