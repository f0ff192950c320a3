// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scans.

use crate::answer::{answer, answer_or};
use crate::bytes::{copy, put_if_wanted, read, wanted};
use crate::class::saker_error;
use crate::misuse::misuse;
use crate::registry::{Kind, enter, find, leave};
use crate::store::saker_store;
use saker_handle::{Class, Fault, Pair, ScanWish, Store};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// A scan that is under way.
#[expect(non_camel_case_types, reason = "it is the name in C")]
pub struct saker_scan {
    _nobody_follows_it: [u8; 0],
}

/// `saker_range`: values are left out.
pub const SAKER_KEYS_ONLY: u32 = 1;
/// `saker_range`: in falling order, which only some engines have.
pub const SAKER_BACKWARDS: u32 = 2;

/// Which pairs: keys from `from` on, before `to`, that begin with `prefix`. A length of 0 does not limit it; nor does a `limit` of 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct saker_range {
    /// The least key.
    from: *const u8,
    /// Its length.
    from_bytes: usize,
    /// The first key behind the range.
    to: *const u8,
    /// Its length.
    to_bytes: usize,
    /// What every key begins with.
    prefix: *const u8,
    /// Its length.
    prefix_bytes: usize,
    /// Pairs at most.
    limit: u64,
    /// 0, `SAKER_KEYS_ONLY`, `SAKER_BACKWARDS` or both.
    flags: u32,
}

/// A scan, and the pairs of its last batch that were not given out.
pub struct Scan {
    scan: saker_handle::Scan,
    ahead: Mutex<VecDeque<Pair>>,
}

impl Kind for Scan {
    const NAME: &'static str = "scan";
}

/// What a range asks for.
///
/// # Safety
/// `range` is null or a range whose lengths are those of its bytes.
unsafe fn wish(range: *const saker_range) -> Result<ScanWish, Fault> {
    if range.is_null() {
        return Ok(ScanWish::default());
    }
    // SAFETY: the caller says so.
    let range = unsafe { range.read_unaligned() };
    if range.flags & !(SAKER_KEYS_ONLY | SAKER_BACKWARDS) != 0 {
        return Err(misuse(Class::Argument, "flags of a range are SAKER_KEYS_ONLY and SAKER_BACKWARDS"));
    }
    // SAFETY: the caller says so.
    let bytes = |what, at, bytes| unsafe { read(what, at, bytes) }.map(<[u8]>::to_vec);
    Ok(ScanWish {
        start: bytes("from", range.from, range.from_bytes)?,
        stop: bytes("to", range.to, range.to_bytes)?,
        prefix: bytes("prefix", range.prefix, range.prefix_bytes)?,
        keys_only: range.flags & SAKER_KEYS_ONLY != 0,
        backwards: range.flags & SAKER_BACKWARDS != 0,
        limit: range.limit,
    })
}

/// Begins a scan of the pairs of a range, or of all if `range` is null. The engines `lsm` and `tree` show it in the order of keys and as of now.
/// A device has 16 scans at a time: another one is `SAKER_MANY_SCANS`.
///
/// # Safety
/// `range` is null or a range whose lengths are those of its bytes; `scan` is null or a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_scan_open(
    store: *mut saker_store,
    range: *const saker_range,
    scan: *mut *mut saker_scan,
) -> i32 {
    answer(|| {
        wanted("scan", scan)?;
        // SAFETY: the caller says so.
        let wish = unsafe {
            put_if_wanted(scan, std::ptr::null_mut());
            wish(range)?
        };
        let opened = find::<Store, _>(store)?.scan(&wish)?;
        let entered = enter(Scan { scan: opened, ahead: Mutex::default() });
        // SAFETY: as above.
        unsafe { put_if_wanted(scan, entered) };
        Ok(())
    })
}

/// The next pair. `*key_bytes` and `*value_bytes` are the buffers' lengths before and the pair's afterwards. `SAKER_END` behind the last pair;
/// `SAKER_ARGUMENT` if a buffer is too short: the pair stays, call again with longer ones. A key has at most 255 bytes, a value 2 MiB.
///
/// # Safety
/// There are as many bytes of the buffers as their lengths say; the lengths are null or places for numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_scan_next(
    scan: *mut saker_scan,
    key: *mut u8,
    key_bytes: *mut usize,
    value: *mut u8,
    value_bytes: *mut usize,
) -> i32 {
    answer_or(|| {
        wanted("key_bytes", key_bytes)?;
        wanted("value_bytes", value_bytes)?;
        let scan = find::<Scan, _>(scan)?;
        let mut ahead = scan.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        if ahead.is_empty() {
            ahead.extend(scan.scan.next_batch()?);
        }
        let Some((found_key, found_value)) = ahead.front() else { return Ok(saker_error::SAKER_END as i32) };
        // SAFETY: the caller says so.
        let fits = unsafe {
            [give("key", found_key, key, key_bytes)?, give("value", found_value, value, value_bytes)?]
        };
        if fits != [true, true] {
            return Err(misuse(Class::Argument, "the buffer is shorter than the pair; its lengths are told"));
        }
        ahead.pop_front();
        Ok(saker_error::SAKER_OK as i32)
    })
}

/// Copies bytes into a buffer of `*length` bytes, and tells their length. Whether they fit.
///
/// # Safety
/// There are as many bytes at `to`; `length` is a place for a number.
unsafe fn give(what: &str, bytes: &[u8], to: *mut u8, length: *mut usize) -> Result<bool, Fault> {
    // SAFETY: the caller says so.
    unsafe {
        let room = length.read_unaligned();
        put_if_wanted(length, bytes.len());
        copy(what, bytes, to, room)
    }
}

/// Ends a scan. Until then the device keeps what it sees.
#[unsafe(no_mangle)]
pub extern "C" fn saker_scan_close(scan: *mut saker_scan) -> i32 {
    answer(|| leave::<Scan, _>(scan)?.scan.close())
}
