// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random histories beside a map.

use super::super::{seed, tier};
use super::{Rng, add, counter, image, in_memory, settle, stop};
use saker::{HostError, KeyRange, Kv, ScanOptions, WriteBatch};
use std::collections::BTreeMap;
use std::fmt::Debug;

pub type Model = BTreeMap<Vec<u8>, Vec<u8>>;
/// What is not as it should be.
pub type Told = Result<(), String>;

const KEYS: u64 = 300;

fn same<T: PartialEq + Debug>(found: &T, known: &T, what: &str, n: u64) -> Told {
    if found == known { Ok(()) } else { Err(format!("step {n}, {what}: {found:?}, and not {known:?}")) }
}

fn key(n: u64) -> Vec<u8> {
    // One in ten is longer than a device's keys.
    let mut key = format!("key{n}").into_bytes();
    if n.is_multiple_of(10) {
        key.resize(40, b'.');
    }
    key
}

/// Pairs from a key on, either way; of short keys alone, which are in order.
fn scanned(kv: &mut Kv, from: &[u8], backwards: bool) -> Vec<(Vec<u8>, Vec<u8>)> {
    let range = if backwards {
        KeyRange { to: from, ..KeyRange::default() }
    } else {
        KeyRange { from, ..KeyRange::default() }
    };
    let options = ScanOptions { range, backwards, ..ScanOptions::default() };
    let mut all = Vec::new();
    kv.scan(&options, &mut |key, value| {
        if key.len() <= 16 {
            all.push((key.to_vec(), value.to_vec()));
        }
        true
    })
    .expect("scans");
    all
}

fn known(model: &Model, from: &[u8], backwards: bool) -> Vec<(Vec<u8>, Vec<u8>)> {
    let is_wanted =
        |key: &[u8]| key.len() <= 16 && if backwards { from.is_empty() || key < from } else { key >= from };
    let mut all: Vec<_> = model
        .iter()
        .filter(|(key, _)| is_wanted(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if backwards {
        all.reverse();
    }
    all
}

/// Everything is as the map has it.
pub fn whole(kv: &mut Kv, model: &Model, n: u64) -> Told {
    same(&scanned(kv, b"", false), &known(model, b"", false), "a scan", n)?;
    for number in 0..KEYS {
        let key = key(number);
        same(&kv.get(&key).expect("reads").as_ref(), &model.get(&key), &String::from_utf8_lossy(&key), n)?;
    }
    Ok(())
}

fn write_batch(kv: &mut Kv, model: &mut Model, rng: &mut Rng, n: u64) {
    let mut batch = WriteBatch::new();
    batch.set_atomic(true);
    for _ in 0..1 + rng.below(8) {
        let key = format!("key{}", rng.below(KEYS)).into_bytes();
        if rng.below(4) == 0 {
            batch.delete(&key);
            model.remove(&key);
        } else {
            let value = vec![n as u8; rng.below(2000) as usize];
            batch.put(&key, &value);
            model.insert(key, value);
        }
    }
    kv.write(&batch).unwrap_or_else(|why| panic!("{n}: {why}"));
}

/// A transaction that reads a pair and writes another. One in two is late: what it has read is written before it commits.
fn transfer(kv: &mut Kv, model: &mut Model, rng: &mut Rng, n: u64) -> Told {
    let mut name = || format!("key{}", rng.below(KEYS)).into_bytes();
    let (from, to) = (name(), name());
    let mut txn = kv.begin_transaction().expect("it has them");
    same(&txn.get(&from).expect("reads").as_ref(), &model.get(&from), "in a transaction", n)?;
    txn.put(&to, &[n as u8; 100]).expect("a good key");
    let set = txn.suspend();
    let is_late = rng.below(2) == 0;
    if is_late {
        kv.put(&from, b"late").expect("room");
        model.insert(from.clone(), b"late".to_vec());
    }
    match kv.resume_transaction(set).commit() {
        Ok(()) if !is_late => _ = model.insert(to, vec![n as u8; 100]),
        Err(HostError::Conflict { key }) if is_late => same(&key, &from, "a conflict", n)?,
        told => return Err(format!("step {n}: {told:?}, late: {is_late}")),
    }
    Ok(())
}

fn step(kv: &mut Kv, model: &mut Model, rng: &mut Rng, n: u64) -> Told {
    let key = key(rng.below(KEYS));
    match rng.below(30) {
        0..12 => {
            let bytes = if rng.below(60) == 0 { 60_000 } else { rng.below(1500) as usize };
            let value = vec![n as u8; bytes];
            kv.put(&key, &value).expect("room");
            model.insert(key, value);
        }
        12..17 => {
            let was_there = model.remove(&key).is_some();
            same(&kv.delete(&key).expect("deletes"), &was_there, "a delete", n)?;
        }
        17 => same(&kv.exists(&key).expect("asks"), &model.contains_key(&key), "whether it is there", n)?,
        18 => write_batch(kv, model, rng, n),
        19 => transfer(kv, model, rng, n)?,
        20 => {
            let (from, backwards) = (format!("key{}", rng.below(KEYS)), rng.below(2) == 0);
            let of = from.as_bytes();
            same(&scanned(kv, of, backwards), &known(model, of, backwards), "a scan", n)?;
        }
        21 if n.is_multiple_of(8) => kv.flush().expect("lasts"),
        _ => same(&kv.get(&key).expect("reads").as_ref(), &model.get(&key), "a get", n)?,
    }
    Ok(())
}

/// Steps between which writes are stopped, and go on again.
pub fn history(kv: &mut Kv, model: &mut Model, rng: &mut Rng, steps: u64) -> Told {
    let mut is_stopped = false;
    for n in 0..steps {
        if rng.below(50) == 0 {
            is_stopped = !is_stopped;
            stop(is_stopped);
        }
        step(kv, model, rng, n)?;
    }
    whole(kv, model, steps)
}

fn runs(url: &str, steps: u64) {
    add();
    println!("replay: SAKER_SEED={}", seed());
    let (mut kv, mut model, mut rng) = (Kv::open(url).expect("opens"), Model::new(), Rng(seed()));
    history(&mut kv, &mut model, &mut rng, steps).unwrap();
    settle(&mut kv);
    whole(&mut kv, &model, steps).unwrap();
    for name in ["redirected_writes", "device_reads", "rollback_moved", "rollback_stale", "device_emptied"] {
        let counted = counter(&mut kv, name);
        println!("{name}: {counted}");
        assert!(counted > 0, "{name}");
    }
    assert!(counter(&mut kv, "main_tombstones_purged") > 0);
    kv.close().expect("closes");
}

#[test]
fn in_this_programs_memory() {
    runs(&in_memory(), tier(4000, 60_000));
}

#[test]
fn each_policy() {
    for policy in ["lazy", "adaptive"] {
        runs(&in_memory().replace("eager", policy), tier(3000, 30_000));
    }
}

/// With the profile's times, and threads that wait for them.
#[test]
fn in_real_time() {
    runs(&format!("{}&timing=real", in_memory()), tier(1500, 15_000));
}

/// Closed with copies in the device, or without; opened again, and emptied by a Format.
#[test]
fn an_image_is_closed_and_opened() {
    add();
    let folder = tempfile::tempdir().expect("a folder");
    let url = image(folder.path());
    let (mut model, mut rng) = (Model::new(), Rng(seed()));
    let mut left = 0;
    for turn in 0..tier(6, 40) {
        let mut kv = Kv::open(&url).expect("opens");
        whole(&mut kv, &model, turn).unwrap();
        history(&mut kv, &mut model, &mut rng, tier(500, 3000)).unwrap();
        if turn % 3 == 2 {
            kv.format().expect("empties both");
            model.clear();
            whole(&mut kv, &model, turn).unwrap();
        }
        left += u64::from(counter(&mut kv, "metadata_keys") > 0);
        kv.close().expect("closes");
        stop(false);
        let path = folder.path().join("disk.img");
        super::super::saker(&["check", &path.display().to_string()]);
    }
    assert!(left > 0, "no copy was in the device at a close");
}
