// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions that survive a power cut once they are answered, on images whose device has no capacitor.

use crate::commit_through_cases as cases;
use crate::support::is_soak;
use saker::image::faults::{self, HostFault, HostPlan};
use saker::{CommitThroughError, EngineKind, HostError, ImagePlan, Kv, KvError, Require, Store, StoreError};
use std::path::Path;

fn open(path: &Path, options: &str) -> Kv {
    Kv::open(&format!("file:{}?{options}", path.display())).expect("opens")
}

#[test]
fn what_was_answered_survives_every_cut() {
    for engine in EngineKind::ALL.iter().copied() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut answered = 0;
        for cut_at in (1..if is_soak() { 200 } else { 20 }).step_by(3) {
            let path = dir.path().join("disk.img");
            cases::image(&path, engine);
            let mut kv = open(&path, &format!("fault.cut={cut_at}&fault.seed={cut_at}"));
            let last = cases::until_cut(&mut kv);
            answered += last;
            // There is no power, so an error is right.
            let _ = kv.close();
            let mut kv = open(&path, "");
            cases::is_there(&mut kv, last, &format!("{}, cut at {cut_at}", engine.name()));
            kv.close().expect("closes");
            std::fs::remove_file(&path).expect("removes");
        }
        assert!(answered > 0, "{}: nothing was answered before any cut", engine.name());
    }
}

#[test]
fn threads_that_share_a_store_commit_through_it() {
    for engine in EngineKind::ALL.iter().copied() {
        let store =
            Store::open(&format!("mem:?size=64MiB&profile=tiny&engine={}", engine.name())).expect("opens");
        std::thread::scope(|scope| {
            for thread in 0..4_u8 {
                let store = &store;
                scope.spawn(move || {
                    for n in 0..50_u8 {
                        let mut txn = store.begin().expect("it has them");
                        txn.put([thread + 1, n], [n]).expect("a good key");
                        txn.commit_through().expect("nobody is between");
                    }
                });
            }
        });
        assert!(
            (0..4).all(|t| (0..50).all(|n| store.exists([t + 1, n]).expect("looks"))),
            "{}",
            engine.name()
        );
        store.close().expect("closes");
    }
}

#[test]
fn what_is_refused_was_not_carried_out() {
    let mut kv = Kv::open("mem:?size=4MiB&profile=tiny").expect("opens");
    let mut txn = kv.begin_transaction().expect("it has them");
    txn.put(b"key", b"value").expect("a good key");
    txn.require(b"other", Require::Present).expect("a good key");
    let unmet = HostError::Unmet { key: b"other".to_vec() };
    assert_eq!(txn.commit_through(), Err(CommitThroughError::Commit(unmet)));
    assert!(!kv.exists(b"key").expect("looks"));
    kv.close().expect("closes");

    let store = Store::open("mem:?size=4MiB&profile=tiny").expect("opens");
    let mut txn = store.begin().expect("it has them");
    txn.put("key", "value").expect("a good key");
    store.close().expect("closes");
    assert!(matches!(txn.commit_through(), Err(CommitThroughError::Commit(StoreError::Closed))));
}

/// A host file system that fails at the Flush, and not before: the error says that the transaction was carried out.
#[test]
fn one_that_was_not_flushed_says_so() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("disk.img");
    ImagePlan::kv(4 << 20, "tiny", 1).create(&path).expect("creates");
    let mut kv = open(&path, "");
    faults::plan(Some(HostPlan { fault: HostFault::SyncFails, at: 1, calls: u64::MAX }));
    let mut txn = kv.begin_transaction().expect("it has them");
    txn.put(b"key", b"value").expect("a good key");
    let failed = txn.commit_through().expect_err("the sync fails");
    faults::plan(None);
    assert_eq!(failed, CommitThroughError::Unflushed(HostError::Kv(KvError::WriteFault)));
    assert!(failed.to_string().starts_with("the transaction was carried out, but not flushed: "), "{failed}");
    assert!(kv.exists(b"key").expect("looks"));
    drop(kv);
    assert!(open(&path, "").exists(b"key").expect("looks"), "the process has not lost it");
}
