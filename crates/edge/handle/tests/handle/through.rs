// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions that survive a power cut when they are answered, on images whose device has no capacitor.

use saker::EngineKind;
use saker_handle::{Class, Fault, Store, create};
use std::path::Path;

/// Flash that no engine fills here.
fn image(path: &Path, engine: EngineKind) -> String {
    create(path, "256MiB", "nvmevirt-970pro", engine.name(), 1).expect("creates");
    format!("file:{}", path.display())
}

/// A transaction of two pairs, with this number.
fn put_both(store: &Store, number: u64) -> Result<(), Fault> {
    let txn = store.begin()?;
    for key in [&b"one"[..], b"a key that is longer than sixteen bytes"] {
        txn.put(key, &number.to_le_bytes().repeat(40))?;
    }
    let ended = txn.commit_through();
    assert!(txn.is_ended(), "whatever the answer");
    ended
}

#[test]
fn what_was_answered_survives_every_cut() {
    for engine in EngineKind::ALL {
        let (mut answered, mut unflushed) = (0, 0);
        for cut_at in (1..20).step_by(3) {
            let dir = tempfile::tempdir().expect("a directory");
            let url = image(&dir.path().join("disk.img"), *engine);
            let store = Store::open(&format!("{url}?fault.cut={cut_at}&fault.seed={cut_at}")).expect("opens");
            let (last, fault) = (1..100_000)
                .find_map(|n| put_both(&store, n).err().map(|fault| (n - 1, fault)))
                .expect("the cut comes");
            answered += last;
            if fault.class == Class::Unflushed {
                assert!(!fault.class.is(Class::Transaction) && fault.status.is_some(), "something was done");
                assert!(
                    fault.text.starts_with("the transaction was carried out, but not flushed: "),
                    "{fault}"
                );
                unflushed += 1;
            }
            // There is no power, so an error is right.
            let _ = store.close();
            let store = Store::open(&url).expect("opens");
            let found =
                store.get(b"one").expect("reads").map_or(0, |v| u64::from(v[0]) | u64::from(v[1]) << 8);
            assert!((last..=last + 1).contains(&found), "{engine:?}, cut at {cut_at}: {found} of {last}");
            store.close().expect("closes");
        }
        assert!(
            answered > 0 && unflushed > 0,
            "{engine:?}: {answered} were answered, {unflushed} not flushed"
        );
    }
}

#[test]
fn what_is_refused_is_told_as_by_commit() {
    let store = Store::open("mem:?size=4MiB&profile=tiny").expect("opens");
    let txn = store.begin().expect("it has them");
    txn.put(b"key", b"value").expect("a good key");
    txn.require(b"other", saker_handle::Require::Present).expect("a good key");
    let fault = txn.commit_through().expect_err("it does not hold");
    assert_eq!((fault.class, fault.key.as_deref()), (Class::Unmet, Some(&b"other"[..])));
    assert_eq!(txn.commit_through().expect_err("it has ended").class, Class::Closed);
    assert!(!store.exists(b"key").expect("looks"));
}
