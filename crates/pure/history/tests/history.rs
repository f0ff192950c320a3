// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Histories tell the same of the same program, and something else of another one.

use saker_device::EngineKind;
use saker_history::{CutTale, Setup, Side, Tale, cut_points, tell, tell_cut};

fn setup(engine: EngineKind, side: Side) -> Setup {
    Setup::new(engine, side, 1)
}

fn told(setup: &Setup) -> Tale {
    tell(setup).unwrap_or_else(|why| panic!("{setup:?}: {why}"))
}

/// What every engine of a kind must have done in its history.
fn work_of(engine: &str) -> &'static [&'static str] {
    match engine {
        "lsm" => &["engine.flushes", "engine.compactions", "engine.table_pages_written", "store.checkpoints"],
        "tree" => &["engine.merges", "engine.roots", "engine.nodes_written", "store.checkpoints"],
        "hash_store" => &["store.checkpoints", "store.checkpoint_bytes", "store.gc_records_copied"],
        _ => &["engine.evictions_background", "engine.table_pages_written_gc", "engine.collected_records"],
    }
}

fn is_at_work(setup: &Setup, tale: &Tale) {
    let common = ["flash.programs", "flash.erases", "store.gc_segments", "log.user_pages"];
    for name in common.iter().chain(work_of(tale.engine)) {
        let count = tale.counters.get(*name);
        assert!(count > Some(&0), "{setup:?}: {name} is {count:?}: {:#?}", tale.counters);
    }
}

fn on(side: Side) {
    for engine in EngineKind::ALL {
        let setup = setup(*engine, side);
        let tale = told(&setup);
        is_at_work(&setup, &tale);
        if ![EngineKind::HASH_STORE, EngineKind::LSM].contains(engine) {
            continue;
        }
        let other = told(&Setup { seed: 2, ..setup });
        assert_ne!(tale.outcomes, other.outcomes, "{setup:?}: another seed");
        assert_ne!(tale.digest(), other.digest(), "{setup:?}: another seed");
    }
}

#[test]
fn every_mechanism_is_at_work_in_the_device() {
    on(Side::Device);
}

#[test]
fn every_mechanism_is_at_work_at_the_host() {
    on(Side::Host);
}

#[test]
fn every_mechanism_is_at_work_in_the_engine_alone() {
    on(Side::Engine);
}

#[test]
fn the_same_seed_tells_the_same() {
    for side in Side::ALL {
        let setup = setup(if side == Side::Device { EngineKind::HASH_PLUS } else { EngineKind::LSM }, side);
        assert_eq!(told(&setup), told(&setup), "{setup:?}");
    }
}

#[test]
fn another_memtable_shows() {
    for side in [Side::Device, Side::Engine] {
        for engine in [EngineKind::LSM, EngineKind::TREE] {
            let setup = setup(engine, side);
            let other = Setup { write_buffer_bytes: setup.write_buffer_bytes * 2, ..setup };
            let (one, two) = (told(&setup), told(&other));
            assert_ne!(one.media, two.media, "{setup:?}");
            assert_ne!(one.digest(), two.digest(), "{setup:?}");
        }
    }
}

#[test]
fn what_a_side_lacks_is_named() {
    let missing = |engine, side| told(&setup(engine, side)).missing.into_iter().collect::<Vec<_>>();
    assert!(missing(EngineKind::LSM, Side::Device).is_empty());
    assert_eq!(missing(EngineKind::HASH_STORE, Side::Device), ["scans under a snapshot"]);
    assert_eq!(missing(EngineKind::TREE, Side::Engine), ["long keys"]);
    assert!(missing(EngineKind::TREE, Side::Host).contains(&"groups"));
    assert_eq!(told(&setup(EngineKind::HASH_PLUS, Side::Host)).engine, "hash_store", "it stands in");
}

#[test]
fn with_every_fourth_seed_programs_fail() {
    for side in Side::ALL {
        let failures =
            |seed| told(&Setup::new(EngineKind::HASH_STORE, side, seed)).counters["flash.failures"];
        assert_eq!(failures(3), 0, "{side:?}");
        assert!(failures(4) > 0, "{side:?}");
    }
}

fn cuts(setup: &Setup, count: u64) -> Vec<CutTale> {
    let points = cut_points(setup, count).unwrap_or_else(|why| panic!("{setup:?}: {why}"));
    let cut = |at| tell_cut(setup, at).unwrap_or_else(|why| panic!("{setup:?}, cut at {at}: {why}"));
    points.into_iter().map(cut).collect()
}

#[test]
fn cuts_are_told_with_what_recovery_finds() {
    for engine in EngineKind::ALL {
        for side in [Side::Device, Side::Engine] {
            for capacitor in [true, false] {
                let setup = Setup { capacitor, short: true, ..setup(*engine, side) };
                let told = cuts(&setup, 3);
                assert!(told.windows(2).all(|w| w[0].operations < w[1].operations), "{setup:?}: {told:?}");
                assert!(told.iter().all(|cut| cut.recovered.state != 0), "{setup:?}");
                assert_ne!(told[0].recovered.digest(), told[2].recovered.digest(), "{setup:?}");
            }
        }
    }
}

/// Values from 64 bytes on in the value log, from 4096 on, none, and as the store decides.
const MIN_BLOB_SIZES: [u64; 4] = [3, 9, 14, 15];

#[test]
fn every_mechanism_is_at_work_with_values_in_the_tree() {
    for side in Side::ALL {
        let apart = setup(EngineKind::LSM, side);
        let media = told(&apart).media;
        for min_blob_size in MIN_BLOB_SIZES {
            let inside = Setup { min_blob_size, ..apart };
            let tale = told(&inside);
            assert_ne!(tale.media, media, "{inside:?}");
            for name in ["engine.flushes", "engine.compactions", "store.checkpoints", "store.gc_segments"] {
                assert!(tale.counters.get(name) > Some(&0), "{inside:?}: {name}");
            }
        }
    }
}

#[test]
fn cuts_find_values_in_the_tree() {
    for side in [Side::Device, Side::Engine] {
        for (min_blob_size, capacitor) in MIN_BLOB_SIZES.into_iter().zip([true, false, true, false]) {
            let setup = Setup { capacitor, short: true, min_blob_size, ..setup(EngineKind::LSM, side) };
            assert!(cuts(&setup, 4).iter().all(|cut| cut.recovered.state != 0), "{setup:?}");
        }
    }
}

#[test]
fn a_cut_tells_the_same_twice() {
    let setup = Setup { capacitor: false, short: true, ..setup(EngineKind::TREE, Side::Device) };
    assert_eq!(cuts(&setup, 2), cuts(&setup, 2));
}
