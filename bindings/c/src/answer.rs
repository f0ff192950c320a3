//! What a call answers: a number, and text and key of the last failure of the thread.

use saker_handle::{Class, Fault};
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Success.
pub const OK: i32 = 0;

/// The last failure of a thread.
#[derive(Default)]
struct Last {
    text: CString,
    key: Vec<u8>,
}

thread_local! {
    static LAST: RefCell<Last> = RefCell::default();
}

/// A fault of this crate's own.
pub fn misuse(class: Class, text: &str) -> Fault {
    Fault { class, text: text.into(), key: None, status: None }
}

/// Runs a call, and answers with its number. A panic is a number as well: it must not leave Rust.
pub fn answer(call: impl FnOnce() -> Result<(), Fault>) -> i32 {
    let panicked = |_| Err(misuse(Class::Broken, "the call has panicked; open the device again"));
    match catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(panicked) {
        Ok(()) => OK,
        Err(fault) => told(fault),
    }
}

fn told(fault: Fault) -> i32 {
    let text = CString::new(fault.text.replace('\0', "?")).unwrap_or_default();
    LAST.with_borrow_mut(|last| *last = Last { text, key: fault.key.unwrap_or_default() });
    fault.class.number()
}

/// The text of the last failure of this thread: valid until its next failure.
#[unsafe(no_mangle)]
pub extern "C" fn saker_error_text() -> *const c_char {
    LAST.with_borrow(|last| last.text.as_ptr())
}

/// The key that the last failure of this thread is about, and its length: 0 if there is none.
///
/// # Safety
/// `bytes` is null or a place for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_error_key(bytes: *mut usize) -> *const u8 {
    LAST.with_borrow(|last| {
        if !bytes.is_null() {
            // SAFETY: the caller says that it is a place for a number.
            unsafe { bytes.write(last.key.len()) };
        }
        last.key.as_ptr()
    })
}

/// Whether a number is `class`, or one of its kinds.
#[unsafe(no_mangle)]
pub extern "C" fn saker_error_is(number: i32, class: i32) -> bool {
    let named = |number| Class::ALL.iter().copied().find(|class| class.number() == number);
    named(number).zip(named(class)).is_some_and(|(one, other)| one.is(other))
}
