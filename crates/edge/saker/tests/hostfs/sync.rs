// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A sync that fails: the kernel reports lost writes once, so nothing is confirmed any more, and nothing written, until
//! the image is opened again.

use crate::support::{key, value};
use saker::image::faults::{self, HostFault, HostPlan};
use saker::{EngineKind, ImagePlan, Kv};
use saker_flash::Cells;
use saker_host::{HostError, KvError, WriteBatch};
use saker_segment_store::{CellError, PowerHistory};

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

/// What came of a sync beside, sooner or later.
fn ended(cells: &mut saker::image::FileCells) -> Result<(), CellError> {
    loop {
        match cells.ended_sync() {
            Some(result) => return result,
            None => std::thread::yield_now(),
        }
    }
}

/// A sync beside ends once, for whoever began it, also where somebody had to wait for it; and if it fails nothing is written any more.
#[test]
fn a_sync_beside_ends_once_and_its_failure_is_for_good() {
    use saker::image::{Access, open};
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    ImagePlan::kv(4 << 20, "tiny", 3).create(&path).expect("creates");
    let mut cells = open(&path, Access::Write).expect("opens").media;
    assert!(cells.allow_syncs_beside() && cells.ended_sync().is_none());
    cells.begin_sync();
    assert_eq!(ended(&mut cells), Ok(()));
    let before = cells.syncs();
    cells.begin_sync();
    assert_eq!(cells.sync(), Ok(()), "it waits for the other");
    assert_eq!((ended(&mut cells), cells.syncs(), cells.ended_sync()), (Ok(()), before + 2, None));
    faults::plan(Some(HostPlan { fault: HostFault::SyncFails, at: 1, calls: 1 }));
    cells.begin_sync();
    faults::plan(None);
    assert!(ended(&mut cells).is_err() && cells.is_read_only());
    cells.begin_sync();
    assert!(ended(&mut cells).is_err(), "a second sync proves nothing");
    assert!(cells.sync().is_err());
    drop(cells);
    assert!(matches!(open(&path, Access::Write), Ok(opened) if opened.history != PowerHistory::Clean));
}
