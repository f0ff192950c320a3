// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What became of transactions with an ID goes along with the pairs, whatever copies them: a copy carries none out a second time.

use super::rig::{image, no_news, pairs, url};
use saker::{
    BackupOptions, EngineKind, Kv, RestoreOptions, TransactionEnd, TransactionId, back_up, grow_image,
    repair_image, restore,
};
use std::path::Path;

const ORDER: TransactionId = TransactionId { host: *b"some shop's name", number: 1000 };

fn sell(kv: &mut Kv, stock: &[u8]) -> TransactionEnd {
    let mut txn = kv.begin_transaction().expect("has transactions");
    txn.put(b"stock", stock).expect("taken");
    txn.commit_as(ORDER).expect("answered")
}

/// Asked again, with what would be another effect.
fn is_known(path: &Path, what: &str) {
    let mut kv = Kv::open(&url(path)).expect("opens");
    assert_eq!(sell(&mut kv, b"3"), TransactionEnd::DoneBefore, "{what}");
    assert_eq!(kv.get(b"stock"), Ok(Some(b"4".to_vec())), "{what}");
    assert_eq!(pairs(&mut kv).len(), 1, "{what}: a scan shows what was stored");
    assert_eq!(kv.list(None).count(), 1, "{what}");
    kv.close().expect("closes");
}

#[test]
fn a_copy_knows_what_was_carried_out() {
    for engine in EngineKind::ALL {
        let (dir, name) = (tempfile::tempdir().expect("a temporary directory"), engine.name());
        let [path, other, mended, file] =
            ["a.img", "b.img", "c.img", "a.bak"].map(|name| dir.path().join(name));
        image(&path, *engine, 4 << 20);
        let mut kv = Kv::open(&url(&path)).expect("opens");
        assert_eq!(sell(&mut kv, b"4"), TransactionEnd::Done);
        kv.close().expect("closes");
        back_up(&url(&path), &file, &BackupOptions::default(), &mut no_news).expect("backed up");
        repair_image(&path, &mended, &mut no_news).expect("repaired");
        grow_image(&path, 6 << 20, None, &mut no_news).expect("grows");
        is_known(&path, &format!("{name}, grown"));
        is_known(&mended, &format!("{name}, repaired"));
        // The engine of the copy is another one.
        image(&other, EngineKind::LSM, 8 << 20);
        restore(&[file], &url(&other), &RestoreOptions::default(), &mut no_news).expect("restored");
        is_known(&other, &format!("{name}, restored"));
    }
}
