// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Spaces: apart from each other, made and removed, after kills and reopenings.

use super::{store, url};
use saker::{EngineKind, HostError, ImagePlan, Require, Spaces, Store, StoreError, WriteBatch};
use saker_sim::{Rng, Seed};
use saker_testing::{seeds, tier};
use std::collections::BTreeMap;

type Model = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;

fn plan(engine: &EngineKind) -> ImagePlan {
    ImagePlan { engine: *engine, ..ImagePlan::kv(16 << 20, "tiny", 1) }
}

fn read(spaces: &Spaces) -> Model {
    let pairs = |store: Store| store.iter().expect("opens").collect::<Result<_, _>>().expect("read");
    let names = spaces.names().expect("read").into_iter();
    names.map(|name| (name.clone(), pairs(spaces.space(&name).expect("it is there")))).collect()
}

#[test]
fn spaces_are_maps_of_their_own() {
    for engine in EngineKind::ALL {
        for seed in seeds(tier(1, 20)) {
            let dir = tempfile::tempdir().expect("a folder");
            let path = dir.path().join("disk.img");
            let mut rng = Seed(seed).rng();
            let mut model = Model::new();
            let mut spaces = Spaces::open_or_create(&path, &plan(engine)).expect("made");
            for _ in 0..150 {
                let name = format!("space {}", rng.next_u64() % 4);
                match rng.next_u64() % 20 {
                    0 => assert_eq!(spaces.remove(&name).expect("removed"), model.remove(&name).is_some()),
                    1 => {
                        // Dropped without an end, as by a kill: the image recovers.
                        drop(spaces);
                        spaces = Spaces::open_or_create(&path, &plan(engine)).expect("opens");
                    }
                    _ => write(&spaces, &mut model, name, &mut rng),
                }
            }
            assert_eq!(read(&spaces), model, "{} {seed}", engine.name());
        }
    }
}

fn write(spaces: &Spaces, model: &mut Model, name: String, rng: &mut Rng) {
    let space = spaces.space(&name).expect("made");
    let pairs = model.entry(name).or_default();
    let key = vec![b'k'; 1 + (rng.next_u64() % 20) as usize];
    let value = rng.next_u64().to_be_bytes().to_vec();
    match rng.next_u64() % 4 {
        0 => assert_eq!(space.delete(&key).expect("deleted"), pairs.remove(&key).is_some()),
        1 => {
            let mut batch = WriteBatch::new();
            batch.put(&key, &value).delete(b"k").set_atomic(rng.next_u64().is_multiple_of(2));
            space.write(&batch).expect("written");
            if key != b"k" {
                pairs.insert(key, value);
            }
            pairs.remove(&b"k"[..]);
        }
        2 => {
            space.transact(|txn| txn.get("k").and_then(|_| txn.put(&key, &value))).expect("committed");
            pairs.insert(key, value);
        }
        _ => {
            assert_eq!(space.get(&key).expect("read").as_ref(), pairs.get(&key));
            space.put(&key, &value).expect("stored");
            pairs.insert(key, value);
        }
    }
}

/// A removal that a kill interrupts goes on at the next opening; whoever had the space is told.
#[test]
fn a_removal_goes_on_after_a_kill() {
    for engine in EngineKind::ALL {
        let device = store(engine);
        let spaces = Spaces::of(device.clone()).expect("it is empty");
        let (kept, left) = (spaces.space("kept").expect("made"), spaces.space("left").expect("made"));
        left.put_many((0..600_u32).map(|n| (n.to_be_bytes(), "value"))).expect("stored");
        kept.put("key", "value").expect("stored");
        // What `remove` writes first: the state of number 2.
        let mut catalogue = device.get([0]).expect("read").expect("it is there");
        let at = 4 + 4 + "kept".len() + 2;
        assert_eq!(catalogue[at], 0);
        catalogue[at] = 1;
        device.put([0], &catalogue).expect("stored");
        let spaces = Spaces::of(device.clone()).expect("opens");
        assert_eq!(spaces.names().expect("read"), ["kept"]);
        assert_eq!(device.iter().expect("opens").count(), 2, "the catalogue and one pair");
        assert_eq!(
            spaces.space("other").expect("made").device_key("k"),
            b"\x02k",
            "the number is free again"
        );

        assert!(spaces.remove("other").expect("removed"));
        let again = spaces.space("other").expect("made");
        again.put("key", "value").expect("stored");
        let clone = again.clone();
        assert!(spaces.remove("other").expect("removed"));
        assert!(matches!(clone.put("key", "value"), Err(StoreError::Gone)));
        assert!(matches!(again.iter(), Err(StoreError::Gone)));
    }
}

/// Errors name the keys of the space; a transaction of one is a conflict of the other only where they meet.
#[test]
fn failures_name_keys_of_the_space() {
    let spaces = Spaces::open(&url(&EngineKind::default())).expect("opens");
    let (one, two) = (spaces.space("one").expect("made"), spaces.space("two").expect("made"));
    one.put("key", "value").expect("stored");
    let mut txn = one.begin().expect("begins");
    txn.get("key").expect("read");
    txn.put("other", "value").expect("noted");
    two.put("key", "it is another one").expect("stored");
    txn.commit().expect("nobody has touched it");
    let mut txn = one.begin().expect("begins");
    txn.get("key").expect("read");
    txn.put("other", "value").expect("noted");
    one.put("key", "new").expect("stored");
    let conflict = txn.commit().expect_err("it has changed");
    assert!(
        matches!(&conflict, StoreError::Host(HostError::Conflict { key }) if key == b"key"),
        "{conflict}"
    );
    let mut txn = one.begin().expect("begins");
    txn.require("none", Require::Present).expect("noted");
    txn.put("other", "value").expect("noted");
    assert!(matches!(txn.commit(), Err(StoreError::Host(HostError::Unmet { key })) if key == b"none"));
    // Lengths: a key of a space is one byte shorter.
    assert!(one.put([7; 254], "").is_ok() && two.get([7; 254]).expect("read").is_none());
    for key in [&[7; 255][..], &[]] {
        assert!(matches!(one.put(key, ""), Err(StoreError::Host(HostError::KeyLength(_)))));
        assert!(matches!(one.multi_get(&[key]), Err(StoreError::Host(HostError::KeyLength(_)))));
        assert!(matches!(one.put_many([(key, "")]), Err(StoreError::Host(HostError::KeyLength(_)))));
    }
}

#[test]
fn a_device_of_other_pairs_is_none_of_spaces() {
    let device = store(&EngineKind::default());
    device.put("key", "value").expect("stored");
    assert!(matches!(Spaces::of(device.clone()), Err(StoreError::Spaces(_))));
    device.clear().expect("formatted");
    device.put([0], "no catalogue").expect("stored");
    assert!(matches!(Spaces::of(device.clone()), Err(StoreError::Spaces(_))));
    device.clear().expect("formatted");
    let spaces = Spaces::of(device).expect("it is empty");
    // More than one byte of number.
    let all: Vec<_> = (0..300).map(|n| spaces.space(&n.to_string()).expect("made")).collect();
    for (n, space) in all.iter().enumerate() {
        space.put("key", n.to_string()).expect("stored");
    }
    for (n, space) in all.iter().enumerate() {
        assert_eq!(space.get("key").expect("read"), Some(n.to_string().into_bytes()));
        assert_eq!(space.iter().expect("opens").count(), 1);
    }
    assert!(Spaces::of(all[0].clone()).is_err(), "a space has no spaces");
}
