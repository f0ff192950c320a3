// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a program in C cannot show, and what ThreadSanitizer watches.

use crate::answer::{answer, saker_error_text};
use crate::store::{saker_close, saker_get, saker_open, saker_put, saker_store};
use saker_handle::Class;
use std::ffi::CStr;
use std::ptr::null_mut;

fn opened(url: &CStr) -> *mut saker_store {
    let mut store = null_mut();
    // SAFETY: the text ends, and there is a place for the handle.
    assert_eq!(unsafe { saker_open(url.as_ptr(), &raw mut store) }, 0);
    store
}

#[test]
fn a_panic_is_a_number() {
    assert_eq!(answer(|| std::panic::resume_unwind(Box::new("some call's"))), Class::Broken.number());
    // SAFETY: it is a text until the next failure of this thread.
    let text = unsafe { CStr::from_ptr(saker_error_text()) };
    assert!(text.to_str().is_ok_and(|text| text.contains("panicked")));
    assert_eq!(answer(|| Ok(())), 0);
}

/// The header is cbindgen's (`check header` makes it anew); what it does not have was added since.
#[test]
fn the_header_and_the_manual_have_every_call() {
    let (header, manual) = (include_str!("../include/saker.h"), include_str!("../man/saker.3"));
    let sources = [
        include_str!("answer.rs"),
        include_str!("batch.rs"),
        include_str!("facts.rs"),
        include_str!("many.rs"),
        include_str!("scan.rs"),
        include_str!("store.rs"),
        include_str!("transaction.rs"),
    ];
    let calls = sources.iter().flat_map(|source| source.split("extern \"C\" fn ").skip(1));
    let names: Vec<_> = calls.filter_map(|rest| rest.split('(').next()).collect();
    assert!(names.len() > 25, "{names:?}");
    for name in names {
        assert!(header.contains(&format!("{name}(")), "{name} is not in include/saker.h");
        assert!(manual.contains(name), "{name} is not in man/saker.3");
    }
}

/// Threads use a store until another one closes it under them.
#[test]
fn threads_share_a_store_that_is_closed_under_them() {
    for round in 0..saker_testing::tier(3, 20_u32) {
        let url = if round % 2 == 0 {
            c"mem:?size=4MiB&profile=tiny"
        } else {
            c"mem:?size=4MiB&profile=tiny&threads=1"
        };
        let store = opened(url).addr();
        std::thread::scope(|scope| {
            for thread in 0..3_u32 {
                scope.spawn(move || use_until_closed(std::ptr::without_provenance_mut(store), thread));
            }
            scope.spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(5));
                assert_eq!(saker_close(std::ptr::without_provenance_mut(store)), 0);
            });
        });
        assert_eq!(saker_close(std::ptr::without_provenance_mut(store)), Class::Closed.number());
    }
}

fn use_until_closed(store: *mut saker_store, thread: u32) {
    for n in 0.. {
        let (key, mut value, mut length) = ([thread, n % 100].map(u32::to_be_bytes).concat(), [0; 8], 0);
        // SAFETY: lengths are those of the arrays.
        let answers = unsafe {
            [
                saker_put(store, key.as_ptr(), key.len(), key.as_ptr(), key.len()),
                saker_get(store, key.as_ptr(), key.len(), value.as_mut_ptr(), value.len(), &raw mut length),
            ]
        };
        if answers[1] != 0 {
            assert_eq!(answers[1], Class::Closed.number());
            return;
        }
        assert_eq!((answers[0], length, &value[..]), (0, 8, &key[..]));
    }
}
