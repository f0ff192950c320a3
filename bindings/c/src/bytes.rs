//! Memory of the caller's.

use crate::answer::misuse;
use saker_handle::{Class, Fault};
use std::ffi::{CStr, c_char};

fn null(what: &str) -> Fault {
    misuse(Class::Argument, &format!("{what} is a null pointer"))
}

/// Bytes to read. Null is no bytes if their length is 0.
///
/// # Safety
/// There are as many bytes at `at`, and nobody changes them during the call.
pub unsafe fn read<'a>(what: &str, at: *const u8, bytes: usize) -> Result<&'a [u8], Fault> {
    if bytes == 0 {
        return Ok(&[]);
    }
    if at.is_null() || bytes > isize::MAX as usize {
        return Err(null(what));
    }
    // SAFETY: the caller says so; the length is none that no memory has.
    Ok(unsafe { std::slice::from_raw_parts(at, bytes) })
}

/// Bytes to write.
///
/// # Safety
/// There are as many bytes at `at`, and nobody looks at them during the call.
pub unsafe fn write<'a>(what: &str, at: *mut u8, bytes: usize) -> Result<&'a mut [u8], Fault> {
    if bytes == 0 {
        return Ok(&mut []);
    }
    if at.is_null() || bytes > isize::MAX as usize {
        return Err(null(what));
    }
    // SAFETY: the caller says so; the length is none that no memory has.
    Ok(unsafe { std::slice::from_raw_parts_mut(at, bytes) })
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

/// Puts an answer where the caller wants it.
///
/// # Safety
/// `at` is null or a place for it.
pub unsafe fn put<T>(what: &str, at: *mut T, value: T) -> Result<(), Fault> {
    if at.is_null() {
        return Err(null(what));
    }
    // SAFETY: the caller says that it is a place for it.
    unsafe { at.write(value) };
    Ok(())
}

/// The same where the caller may not want it.
///
/// # Safety
/// `at` is null or a place for it.
pub unsafe fn put_if_wanted<T>(at: *mut T, value: T) {
    if !at.is_null() {
        // SAFETY: the caller says that it is a place for it.
        unsafe { at.write(value) };
    }
}
