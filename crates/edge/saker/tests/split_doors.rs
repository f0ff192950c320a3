// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions in parts on devices of this process, in memory and on images.

use crate::split_between::{Place, everything};
use crate::split_model::{DONE, DONE_BEFORE, Model, NO_SUCH, NOT_DONE, OPEN, Parts, id};
use saker::{
    BackupOptions, EngineKind, ImagePlan, Kv, SplitOutcome, back_up, grow_image, repair_image, verify_image,
};
use saker_nvme::Status;
use saker_nvme::group::{Ask, Op, SplitAction, ToAsk};
use saker_testing::{seeds, tier};
use std::path::Path;

const LONG: &[u8] = b"a key that is longer than sixteen bytes";
const BEGINS: (bool, bool) = (true, false);
const MORE: (bool, bool) = (false, false);
const ALONE: (bool, bool) = (true, true);

const fn store<'e>(key: &'e [u8], value: &'e [u8]) -> ToAsk<'e> {
    (Ask::Op(Op::Store), key, value)
}

/// A model follows histories of parts on every engine; an image is closed, or dropped as by a kill, and opened again.
#[test]
fn a_model_agrees() {
    for engine in EngineKind::ALL.iter().copied() {
        for seed in seeds(tier(2, 40)) {
            let what = format!("{}, seed {seed}", engine.name());
            let (mut model, steps) = (Model::new(seed), tier(600, 2_000));
            let mut parts = Parts::open(&format!("mem:?size=64MiB&profile=tiny&engine={}", engine.name()));
            (0..steps).for_each(|_| model.step(&mut parts, &what));
            model.look(&mut parts, &what);
            assert!(model.ended.0 > 10 && model.ended.1 > 10, "{what}: {:?}", model.ended);
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("disk.img");
            ImagePlan { engine, ..ImagePlan::kv(64 << 20, "tiny", seed) }.create(&path).expect("creates");
            let url = format!("file:{}", path.display());
            let mut model = Model::new(seed + 1_000_000);
            for life in 0..steps / 100 {
                let mut parts = Parts::open(&url);
                model.look(&mut parts, &what);
                (0..100).for_each(|_| model.step(&mut parts, &what));
                if life % 2 == 0 {
                    parts.raw.close().expect("closes");
                }
                model.opened();
            }
        }
    }
}

/// Whatever looks between the parts, and whatever ends them: in memory, and on an image, which grows while it is closed.
#[test]
fn what_looks_and_ends_between() {
    for engine in EngineKind::ALL.iter().copied() {
        let memory = format!("mem:?size=16MiB&profile=tiny&engine={}", engine.name());
        let mut open = || Kv::open(&memory).expect("opens");
        everything(&mut Place { open: &mut open, rest: &mut || {}, lasts: false, what: &memory });
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("disk.img");
        ImagePlan { engine, ..ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path).expect("creates");
        let mut open = || Kv::open(&format!("file:{}", path.display())).expect("opens");
        let mut rest = || {
            grow_image(&path, 24 << 20, None, &mut |_| {}).expect("grows");
        };
        let what = format!("file:, {}", engine.name());
        everything(&mut Place { open: &mut open, rest: &mut rest, lasts: true, what: &what });
    }
}

/// What an image has: three values, and what became of three transactions.
fn has(path: &Path, values: [Option<&[u8]>; 3], done: [bool; 3], what: &str) {
    let mut kv = Kv::open(&format!("file:{}", path.display())).expect("opens");
    let found = [&b"one"[..], b"two", LONG].map(|key| kv.get(key).expect("reads"));
    assert_eq!(found, values.map(|value| value.map(<[u8]>::to_vec)), "{what}");
    let told = [1, 2, 3].map(|number| kv.transaction_outcome(id(1, number)).expect("told"));
    let expected = done.map(|done| if done { SplitOutcome::DoneBefore } else { SplitOutcome::NotDone });
    assert_eq!(told, expected, "{what}");
    kv.close().expect("closes");
}

/// Copies of an image that are taken while a transaction is open have what was carried out, and nothing of what is open; each goes its own way. What wants
/// the image for itself is refused meanwhile, and ends nothing.
#[test]
fn copies_of_an_image_and_tools_that_want_it() {
    for engine in EngineKind::ALL.iter().copied() {
        for closes in [false, true] {
            let dir = tempfile::tempdir().expect("a directory");
            let [path, first, second, other] =
                ["disk.img", "first.img", "second.img", "other"].map(|name| dir.path().join(name));
            ImagePlan { engine, ..ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path).expect("creates");
            let what = format!("{}, closes: {closes}", engine.name());
            let url = format!("file:{}", path.display());
            let mut parts = Parts::open(&url);
            assert_eq!(parts.part(id(1, 1), ALONE, &[store(b"one", b"1")]), DONE, "{what}");
            let entries = [store(b"one", b"2"), store(LONG, b"2")];
            assert_eq!(parts.part(id(1, 2), BEGINS, &entries), Ok(2), "{what}");
            std::fs::copy(&path, &first).expect("copied");
            let refused = [
                grow_image(&path, 24 << 20, None, &mut |_| {}).err().map(|e| e.to_string()),
                repair_image(&path, &other, &mut |_| {}).err().map(|e| e.to_string()),
                verify_image(&path, &mut |_| {}).err().map(|e| e.to_string()),
                back_up(&url, &other, &BackupOptions::default(), &mut |_| {}).err().map(|e| e.to_string()),
                Kv::open(&url).err().map(|e| e.to_string()),
            ];
            for refused in refused {
                assert!(
                    refused.as_ref().is_some_and(|text| text.contains("is in use")),
                    "{what}: {refused:?}"
                );
            }
            assert_eq!(parts.part(id(1, 2), MORE, &[store(b"two", b"2")]), Ok(3), "{what}");
            assert_eq!(parts.control(id(1, 2), SplitAction::Commit), DONE, "{what}");
            assert_eq!(parts.part(id(1, 3), BEGINS, &[store(b"two", b"never")]), Ok(1), "{what}");
            std::fs::copy(&path, &second).expect("copied");
            assert_eq!(parts.control(id(1, 3), SplitAction::Outcome), OPEN, "{what}");
            if closes {
                parts.raw.close().expect("closes");
            } else {
                drop(parts);
            }
            let both = [Some(&b"2"[..]); 3];
            has(&path, both, [true, true, false], &what);
            has(&second, both, [true, true, false], &what);
            has(&first, [Some(b"1"), None, None], [true, false, false], &what);
            // To the first copy what is sent again is new.
            for (copy, told) in [(&first, DONE), (&second, DONE_BEFORE)] {
                let mut parts = Parts::open(&format!("file:{}", copy.display()));
                let control = parts.control(id(1, 2), SplitAction::Commit);
                assert_eq!(control, if told == DONE { NO_SUCH } else { DONE_BEFORE }, "{what}");
                assert_eq!(parts.part(id(1, 2), ALONE, &[store(b"one", b"3")]), told, "{what}");
                parts.raw.close().expect("closes");
            }
            has(&first, [Some(b"3"), None, None], [true, true, false], &what);
            has(&second, both, [true, true, false], &what);
        }
    }
}

/// Most bytes of a value that a transaction in parts writes alone. One more is refused at the commit, and nothing has changed.
fn longest(parts: &mut Parts, what: &str) -> usize {
    let (mut fits, mut too_long) = (1, parts.raw.transfer_bytes_max() as usize - 64);
    let mut number = 0;
    while too_long - fits > 1 {
        let middle = fits.midpoint(too_long);
        number += 1;
        let value = vec![number as u8; middle];
        match parts.part(id(7, number), ALONE, &[store(b"longest", &value)]) {
            DONE => fits = middle,
            told => {
                assert_eq!(told, Err(Status::WRITES_TOO_LONG), "{what}: {middle} bytes");
                assert_eq!(parts.control(id(7, number), SplitAction::Outcome), NOT_DONE, "{what}");
                too_long = middle;
            }
        }
        assert_eq!(
            parts.get(b"longest").map_or(0, |value| value.len()),
            fits * usize::from(fits > 1),
            "{what}"
        );
    }
    fits
}

/// How many transactions with such a value a host may have open.
fn fill(parts: &mut Parts, first: u64, value: &[u8]) -> u64 {
    (0..)
        .find(|n| {
            let told = parts.part(id(2, first + n), BEGINS, &[store(b"longest", value)]);
            assert!(matches!(told, Ok(1) | Err(Status::CAPACITY_EXCEEDED)), "{told:?}");
            told != Ok(1)
        })
        .expect("memory ends")
}

/// The longest values wait in the memory of the device for their commit, or until so much was written meanwhile; their memory is free then.
#[test]
fn the_longest_values_wait_and_time_out() {
    for engine in EngineKind::ALL.iter().copied() {
        let what = engine.name();
        let mut parts = Parts::open(&format!("mem:?size=256MiB&profile=saker-mid&engine={what}"));
        let bytes = longest(&mut parts, what);
        let value = vec![3; bytes];
        let open = fill(&mut parts, 0, &value);
        println!("{what}: {bytes} bytes, {open} open");
        assert_eq!(open, (8 << 20) / (bytes as u64 + 256 + 64), "{what}");
        // What is written meanwhile: an eighth of the capacity ends them all.
        let (beside, mut written) = (vec![4; 100_000], 0);
        while parts.control(id(2, 0), SplitAction::Outcome) == OPEN {
            assert!(written < 64 << 20, "{what}: it never times out");
            if written == 15_000_000 {
                assert_eq!(parts.control(id(2, 1), SplitAction::Commit), DONE, "{what}: it waited so long");
                assert_eq!(parts.get(b"longest").as_ref(), Some(&value), "{what}");
            }
            assert!(parts.put(b"beside", &beside).is_ok(), "{what}");
            written += beside.len();
        }
        println!("{what}: ended after {written}");
        for n in 0..open {
            let told = parts.control(id(2, n), SplitAction::Commit);
            assert_eq!(told, if n == 1 { DONE_BEFORE } else { NO_SUCH }, "{what}");
        }
        assert_eq!(fill(&mut parts, 100, &value), open, "{what}: their memory is free");
    }
}

/// So many commands for other transactions end one with the longest value, and not one less.
#[test]
fn the_longest_value_times_out_by_commands() {
    let mut parts = Parts::open("mem:?size=256MiB&profile=saker-mid");
    let value = vec![5; longest(&mut parts, "hash_store")];
    for (others, told) in [(65_535, DONE), (65_536, NO_SUCH)] {
        let id_ = id(2, others);
        assert_eq!(parts.part(id_, BEGINS, &[store(b"longest", &value)]), Ok(1));
        others_ask(&mut parts, others as u32);
        assert_eq!(parts.control(id_, SplitAction::Commit), told, "{others} others");
    }
    // Counted from its last part on.
    assert_eq!(parts.part(id(2, 70_000), BEGINS, &[store(b"longest", &value)]), Ok(1));
    for others in [65_535, 65_535] {
        others_ask(&mut parts, others);
        assert!(parts.part(id(2, 70_000), MORE, &[(Ask::Present, b"longest", b"")]).is_ok());
    }
    assert_eq!(parts.control(id(2, 70_000), SplitAction::Commit), DONE);
}

fn others_ask(parts: &mut Parts, times: u32) {
    for _ in 0..times {
        assert_eq!(parts.control(id(9, 9), SplitAction::Abort), Ok(0));
    }
}

/// Whatever ends transactions gives their memory back: all that a namespace may have is taken several times.
#[test]
fn their_memory_comes_back() {
    for ends in ["time-out", "abort", "refused", "begun anew"] {
        let mut parts = Parts::open("mem:?size=256MiB&profile=saker-mid");
        let value = vec![6; longest(&mut parts, "hash_store")];
        let open = fill(&mut parts, 0, &value);
        // A host has an eighth of what a namespace has.
        for round in 1..=9 {
            match ends {
                "time-out" => others_ask(&mut parts, 65_537),
                "begun anew" => {
                    for n in 0..open {
                        assert_eq!(
                            parts.part(id(2, n), BEGINS, &[store(b"longest", &value)]),
                            Ok(1),
                            "{ends}"
                        );
                    }
                    continue;
                }
                _ => {}
            }
            for n in 0..open {
                match ends {
                    "abort" => assert_eq!(parts.control(id(2, n), SplitAction::Abort), Ok(0)),
                    "refused" => {
                        assert!(parts.part(id(2, n), (false, true), &[(Ask::Present, b"no", b"")]).is_err())
                    }
                    _ => assert_eq!(parts.control(id(2, n), SplitAction::Commit), NO_SUCH),
                }
            }
            assert_eq!(fill(&mut parts, 0, &value), open, "{ends}, round {round}");
        }
    }
}
