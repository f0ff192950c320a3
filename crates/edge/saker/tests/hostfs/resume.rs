// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is done while a full file system is waited for: no page is spent, tries are few, and a format goes through.

use crate::hostfs::calls::profile;
use crate::support::{key, value};
use saker::image::faults::{self, HostFault, HostPlan};
use saker::image::{Access, open};
use saker::{EngineKind, ImagePlan, Kv};
use saker_flash::Cells;
use saker_flash::nand::Cell;
use saker_host::{HostError, KvError};
use saker_segment_store::PageAddr;

fn full() {
    faults::plan(Some(HostPlan { fault: HostFault::Full, at: 1, calls: u64::MAX }));
}

/// Without the repair each refusal spends a page, and then segments are collected for them.
#[test]
fn a_full_file_system_spends_no_page() {
    for engine in EngineKind::ALL {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("disk.img");
        ImagePlan { engine: *engine, ..ImagePlan::kv(8 << 20, "tiny", 3) }.create(&path).expect("creates");
        let url = format!("file:{}?depth=4", path.display());
        let mut kv = Kv::open(&url).expect("opens");
        (0..100).for_each(|n| kv.put(&key(n), &value(n, 1, 1000)).expect("puts"));
        full();
        let refused = (0..400).filter(|n| kv.put(&key(*n), &value(*n, 2, 1000)).is_err()).count();
        let calls = faults::calls();
        faults::plan(None);
        assert!(refused > 200, "{engine:?}: {refused} refused");
        // One for each refusal, and what was tried when the page buffer filled up.
        assert!(calls < 3 * refused as u64 + 100, "{engine:?}: {calls} calls for {refused} refusals");
        (0..100).for_each(|n| kv.put(&key(n), &value(n, 3, 1000)).expect("there is room again"));
        let failures = kv.stats().expect("inline").flash.failures;
        assert_eq!(failures, 0, "{engine:?}");
        kv.close().expect("closes");
        let opened = open(&path, Access::Read).expect("opens");
        let pages = opened.config.geometry.segments * opened.config.geometry.segment_pages;
        let torn = (0..u64::from(pages)).filter(|n| matches!(opened.media.cell(PageAddr(*n)), Cell::Torn));
        assert_eq!(torn.count(), 0, "{engine:?}");
    }
}

/// A page that cannot be written while others can is bad by itself: it is spent, and what it was to hold is kept.
#[test]
fn a_page_that_fails_alone_is_spent() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    ImagePlan::kv(8 << 20, "tiny", 3).create(&path).expect("creates");
    let url = format!("file:{}?depth=4", path.display());
    let mut kv = Kv::open(&url).expect("opens");
    faults::plan(Some(HostPlan { fault: HostFault::Io, at: 1, calls: 1 }));
    (0..300).for_each(|n| kv.put(&key(n), &value(n, 1, 1000)).expect("one bad page is no trouble"));
    faults::plan(None);
    assert!(kv.stats().expect("inline").flash.failures <= 1);
    drop(kv);
    let mut kv = Kv::open(&url).expect("opens");
    (0..300).for_each(|n| assert_eq!(kv.get(&key(n)), Ok(Some(value(n, 1, 1000))), "pair {n}"));
    kv.close().expect("closes");
}

/// Deletes work as far as the page buffer takes them, and then are refused like stores; the space that they free is
/// used.
#[test]
fn deletes_free_space_or_are_refused_alike() {
    for engine in EngineKind::ALL {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("disk.img");
        ImagePlan { engine: *engine, ..ImagePlan::kv(8 << 20, "tiny", 3) }.create(&path).expect("creates");
        let mut kv = Kv::open(&format!("file:{}?depth=4", path.display())).expect("opens");
        (0..1000).for_each(|n| kv.put(&key(n), &value(n, 1, 1000)).expect("puts"));
        full();
        let mut gone = Vec::new();
        for n in 0..1000 {
            match kv.delete(&key(n)) {
                Ok(there) => {
                    assert!(there);
                    gone.push(n);
                }
                Err(HostError::Kv(KvError::NotReady)) => {
                    assert_eq!(kv.exists(&key(n)), Ok(true), "{engine:?} {n}")
                }
                Err(error) => panic!("{engine:?}: {error}"),
            }
        }
        assert!(gone.len() > 20, "{engine:?}: {} deleted", gone.len());
        faults::plan(None);
        gone.iter().for_each(|n| assert_eq!(kv.exists(&key(*n)), Ok(false), "{engine:?} {n}"));
        kv.put(b"key", b"value").expect("there is room");
        kv.close().expect("closes");
    }
}

/// What a Flush confirms is on the disk: in a page buffer that lasts, or on flash, which has no room for it.
#[test]
fn a_flush_confirms_only_what_lasts() {
    for engine in EngineKind::ALL {
        for capacitor in [true, false] {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let path = dir.path().join("disk.img");
            let plan = ImagePlan::kv(8 << 20, &profile(dir.path(), capacitor), 3);
            ImagePlan { engine: *engine, ..plan }.create(&path).expect("creates");
            let mut kv = Kv::open(&format!("file:{}?depth=4", path.display())).expect("opens");
            full();
            (0..6).for_each(|n| kv.put(&key(n), &value(n, 1, 1000)).expect("the page buffer has room"));
            let expected = if capacitor { Ok(()) } else { Err(HostError::Kv(KvError::NotReady)) };
            assert_eq!(kv.flush(), expected, "{engine:?}, capacitor {capacitor}");
            faults::plan(None);
            assert_eq!(kv.flush(), Ok(()), "{engine:?}, capacitor {capacitor}");
            kv.close().expect("closes");
        }
    }
}

/// Nothing is stored, read or promised by a device whose Format has failed, until one succeeds.
#[test]
fn a_format_that_failed_refuses_a_flush_as_it_refuses_a_store() {
    for engine in EngineKind::ALL {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("disk.img");
        ImagePlan { engine: *engine, ..ImagePlan::kv(8 << 20, "tiny", 3) }.create(&path).expect("creates");
        let mut kv = Kv::open(&format!("file:{}?depth=4", path.display())).expect("opens");
        (0..300).for_each(|n| kv.put(&key(n), &value(n, 1, 1000)).expect("puts"));
        kv.flush().expect("flushes");
        faults::plan(Some(HostPlan { fault: HostFault::Io, at: 1, calls: u64::MAX }));
        let formatted = kv.format();
        let (stored, flushed) = (kv.put(&key(1), &value(1, 2, 10)), kv.flush());
        faults::plan(None);
        assert!(formatted.is_err() && stored.is_err(), "{engine:?}: {formatted:?}, {stored:?}");
        assert_eq!(flushed, stored, "{engine:?}");
        kv.format().expect("the disk is well again");
        kv.put(&key(1), &value(1, 3, 10)).expect("stores");
        kv.flush().expect("flushes");
        assert_eq!(kv.get(&key(1)), Ok(Some(value(1, 3, 10))), "{engine:?}");
    }
}
