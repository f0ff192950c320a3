// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A sync that fails: the kernel reports lost writes once, so nothing is confirmed any more, and nothing written, until
//! the image is opened again.

use crate::support::{key, value};
use saker::image::faults::{self, HostFault, HostPlan};
use saker::{EngineKind, ImagePlan, Kv};
use saker_host::{HostError, KvError, WriteBatch};

/// Without the repair a Flush is answered Internal Error, stores are acknowledged as if nothing had happened until the
/// page buffer is full, and then get Capacity Exceeded; and the next open takes the pages for whole.
#[test]
fn nothing_is_confirmed_after_a_sync_that_failed() {
    for engine in EngineKind::ALL {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("disk.img");
        ImagePlan { engine: *engine, ..ImagePlan::kv(4 << 20, "tiny", 3) }.create(&path).expect("creates");
        let url = format!("file:{}?depth=4", path.display());
        let mut kv = Kv::open(&url).expect("opens");
        (0..20).for_each(|n| kv.put(&key(n), &value(n, 1, 500)).expect("puts"));
        kv.flush().expect("flushes");
        let fault = HostFault::SyncFails;
        faults::plan(Some(HostPlan { fault, at: 1, calls: 1 }));
        let failed = Err(HostError::Kv(KvError::WriteFault));
        assert_eq!(kv.flush(), failed, "{engine:?}");
        faults::plan(None);
        assert_eq!(kv.flush(), failed, "{engine:?}: a second sync proves nothing");
        assert_eq!(kv.put(&key(1), b"x"), failed, "{engine:?}");
        assert_eq!(kv.put_if_absent(&key(99), b"x").map(|_| ()), failed, "{engine:?}");
        assert_eq!(kv.delete(&key(1)).map(|_| ()), failed, "{engine:?}");
        let mut batch = WriteBatch::new();
        batch.put(&key(2), b"x").put(&key(3), b"y").delete(&key(4));
        assert!(kv.write(&batch).is_err(), "{engine:?}");
        (0..20)
            .for_each(|n| assert_eq!(kv.get(&key(n)), Ok(Some(value(n, 1, 500))), "{engine:?}: reads go on"));
        assert!(kv.close().is_err(), "{engine:?}: there is no orderly end");
        let mut kv = Kv::open(&url).expect("opens");
        (0..20).for_each(|n| assert_eq!(kv.get(&key(n)), Ok(Some(value(n, 1, 500))), "{engine:?}"));
        kv.put(&key(1), b"new").expect("writes go on");
        kv.flush().expect("flushes");
        kv.close().expect("closes");
    }
}

/// What a failed writeback leaves is what a crash of the operating system leaves, and the header says so: pages that
/// are not whole are torn then, no damage.
#[test]
fn the_next_open_takes_it_for_a_crash_of_the_operating_system() {
    use saker::image::{Access, open};
    use saker_segment_store::PowerHistory;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    ImagePlan::kv(4 << 20, "tiny", 3).create(&path).expect("creates");
    let url = format!("file:{}?depth=4", path.display());
    for (fails, expected) in [(false, PowerHistory::Killed), (true, PowerHistory::Cut { ring_kept: true })] {
        let mut kv = Kv::open(&url).expect("opens");
        kv.put(b"key", b"value").expect("puts");
        if fails {
            faults::plan(Some(HostPlan { fault: HostFault::SyncFails, at: 1, calls: u64::MAX }));
        }
        assert_eq!(kv.flush().is_err(), fails);
        faults::plan(None);
        drop(kv);
        assert_eq!(open(&path, Access::Read).expect("opens").history, expected);
    }
}
