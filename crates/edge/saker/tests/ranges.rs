// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pairs of ranges one by one, beside a model, on every engine, in memory and on images.

use crate::support::{key, value};
use saker::{EngineKind, HostError, ImagePlan, KeyRange, Kv, KvError, ScanOptions};
use saker_testing::{seeds, tier};
use std::collections::BTreeMap;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Devices of every engine, in memory and on an image.
fn everywhere(mut with: impl FnMut(&mut Kv, EngineKind)) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for engine in EngineKind::ALL {
        let path = dir.path().join(engine.name());
        ImagePlan { engine: *engine, ..ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path).expect("creates");
        let memory = format!("mem:?size=16MiB&profile=tiny&engine={}", engine.name());
        for url in [memory, format!("file:{}", path.display())] {
            let mut kv = Kv::open(&url).unwrap_or_else(|e| panic!("{url}: {e}"));
            with(&mut kv, *engine);
            kv.close().expect("closes");
        }
    }
}

fn is_ordered(engine: EngineKind) -> bool {
    [EngineKind::LSM, EngineKind::TREE].contains(&engine)
}

/// What the model has of a range: short keys in order, then long ones in any; backwards the other way round.
fn expected(model: &Model, options: &ScanOptions<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let wanted = model.iter().filter(|(key, _)| options.range.contains(key));
    let of = |(key, value): (&Vec<u8>, &Vec<u8>)| {
        (key.clone(), if options.keys_only { Vec::new() } else { value.clone() })
    };
    wanted.map(of).collect()
}

/// Long keys and those of engines without order come in the order of digests.
fn sorted(mut pairs: Vec<(Vec<u8>, Vec<u8>)>) -> Vec<(Vec<u8>, Vec<u8>)> {
    pairs.sort();
    pairs
}

fn filled(kv: &mut Kv, seed: u64, engine: EngineKind) -> Model {
    let mut model = Model::new();
    // One is longer than the first batch is wide; hash FTLs take none that is longer than a page.
    let longest = if is_ordered(engine) { 20_000 } else { 0 };
    for n in 0..600_u32 {
        let (key, value) = (key(n), value(n, seed, n % 700 + n / 599 * longest));
        kv.put(&key, &value).expect("stored");
        model.insert(key, value);
    }
    for n in (0..600).step_by(7) {
        kv.delete(&key(n)).expect("deleted");
        model.remove(&key(n));
    }
    model
}

#[test]
fn iterators_show_what_a_model_has() {
    for seed in seeds(tier(1, 8)) {
        everywhere(|kv, engine| {
            let model = filled(kv, seed, engine);
            for (n, pairs_max) in [0, 1, 16, 100, 1000].into_iter().enumerate() {
                let (from, to) = (key(n as u32 * 31), key(400 - n as u32));
                let ranges = [
                    KeyRange::default(),
                    KeyRange { from: &from, ..KeyRange::default() },
                    KeyRange { from: &from, to: &to, ..KeyRange::default() },
                    KeyRange { prefix: b"k1", ..KeyRange::default() },
                ];
                for (range, keys_only) in ranges.into_iter().zip([false, true, false, false]) {
                    let options = ScanOptions { range, keys_only, pairs_max, backwards: false };
                    let found: Vec<_> =
                        kv.range(&options).expect("opens").map(|p| p.expect("read")).collect();
                    if is_ordered(engine) {
                        let short = found.iter().take_while(|(key, _)| key.len() <= 16);
                        assert!(short.map(|(key, _)| key).is_sorted(), "{engine:?} {options:?}");
                    }
                    assert_eq!(sorted(found), expected(&model, &options), "{engine:?} {options:?}");
                }
            }
        });
    }
}

#[test]
fn backwards_they_show_the_same() {
    everywhere(|kv, engine| {
        let model = filled(kv, 1, engine);
        let options = ScanOptions { backwards: true, ..ScanOptions::default() };
        let found = match kv.range(&options) {
            Ok(range) => range.map(|pair| pair.expect("read")).collect::<Vec<_>>(),
            Err(error) => return assert!(error == HostError::NoOrder && !is_ordered(engine)),
        };
        let short: Vec<_> = found.iter().map(|(key, _)| key).filter(|key| key.len() <= 16).collect();
        assert!(short.iter().rev().is_sorted(), "{engine:?}");
        assert_eq!(sorted(found), expected(&model, &options), "{engine:?}");
    });
}

/// One that is dropped early holds nothing: no iterator of the device, no memory that the next one would show.
#[test]
fn one_that_stops_early_leaves_nothing_behind() {
    everywhere(|kv, engine| {
        for n in 0..500_u32 {
            kv.put(&n.to_be_bytes(), &[7; 40]).expect("stored");
        }
        for n in 0..100_usize {
            let mut range = kv.range(&ScanOptions::default()).expect("the last one has ended");
            for _ in 0..n {
                assert!(matches!(range.next_pair(), Ok(Some((_, value))) if value == [7; 40]), "{engine:?}");
            }
            drop(range);
            let mut none = kv.range(&ScanOptions {
                range: KeyRange { prefix: b"no such key", ..KeyRange::default() },
                ..ScanOptions::default()
            });
            assert_eq!(none.as_mut().expect("opens").next_pair(), Ok(None), "{engine:?}");
            assert_eq!(none.expect("opens").next_pair(), Ok(None), "the end stays the end");
        }
    });
}

/// An iterator of which the device knows nothing any more says so, and shows nothing that came later.
#[test]
fn a_lost_iterator_is_an_error() {
    everywhere(|kv, engine| {
        if !is_ordered(engine) {
            return;
        }
        let held: Vec<_> = (0..16).map(|_| kv.open_scan(&ScanOptions::default()).expect("opens")).collect();
        let error = kv.range(&ScanOptions::default()).err();
        assert_eq!(error, Some(KvError::ManyIterators.into()), "{engine:?}");
        drop(held);
        assert_eq!(kv.range(&ScanOptions::default()).expect("dropped ones make room").count(), 0);
    });
}

/// A scan that stops where the last two have stopped sends no more commands than one that has said so beforehand; behind a short one it
/// asks for little.
#[test]
fn what_scans_usually_take_is_asked_for_at_once() {
    everywhere(|kv, engine| {
        if !is_ordered(engine) {
            return;
        }
        for n in 0..500_u32 {
            kv.put(&n.to_be_bytes(), &[7; 40]).expect("stored");
        }
        let mut commands = |pairs_max, taken| {
            let before = kv.stats().expect("on this thread").device.commands;
            let mut range = kv.range(&ScanOptions { pairs_max, ..ScanOptions::default() }).expect("opens");
            for n in 0..taken {
                let key = u32::to_be_bytes(n);
                assert_eq!(range.next_pair(), Ok(Some((&key[..], &[7; 40][..]))), "{engine:?}");
            }
            drop(range);
            kv.stats().expect("on this thread").device.commands - before
        };
        let told = commands(100, 100);
        let untold = [100, 100, 100, 5, 100, 100].map(|taken| commands(0, taken));
        let more = untold.map(|commands| commands - told);
        let needs_more = more.map(|commands| commands > 0);
        assert_eq!(
            needs_more,
            [true, false, false, false, true, true],
            "{engine:?}: {more:?} more than {told}"
        );
    });
}
