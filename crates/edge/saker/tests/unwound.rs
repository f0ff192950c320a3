// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program's own code panics amid a transaction, and the program goes on: nothing of that transaction is done, and the device is as before.

use saker::{EngineKind, ImagePlan, Kv, SplitOutcome, Store, TransactionId};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

const LONG: &[u8] = b"a key that is longer than sixteen bytes";

fn devices(mut see: impl FnMut(&str)) {
    for engine in EngineKind::ALL.iter().copied() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("disk.img");
        ImagePlan { engine, ..ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path).expect("creates");
        see(&format!("mem:?size=16MiB&profile=tiny&engine={}", engine.name()));
        see(&format!("file:{}", path.display()));
    }
}

fn panics() {
    resume_unwind(Box::new("a user's own"));
}

#[test]
fn a_panic_leaves_nothing_of_its_transaction() {
    devices(|url| {
        let mut kv = Kv::open(url).expect("opens");
        kv.put(b"one", b"1").expect("room");
        let caught = catch_unwind(AssertUnwindSafe(|| {
            kv.transact(&mut |txn| {
                assert!(txn.get(b"one")?.is_some());
                txn.put(b"one", b"never")?;
                txn.put(LONG, b"never")?;
                panics();
                Ok(())
            })
        }));
        assert!(caught.is_err(), "{url}");
        let caught = catch_unwind(AssertUnwindSafe(|| {
            kv.read(&mut |read| {
                read.get(b"one")?;
                panics();
                Ok(())
            })
        }));
        assert!(caught.is_err(), "{url}");
        assert_eq!((kv.get(b"one"), kv.get(LONG)), (Ok(Some(b"1".to_vec())), Ok(None)), "{url}");
        let id = TransactionId { host: [5; 16], number: 1 };
        assert_eq!(kv.transaction_outcome(id), Ok(SplitOutcome::NotDone), "{url}");
        kv.transact(&mut |txn| txn.put(LONG, b"2")).expect("nobody is between");
        assert_eq!(kv.get(LONG), Ok(Some(b"2".to_vec())), "{url}");
        kv.close().expect("closes");
    });
}

/// Each read that only reads holds an iterator of the device: those of transactions that panicked are given back.
#[test]
fn panics_leave_no_iterators() {
    for engine in ["lsm", "tree"] {
        let mut kv = Kv::open(&format!("mem:?size=16MiB&profile=tiny&engine={engine}")).expect("opens");
        kv.put(b"one", b"1").expect("room");
        for n in 0..40 {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                kv.read(&mut |read| {
                    assert_eq!(read.get(b"one")?, Some(b"1".to_vec()));
                    panics();
                    Ok(())
                })
            }));
            assert!(
                caught.is_err_and(|panic| panic.downcast_ref() == Some(&"a user's own")),
                "{engine}, {n}"
            );
        }
        let mut found = None;
        kv.read(&mut |read| read.get(b"one").map(|value| found = value)).expect("it has room for it");
        assert_eq!(found, Some(b"1".to_vec()), "{engine}");
    }
}

#[test]
fn a_store_that_threads_share_goes_on() {
    devices(|url| {
        let store = Store::open(url).expect("opens");
        store.put(b"one", b"1").expect("room");
        let other = store.clone();
        let thread = std::thread::spawn(move || {
            other.transact(|txn| {
                txn.get(b"one")?;
                txn.put(b"one", b"never")?;
                panics();
                Ok(())
            })
        });
        assert!(thread.join().is_err(), "{url}");
        assert_eq!(store.get(b"one").expect("it is whole"), Some(b"1".to_vec()), "{url}");
        store.transact(|txn| txn.put(b"one", b"2")).expect("nobody is between");
        assert_eq!(store.get(b"one").expect("reads"), Some(b"2".to_vec()), "{url}");
        store.close().expect("closes");
    });
}
