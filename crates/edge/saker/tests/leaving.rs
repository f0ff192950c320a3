// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Devices and iterators that are dropped, joined with queued puts, panics, power cuts and openings.

use crate::support::{key, value};
use saker::{DeviceIterator, EngineKind, ImagePlan, KeyRange, Kv};
use std::path::Path;
use std::time::{Duration, Instant};

const PAIRS: u32 = 500;

fn image(dir: &Path, engine: EngineKind) -> String {
    let path = dir.join(engine.name());
    ImagePlan { engine, ..ImagePlan::kv(8 << 20, "tiny", 1) }.create(&path).expect("creates");
    format!("file:{}", path.display())
}

fn queue_all(kv: &mut Kv) {
    (0..PAIRS).for_each(|n| kv.put_queued(&key(n), &value(n, 1, n % 900)).expect("queued"));
}

fn count(kv: &mut Kv) -> usize {
    (0..PAIRS).filter(|n| kv.get(&key(*n)).expect("read") == Some(value(*n, 1, n % 900))).count()
}

#[test]
fn queued_puts_are_stored_when_a_device_is_dropped() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for engine in EngineKind::ALL {
        let url = image(dir.path(), *engine);
        for options in ["", "?threads=1", "?timing=real", "?depth=4095"] {
            let mut kv = Kv::open(&format!("{url}{options}")).expect("opens");
            kv.format().expect("formats");
            queue_all(&mut kv);
            drop(kv);
            let mut kv = Kv::open(&url).expect("recovers");
            assert_eq!(count(&mut kv), PAIRS as usize, "{} {options}", engine.name());
            kv.close().expect("closes");
        }
    }
}

#[test]
fn a_panic_waits_for_nothing_and_spoils_nothing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for engine in EngineKind::ALL {
        let url = image(dir.path(), *engine);
        let caught = std::panic::catch_unwind(|| {
            let mut kv = Kv::open(&url).expect("opens");
            kv.put(b"before", b"stored").expect("stored");
            queue_all(&mut kv);
            std::panic::resume_unwind(Box::new("a user's own"));
        });
        assert!(caught.is_err());
        let mut kv = Kv::open(&url).expect("recovers");
        assert_eq!(kv.get(b"before"), Ok(Some(b"stored".to_vec())), "{}", engine.name());
        // What was not waited for is there as a whole or not at all.
        for n in 0..PAIRS {
            let found = kv.get(&key(n)).expect("read");
            assert!(found.is_none_or(|found| found == value(n, 1, n % 900)), "pair {n}");
        }
        kv.close().expect("closes");
    }
}

#[test]
fn a_device_without_power_is_not_waited_for() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let url = image(dir.path(), EngineKind::HASH_STORE);
    let mut kv = Kv::open(&format!("{url}?fault.cut=20")).expect("opens");
    // Where it notices first does not matter here.
    (0..PAIRS).take_while(|n| kv.put_queued(&key(*n), &value(*n, 1, n % 900)).is_ok()).for_each(drop);
    let begun = Instant::now();
    drop(kv);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    Kv::open(&url).expect("recovers").close().expect("closes");
}

fn opened(kv: &mut Kv) -> DeviceIterator {
    kv.open_iterator(&KeyRange::default()).expect("one more").expect("this engine has them")
}

#[test]
fn iterators_that_are_dropped_make_room_for_others() {
    for engine in [EngineKind::LSM, EngineKind::TREE] {
        for options in ["", "&threads=1", "&timing=real"] {
            let url = format!("mem:?profile=tiny&size=8MiB&engine={}{options}", engine.name());
            let mut kv = Kv::open(&url).expect("opens");
            kv.put(b"key", b"first").expect("stored");
            let mut kept = opened(&mut kv);
            for n in 0..100u32 {
                kv.put(b"key", &n.to_le_bytes()).expect("stored");
                let mut iterator = opened(&mut kv);
                if n % 3 == 0 {
                    let batch = kv.next_pairs(&mut iterator, 0, false, None).expect("pairs");
                    assert_eq!(batch.pairs().next(), Some((&b"key"[..], &n.to_le_bytes()[..])));
                }
                if n % 5 == 0 {
                    kv.close_iterator(iterator).expect("closed");
                }
            }
            // The one that is held is not mistaken for one that was dropped.
            let batch = kv.next_pairs(&mut kept, 0, false, None).expect("pairs");
            assert_eq!(batch.pairs().next(), Some((&b"key"[..], &b"first"[..])), "{url}");
            kv.close_iterator(kept).expect("closed");
            // Fifteen dropped, one held: all sixteen come back with a drain.
            let held = opened(&mut kv);
            (0..15).for_each(|_| drop(opened(&mut kv)));
            kv.drain().expect("drained");
            if options.is_empty() {
                let stats = kv.stats().expect("on this thread");
                let snapshots =
                    stats.namespaces[0].counters.iter().find(|(name, _)| *name == "num_snapshots");
                assert!(snapshots.is_none_or(|(_, open)| *open == 1), "{snapshots:?}");
            }
            let all: Vec<_> = (0..15).map(|_| opened(&mut kv)).collect();
            assert!(kv.open_iterator(&KeyRange::default()).is_err(), "sixteen are held");
            drop((all, held));
            drop(opened(&mut kv));
        }
    }
}
