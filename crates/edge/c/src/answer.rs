// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a call answers: a number, and text, key and status of the last failure of the thread.

use crate::bytes::put_if_wanted;
use crate::class::saker_error;
use crate::misuse::misuse;
use saker_handle::{Class, Fault};
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Success.
pub const OK: i32 = saker_error::SAKER_OK as i32;

/// The last failure of a thread.
#[derive(Default)]
struct Last {
    text: CString,
    key: Vec<u8>,
    status: u16,
}

thread_local! {
    static LAST: RefCell<Last> = RefCell::default();
}

/// Runs a call, and answers with its number. A panic is a number as well: it must not leave Rust.
pub fn answer(call: impl FnOnce() -> Result<(), Fault>) -> i32 {
    answer_or(|| call().map(|()| OK))
}

/// The same for a call that has a number of its own for some success.
pub fn answer_or(call: impl FnOnce() -> Result<i32, Fault>) -> i32 {
    let panicked = |_| Err(misuse(Class::Broken, "the call has panicked; open the device again"));
    match catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(panicked) {
        Ok(number) => number,
        Err(fault) => told(fault),
    }
}

fn told(fault: Fault) -> i32 {
    let text = CString::new(fault.text.replace('\0', "?")).unwrap_or_default();
    let last = Last { text, key: fault.key.unwrap_or_default(), status: fault.status.unwrap_or(0) };
    // While the thread ends there is no place for it any more.
    let _ = LAST.try_with(|place| place.replace(last));
    fault.class.number()
}

/// One line that says what to do about the last failure of the calling thread; empty if it has had none. It is valid until the thread's next
/// failure or its end.
#[unsafe(no_mangle)]
pub extern "C" fn saker_error_text() -> *const c_char {
    LAST.try_with(|last| last.borrow().text.as_ptr()).unwrap_or(c"".as_ptr())
}

/// The key that the last failure of the calling thread is about, which is valid as long as its text. `bytes` becomes its length, 0 if there is
/// none, and may be null.
///
/// # Safety
/// `bytes` is null or a place for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_error_key(bytes: *mut usize) -> *const u8 {
    let key = LAST.try_with(|last| {
        let last = last.borrow();
        (last.key.as_ptr(), last.key.len())
    });
    let (at, length) = key.unwrap_or((std::ptr::null(), 0));
    // SAFETY: the caller says so.
    unsafe { put_if_wanted(bytes, length) };
    at
}

/// The NVMe status (`SCT << 8 | SC`) of the last failure of the calling thread; 0 if the device gave none.
#[unsafe(no_mangle)]
pub extern "C" fn saker_error_status() -> u16 {
    LAST.try_with(|last| last.borrow().status).unwrap_or(0)
}

/// Whether a number is of a kind: `saker_error_is(SAKER_FULL, SAKER_HOST)`.
#[unsafe(no_mangle)]
pub extern "C" fn saker_error_is(number: i32, kind: i32) -> bool {
    let named = |number| Class::ALL.iter().copied().find(|class| class.number() == number);
    named(number).zip(named(kind)).is_some_and(|(one, other)| one.is(other))
}
