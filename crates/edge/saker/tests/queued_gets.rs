// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Queued gets, in memory and in an image, on every engine.

use crate::queued_get_cases as cases;
use crate::support::held_back::HELD_BACK;
use crate::support::is_soak;
use saker::{EngineKind, ImagePlan, Kv};

fn steps() -> usize {
    if is_soak() { 20_000 } else { 600 }
}

fn open(url: &str) -> Kv {
    Kv::open(url).unwrap_or_else(|error| panic!("{url}: {error}"))
}

#[test]
fn agree_with_a_model_in_memory() {
    for (seed, engine) in EngineKind::ALL.iter().enumerate() {
        for options in ["", "&threads=1", "&timing=real", "&cache=20KiB", "&shards=2"] {
            for depth in [1, 5, 64] {
                let url =
                    format!("mem:?size=64MiB&profile=tiny&engine={}&depth={depth}{options}", engine.name());
                let steps = if options == "&timing=real" { steps() / 6 } else { steps() };
                cases::agree_with_a_model(open(&url), depth, seed as u64, steps).close().expect("closes");
            }
        }
    }
}

#[test]
fn agree_with_a_model_in_an_image() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (seed, engine) in EngineKind::ALL.iter().enumerate() {
        let path = dir.path().join(engine.name());
        ImagePlan { engine: *engine, ..ImagePlan::kv(64 << 20, "tiny", 1) }.create(&path).expect("creates");
        let url = format!("file:{}?depth=9", path.display());
        cases::agree_with_a_model(open(&url), 9, seed as u64, steps()).close().expect("closes");
    }
}

#[test]
fn are_bounded_and_of_one_handle() {
    for options in ["", "&threads=1", "&timing=real"] {
        let url = format!("mem:?size=8MiB&profile=tiny{options}");
        for depth in [1, 7, 64] {
            cases::are_bounded(&mut open(&format!("{url}&depth={depth}")), depth);
        }
        cases::are_of_one_handle(&mut open(&url), &mut open(&url));
    }
}

#[test]
fn see_puts_that_are_held_back() {
    for held_back in HELD_BACK {
        cases::see_queued_puts(&mut open(&format!(
            "mem:?profile=tiny&size=8MiB&engine=lsm&depth=256&{held_back}"
        )));
    }
}

/// Closed, formatted, dropped, and dropped by a panic with gets on their way, that are finished by nobody, or with a handle that is gone.
#[test]
fn a_device_may_go_before_its_gets() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (n, options) in ["", "threads=1", "timing=real"].iter().enumerate() {
        let path = dir.path().join(n.to_string());
        ImagePlan::kv(8 << 20, "tiny", 1).create(&path).expect("creates");
        let url = format!("file:{}?{options}", path.display());
        let asked = |kv: &mut Kv| -> Vec<_> {
            kv.put_queued(b"key", b"value").expect("queued");
            (0..20).map(|_| kv.get_queued(b"key").expect("queued")).collect()
        };
        let mut kv = open(&url);
        let gets = asked(&mut kv);
        kv.close().expect("closes with gets in flight");
        let mut kv = open(&url);
        let foreign = gets.into_iter().next().expect("20");
        assert!(kv.finish_get(foreign).is_err(), "of a handle that is closed");
        let mut gets = asked(&mut kv);
        kv.format().expect("formats");
        let before = kv.finish_get(gets.remove(0)).expect("answered before");
        assert!(before.is_none_or(|value| value == b"value"));
        drop(kv);
        let caught = std::panic::catch_unwind(|| {
            let mut kv = open(&url);
            let _gets = asked(&mut kv);
            std::panic::resume_unwind(Box::new("a user's own"));
        });
        assert_eq!(caught.expect_err("it panicked").downcast_ref(), Some(&"a user's own"));
        drop(gets);
        let mut kv = open(&url);
        cases::are_bounded(&mut kv, 64);
        kv.close().expect("closes");
    }
}
