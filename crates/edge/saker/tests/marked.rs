// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions over keys that the device takes for those of envelopes, on devices of this process.

use crate::marked_cases::{self as cases, marked};
use saker::{EngineKind, ImagePlan, Kv};

#[test]
fn marked_keys_are_in_transactions_as_others_are() {
    for engine in EngineKind::ALL.iter().copied() {
        let dir = tempfile::tempdir().expect("a directory");
        let options = format!("size=64MiB&profile=tiny&engine={}", engine.name());
        let mut kv = Kv::open(&format!("mem:?{options}")).expect("opens");
        cases::versions(&mut kv, engine);
        cases::marked_keys(&mut kv, engine);
        kv.close().expect("closes");
        let path = dir.path().join("disk.img");
        ImagePlan { engine, ..ImagePlan::kv(64 << 20, "tiny", 1) }.create(&path).expect("creates");
        let url = format!("file:{}", path.display());
        let mut kv = Kv::open(&url).expect("opens");
        cases::versions(&mut kv, engine);
        cases::marked_keys(&mut kv, engine);
        kv.close().expect("closes");
        let mut kv = Kv::open(&url).expect("opens");
        let version = kv.get_versioned(&marked(6)).expect("reads");
        let mut txn = kv.begin_transaction().expect("it has them");
        assert_eq!(txn.get(&marked(6)).expect("reads"), version.value, "{}", engine.name());
        txn.put(&marked(6), b"after a restart").expect("a good key");
        txn.commit().expect("nobody is between");
        assert_eq!(kv.get(&marked(6)).expect("reads").as_deref(), Some(&b"after a restart"[..]));
        kv.close().expect("closes");
    }
}
