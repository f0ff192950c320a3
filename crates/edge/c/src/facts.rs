// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counters and settings, as lines of text: later versions have more of them.

use crate::answer::answer;
use crate::bytes::{copy, put_if_wanted, text, wanted};
use crate::registry::find;
use crate::store::saker_store;
use saker_handle::{Fault, Stats, Store, counters};
use std::ffi::c_char;
use std::fmt::Write as _;

/// Copies a text with a zero behind it; `*text_bytes` becomes its length without the zero.
///
/// # Safety
/// There are `buffer_bytes` at `buffer`; `text_bytes` is a place for a length.
unsafe fn give(text: String, buffer: *mut c_char, room: usize, text_bytes: *mut usize) -> Result<(), Fault> {
    let length = text.len();
    let mut bytes = text.into_bytes();
    bytes.truncate(room.saturating_sub(1));
    bytes.push(0);
    // SAFETY: the caller says so.
    unsafe {
        copy("buffer", &bytes, buffer.cast(), room)?;
        put_if_wanted(text_bytes, length);
    }
    Ok(())
}

/// Counters, a line each: `pairs 12`. Empty where the device is not on the caller's thread (`tcp:`, `threads=`). As `snprintf`: the text is cut to
/// the buffer, with a zero at its end, and `*text_bytes` becomes its whole length.
///
/// # Safety
/// There are `buffer_bytes` at `buffer`; `text_bytes` is null or a place for a length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_stats(
    store: *mut saker_store,
    buffer: *mut c_char,
    buffer_bytes: usize,
    text_bytes: *mut usize,
) -> i32 {
    answer(|| {
        wanted("text_bytes", text_bytes)?;
        let stats = find::<Store, _>(store)?.stats()?;
        let lines = stats.map_or_else(String::new, |stats| lines(&stats));
        // SAFETY: the caller says so.
        unsafe { give(lines, buffer, buffer_bytes, text_bytes) }
    })
}

fn lines(stats: &Stats) -> String {
    counters(stats).iter().fold(String::new(), |mut lines, (name, number)| {
        let _ = writeln!(lines, "{name} {number}");
        lines
    })
}

/// Settings of the engine, a line each: name, value and kind (`stored`, `kept`, `at open`, `live`). The buffer is as of `saker_stats`.
///
/// # Safety
/// As `saker_stats`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_settings(
    store: *mut saker_store,
    buffer: *mut c_char,
    buffer_bytes: usize,
    text_bytes: *mut usize,
) -> i32 {
    answer(|| {
        wanted("text_bytes", text_bytes)?;
        let settings = find::<Store, _>(store)?.settings()?;
        let lines = settings.iter().fold(String::new(), |mut lines, setting| {
            let _ = writeln!(lines, "{} {} {}", setting.name, setting.value, setting.kind);
            lines
        });
        // SAFETY: the caller says so.
        unsafe { give(lines, buffer, buffer_bytes, text_bytes) }
    })
}

/// Changes a live setting, at once.
///
/// # Safety
/// The texts end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_set_setting(
    store: *mut saker_store,
    name: *const c_char,
    value: *const c_char,
) -> i32 {
    answer(|| {
        // SAFETY: the caller says so.
        let (name, value) = unsafe { (text("name", name)?, text("value", value)?) };
        find::<Store, _>(store)?.set_setting(name, value)
    })
}
