//! Scans.

use crate::answer::{OK, answer};
use crate::bytes::{put, read};
use crate::registry::{SCANS, STORES};
use saker_handle::{Class, Fault, Pair, ScanWish};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// A scan, and the pairs of its last batch that were not given out.
pub struct Scan {
    scan: saker_handle::Scan,
    ahead: Mutex<VecDeque<Pair>>,
}

/// Which pairs: `saker_range` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Range {
    from: *const u8,
    from_bytes: usize,
    to: *const u8,
    to_bytes: usize,
    prefix: *const u8,
    prefix_bytes: usize,
    limit: u64,
    keys_only: bool,
    backwards: bool,
}

/// What a range asks for.
///
/// # Safety
/// `range` is null or a range whose lengths are those of its bytes.
unsafe fn wish(range: *const Range) -> Result<ScanWish, Fault> {
    // SAFETY: the caller says so.
    let Some(range) = (unsafe { range.as_ref() }) else { return Ok(ScanWish::default()) };
    // SAFETY: the caller says so.
    let bytes = |what, at, bytes| unsafe { read(what, at, bytes) }.map(<[u8]>::to_vec);
    Ok(ScanWish {
        start: bytes("from", range.from, range.from_bytes)?,
        stop: bytes("to", range.to, range.to_bytes)?,
        prefix: bytes("prefix", range.prefix, range.prefix_bytes)?,
        keys_only: range.keys_only,
        backwards: range.backwards,
        limit: range.limit,
    })
}

/// # Safety
/// `range` is null or a range whose lengths are those of its bytes; `scan` is a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_scan_open(store: u64, range: *const Range, scan: *mut u64) -> i32 {
    answer(|| {
        // SAFETY: the caller says so. A place that is none is found before there is a scan.
        unsafe { put("scan", scan, 0) }?;
        // SAFETY: the caller says so.
        let opened = STORES.find(store)?.scan(&unsafe { wish(range) }?)?;
        let entered = SCANS.enter(Scan { scan: opened, ahead: Mutex::default() });
        // SAFETY: as above.
        unsafe { put("scan", scan, entered) }
    })
}

/// The next pair: its lengths, and as many of its bytes as the buffers have. -1 at the end. A buffer that is too short leaves the pair
/// where it is, with its lengths told.
///
/// # Safety
/// There are as many bytes of the buffers as their lengths say; the lengths are places for numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_scan_next(
    scan: u64,
    key: *mut u8,
    key_bytes: *mut usize,
    value: *mut u8,
    value_bytes: *mut usize,
) -> i32 {
    let mut is_ended = false;
    let number = answer(|| {
        let scan = SCANS.find(scan)?;
        let mut ahead = scan.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        if ahead.is_empty() {
            ahead.extend(scan.scan.next_batch()?);
        }
        let Some((found_key, found_value)) = ahead.front() else {
            is_ended = true;
            return Ok(());
        };
        // SAFETY: the caller says so.
        let fits = unsafe {
            [give("key", found_key, key, key_bytes)?, give("value", found_value, value, value_bytes)?]
        };
        if fits == [true, true] {
            ahead.pop_front();
            return Ok(());
        }
        Err(crate::answer::misuse(
            Class::Argument,
            "the buffer is shorter than the pair; its lengths are told",
        ))
    });
    if number == OK && is_ended { -1 } else { number }
}

/// Copies bytes into a buffer of `*length` bytes, and tells their length. Whether they fit.
///
/// # Safety
/// There are as many bytes at `to`; `length` is null or a place for a number.
unsafe fn give(what: &str, bytes: &[u8], to: *mut u8, length: *mut usize) -> Result<bool, Fault> {
    // SAFETY: the caller says so.
    let room = unsafe { length.as_ref() }.copied().unwrap_or(0);
    // SAFETY: the caller says so.
    unsafe { put(what, length, bytes.len()) }?;
    if room < bytes.len() {
        return Ok(false);
    }
    // SAFETY: the caller says so.
    unsafe { crate::bytes::write(what, to, bytes.len()) }?.copy_from_slice(bytes);
    Ok(true)
}

/// Ends it.
#[unsafe(no_mangle)]
pub extern "C" fn saker_scan_close(scan: u64) -> i32 {
    answer(|| SCANS.leave(scan)?.scan.close())
}
