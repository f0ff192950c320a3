// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Behind a fork.

use saker_handle::{Class, Store};

/// Runs `child` in a fork; whether it said yes.
fn forked(child: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child calls what it is given and ends; it uses nothing that another thread of the tests may have locked, but
    // for memory, whose locks the C library sees to.
    let id = unsafe { libc::fork() };
    assert!(id >= 0, "the system forks");
    if id == 0 {
        let code = i32::from(!child());
        // SAFETY: it ends this process and nothing else.
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    // SAFETY: `status` is a place for the answer.
    assert_eq!(unsafe { libc::waitpid(id, &raw mut status, 0) }, id);
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

#[test]
fn a_child_is_refused_and_the_parent_goes_on() {
    for url in ["mem:?size=4MiB&profile=tiny", "mem:?size=4MiB&profile=tiny&threads=1"] {
        let store = Store::open(url).expect("opens");
        store.put(b"key", b"value").expect("stored");
        let child = store.clone();
        assert!(forked(move || {
            let refused = |class| class == Class::Forked;
            let all = refused(child.get(b"key").unwrap_err().class)
                && refused(child.put(b"key", b"other").unwrap_err().class)
                && refused(child.close().unwrap_err().class)
                && child.is_closed();
            drop(child);
            all
        }));
        assert_eq!(store.get(b"key").expect("read"), Some(b"value".to_vec()), "{url}");
        store.close().expect("closes");
    }
}

/// The child has no thread that computes merges, and the parent's goes on.
#[test]
fn a_child_ends_while_a_thread_of_the_parent_computes() {
    let tree = "engine=lsm&min_blob_size=unlimited&write_buffer_size=64KiB&background_threads=1";
    let store = Store::open(&format!("mem:?size=64MiB&profile=tiny&{tree}")).expect("opens");
    let put =
        |n: u32| store.put(&(n * 7919 % 5000).to_be_bytes(), &n.to_le_bytes().repeat(20)).expect("stored");
    for round in 0..10 {
        (0..1000).for_each(|n| put(round * 1000 + n));
        let child = store.clone();
        assert!(forked(move || {
            let refused = child.put(b"key", b"other").unwrap_err().class == Class::Forked;
            drop(child);
            refused
        }));
    }
    assert_eq!(
        store.get(&(9999_u32 * 7919 % 5000).to_be_bytes()).expect("read"),
        Some(9999_u32.to_le_bytes().repeat(20))
    );
    store.close().expect("closes");
}

/// A device that the child opens itself is its own.
#[test]
fn a_child_opens_its_own() {
    let _parent = Store::open("mem:?size=4MiB&profile=tiny").expect("opens");
    assert!(forked(|| {
        let store = Store::open("mem:?size=4MiB&profile=tiny");
        store.is_ok_and(|store| store.put(b"key", b"value").is_ok() && store.close().is_ok())
    }));
}
