// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Many keys in one call.

use crate::answer::answer;
use crate::bytes::{copy, read, wanted};
use crate::misuse::misuse;
use crate::registry::find;
use crate::store::saker_store;
use saker_handle::{Class, Fault, Store};

/// A key that is asked for among others, and what became of it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct saker_wanted {
    /// The key.
    key: *const u8,
    /// Its length.
    key_bytes: usize,
    /// Where its value goes.
    buffer: *mut u8,
    /// Bytes of the buffer.
    buffer_bytes: usize,
    /// Answer: the value's length, which may be more than the buffer's; 0 if it is not there.
    value_bytes: usize,
    /// Answer: whether it is there.
    is_there: bool,
}

/// Reads the values of many keys, which leave together. If it fails, nothing is said about any of them.
///
/// # Safety
/// There are `count` of `wanted`, whose lengths are those of their bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saker_multi_get(
    store: *mut saker_store,
    wanted: *mut saker_wanted,
    count: usize,
) -> i32 {
    answer(|| {
        let store = find::<Store, _>(store)?;
        // SAFETY: the caller says so.
        let asked = unsafe { keys(wanted, count) }?;
        let keys: Vec<&[u8]> = asked.iter().map(Vec::as_slice).collect();
        let values = store.multi_get(&keys)?;
        for (n, value) in values.iter().enumerate() {
            // SAFETY: as above.
            unsafe { give(wanted.add(n), value.as_deref()) }?;
        }
        Ok(())
    })
}

/// The keys, copied: a buffer may lie over one that is read later.
///
/// # Safety
/// As `saker_multi_get`.
unsafe fn keys(of: *mut saker_wanted, count: usize) -> Result<Vec<Vec<u8>>, Fault> {
    if count == 0 {
        return Ok(Vec::new());
    }
    wanted("wanted", of)?;
    if count > isize::MAX as usize / size_of::<saker_wanted>() {
        return Err(misuse(Class::Argument, "count: no memory has so many"));
    }
    let key = |n| {
        // SAFETY: the caller says so. Places of answers may hold anything, so that only the key is read.
        unsafe {
            let one = of.add(n);
            let at = (&raw const (*one).key).read_unaligned();
            read("key", at, (&raw const (*one).key_bytes).read_unaligned()).map(<[u8]>::to_vec)
        }
    };
    (0..count).map(key).collect()
}

/// Tells what became of one.
///
/// # Safety
/// As `saker_multi_get`.
unsafe fn give(one: *mut saker_wanted, value: Option<&[u8]>) -> Result<(), Fault> {
    // SAFETY: the caller says so.
    unsafe {
        let buffer = (&raw const (*one).buffer).read_unaligned();
        let room = (&raw const (*one).buffer_bytes).read_unaligned();
        if let Some(value) = value {
            copy("buffer", value, buffer, room)?;
        }
        (&raw mut (*one).value_bytes).write_unaligned(value.map_or(0, <[u8]>::len));
        (&raw mut (*one).is_there).write_unaligned(value.is_some());
    }
    Ok(())
}
