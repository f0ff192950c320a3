// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A store over both namespaces of a device (option `hybrid`), by the same doors as every other one: each operation beside a map, Format and
//! reopening, a cut in the middle of a Format, a process that is killed, a full device, long keys and values, deletes and scans while
//! copies go back.

mod edges;
mod groups;
mod inside;
mod kills;

use saker::{Error, HostError, ImagePlan, KeyRange, Kv, KvError, ScanOptions, WriteBatch};
use saker_sim::{Rng, Seed};
use std::collections::BTreeMap;
use std::path::Path;

/// The main tree stops writes soon.
const PRESSED: &str = "write_buffer_size=8KiB&level0_file_num_compaction_trigger=1&level0_slowdown_writes_trigger=1&\
     level0_stop_writes_trigger=1&slowdown=off&target_file_size_base=8KiB";
const BYTES: u64 = 24 << 20;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn image(dir: &Path) -> String {
    let path = dir.join("disk.img");
    ImagePlan::hybrid(BYTES, "tiny", 1).create(&path).expect("made");
    format!("file:{}?hybrid", path.display())
}

fn counter(kv: &mut Kv, name: &str) -> u64 {
    let all = kv.counters().expect("told").expect("it has counters");
    all.iter().find(|counter| counter.name == name).unwrap_or_else(|| panic!("no {name}")).value
}

fn all_of(kv: &mut Kv) -> Model {
    let mut all = Model::new();
    let options = ScanOptions { range: KeyRange::default(), ..ScanOptions::default() };
    let mut last: Vec<u8> = Vec::new();
    kv.scan(&options, &mut |key, value| {
        assert!(last.as_slice() < key || key.len() > 16, "in order, each once");
        last = key.to_vec();
        assert!(all.insert(key.to_vec(), value.to_vec()).is_none(), "each once");
        true
    })
    .expect("scans");
    all
}

fn key(n: u64) -> Vec<u8> {
    // One in eight is longer than a device's keys.
    let mut key = format!("key{n}").into_bytes();
    if n.is_multiple_of(8) {
        key.resize(40, b'.');
    }
    key
}

/// A step of a random history, of which the model knows the outcome.
fn step(kv: &mut Kv, model: &mut Model, rng: &mut Rng, n: u64) {
    let key = key(rng.below(400));
    match rng.below(24) {
        20 => write_batch(kv, model, rng, n),
        21 => assert_eq!(fallen(kv, b"", b""), *model, "{n}"),
        22 => transfer(kv, model, rng, n),
        23 => {
            let keys: Vec<Vec<u8>> = (0..5).map(|_| self::key(rng.below(400))).collect();
            let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            let found = kv.multi_get(&keys).expect("reads");
            let known = keys.iter().map(|key| model.get(*key).cloned());
            assert!(found.into_iter().eq(known), "{n}");
        }
        0..10 => {
            let bytes = if rng.below(50) == 0 { 20_000 } else { rng.below(900) as usize };
            let value = vec![n as u8; bytes];
            kv.put(&key, &value).expect("room");
            model.insert(key, value);
        }
        10..14 => assert_eq!(kv.delete(&key).expect("deletes"), model.remove(&key).is_some(), "{n}"),
        14 => {
            let was_there = model.contains_key(&key);
            assert_eq!(kv.put_if_absent(&key, b"new").expect("room"), !was_there, "{n}");
            model.entry(key).or_insert_with(|| b"new".to_vec());
        }
        15 => assert_eq!(kv.exists(&key).expect("asks"), model.contains_key(&key), "{n}"),
        16 if n.is_multiple_of(5) => assert_eq!(all_of(kv), *model, "{n}"),
        _ => assert_eq!(kv.get(&key).expect("reads").as_ref(), model.get(&key), "{n}"),
    }
}

/// A batch of puts and deletes, of all or nothing with short keys.
fn write_batch(kv: &mut Kv, model: &mut Model, rng: &mut Rng, n: u64) {
    let (mut batch, is_atomic) = (WriteBatch::new(), rng.below(2) == 0);
    batch.set_atomic(is_atomic);
    for _ in 0..1 + rng.below(8) {
        let number = rng.below(400);
        let key = if is_atomic { format!("key{number}").into_bytes() } else { key(number) };
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

/// A transaction that reads two pairs and writes a third one. One in two is late: what it has read is written before it commits.
fn transfer(kv: &mut Kv, model: &mut Model, rng: &mut Rng, n: u64) {
    let mut names = || format!("key{}", rng.below(400)).into_bytes();
    let (from, other, to) = (names(), names(), names());
    let mut txn = kv.begin_transaction().expect("it has them");
    for key in [&from, &other] {
        assert_eq!(txn.get(key).expect("reads").as_ref(), model.get(key), "{n}");
    }
    let value = vec![n as u8; 100];
    txn.put(&to, &value).expect("a good key");
    let set = txn.suspend();
    let is_late = rng.below(2) == 0;
    if is_late {
        kv.put(&other, b"late").expect("room");
        model.insert(other.clone(), b"late".to_vec());
    }
    match kv.resume_transaction(set).commit() {
        Ok(()) if !is_late => _ = model.insert(to, value),
        Err(HostError::Conflict { key }) if is_late => assert_eq!(key, other, "{n}"),
        told => panic!("{n}: {told:?}, late: {is_late}"),
    }
}

/// All pairs from a key on and before another, by a scan that falls.
fn fallen(kv: &mut Kv, from: &[u8], to: &[u8]) -> Model {
    let mut all = Model::new();
    let range = KeyRange { from, to, ..KeyRange::default() };
    let options = ScanOptions { range, backwards: true, ..ScanOptions::default() };
    let mut last: Option<Vec<u8>> = None;
    kv.scan(&options, &mut |key, value| {
        // Long keys have an order of their own.
        let is_before = |last: &Vec<u8>| last.as_slice() > key || last.len() > 16 || key.len() > 16;
        assert!(last.as_ref().is_none_or(is_before), "in order, each once");
        last = Some(key.to_vec());
        assert!(all.insert(key.to_vec(), value.to_vec()).is_none(), "each once");
        true
    })
    .expect("scans");
    all
}

/// A random history, which redirects and goes back.
fn history(kv: &mut Kv, model: &mut Model, rng: &mut Rng, steps: u64) {
    for n in 0..steps {
        step(kv, model, rng, n);
    }
    assert_eq!(all_of(kv), *model);
    let mut listed: Vec<Vec<u8>> = kv.list(None).map(|key| key.expect("lists")).collect();
    listed.sort();
    assert!(listed.iter().eq(model.keys()));
}

#[test]
fn a_store_over_both_interfaces_is_a_store() {
    let dir = tempfile::tempdir().expect("a folder");
    for rollback in ["eager", "lazy", "adaptive"] {
        let in_memory = format!("mem:?profile=tiny&size={BYTES}B&hybrid={rollback}&{PRESSED}");
        let folder = dir.path().join(rollback);
        std::fs::create_dir(&folder).expect("made");
        let on_image = format!("{}={rollback}&{PRESSED}", image(&folder));
        for url in [in_memory, on_image] {
            for seed in saker_testing::seeds(saker_testing::tier(1, 20)) {
                let (mut kv, mut model) = (Kv::open(&url).expect("opens"), Model::new());
                if url.starts_with("file:") {
                    kv.format().expect("emptied");
                }
                let mut rng = Seed(seed).child("hybrid").rng();
                history(&mut kv, &mut model, &mut rng, 3000);
                assert!(counter(&mut kv, "redirected_writes") > 0, "{url}: nothing was redirected");
                if rollback == "eager" {
                    assert!(counter(&mut kv, "rollback_moved") > 0, "{url}: nothing went back");
                }
                kv.close().expect("closes");
            }
        }
    }
}

#[test]
fn what_was_closed_is_there_and_what_was_formatted_is_not() {
    closed_and_formatted("");
}

/// With times an image is synced beside commands.
#[test]
fn what_was_closed_while_syncs_go_on_beside_is_there_and_what_was_formatted_is_not() {
    closed_and_formatted("&timing=real");
}

/// Whether a thread of this process syncs an image.
fn is_synced_beside() -> bool {
    let threads = std::fs::read_dir("/proc/self/task").expect("threads").flatten();
    let names = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok());
    names.into_iter().any(|name| name.trim() == "saker-sync")
}

fn closed_and_formatted(timing: &str) {
    let dir = tempfile::tempdir().expect("a folder");
    let url = format!("{}=lazy&{PRESSED}{timing}", image(dir.path()));
    let (mut model, mut rng) = (Model::new(), Seed(3).rng());
    for life in 0..4 {
        let mut kv = Kv::open(&url).expect("opens");
        assert_eq!(all_of(&mut kv), model, "life {life}");
        history(&mut kv, &mut model, &mut rng, 1500);
        kv.flush().expect("flushes");
        assert!(counter(&mut kv, "redirected_writes") > 0, "life {life}");
        assert!(timing.is_empty() || is_synced_beside(), "life {life}");
        kv.close().expect("closes");
    }
    let mut kv = Kv::open(&url).expect("opens");
    kv.format().expect("emptied");
    assert!(all_of(&mut kv).is_empty());
    assert_eq!(counter(&mut kv, "metadata_keys"), 0);
    model.clear();
    history(&mut kv, &mut model, &mut rng, 1500);
    kv.close().expect("closes");
    let mut kv = Kv::open(&url).expect("opens");
    assert_eq!(all_of(&mut kv), model);
}

/// Power is cut at the n-th program or erase of an opening that writes and then formats: everything is there, or nothing.
#[test]
fn a_format_that_a_cut_divides_leaves_everything_or_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let url = format!("{}=lazy&{PRESSED}", image(dir.path()));
    let (mut model, mut rng) = (Model::new(), Seed(5).rng());
    let mut kv = Kv::open(&url).expect("opens");
    history(&mut kv, &mut model, &mut rng, 600);
    kv.close().expect("closes");
    let path = dir.path().join("disk.img");
    let kept = std::fs::read(&path).expect("reads");
    // What both trees have when the Format begins: each key once more, so that many have their newest value in the device.
    let newer: Model = (0..150).map(|n| (key(n), vec![n as u8; 300])).collect();
    let (mut left, mut gone) = (0, 0);
    let write = |nth: u64| {
        std::fs::write(&path, &kept).expect("writes");
        Kv::open(&format!("{url}&fault.cut={nth}")).map(|mut kv| {
            let is_written =
                newer.iter().all(|(key, value)| kv.put(key, value).is_ok()) && kv.flush().is_ok();
            (is_written, kv.format().is_ok())
        })
    };
    // A few cuts before the writes end, and all from there on.
    let first = (0..).map(|n| 1 + 32 * n).find(|nth| matches!(write(*nth), Ok((true, _)))).unwrap_or(1);
    let mut nth = first.saturating_sub(31).max(1);
    loop {
        let cut = write(nth);
        let mut kv = Kv::open(&url).unwrap_or_else(|error| panic!("cut {nth}: {error}"));
        let all = all_of(&mut kv);
        if matches!(cut, Ok((true, _))) {
            (left, gone) = (left + u64::from(!all.is_empty()), gone + u64::from(all.is_empty()));
            let old = newer.iter().filter(|(key, value)| all.get(*key) != Some(*value)).count();
            assert!(all.is_empty() || old == 0, "cut {nth} left {} pairs, {old} are old or lost", all.len());
        }
        kv.put(b"key", b"value").expect("it goes on");
        assert_eq!(kv.get(b"key").expect("reads"), Some(b"value".to_vec()));
        if matches!(cut, Ok((true, true))) {
            break;
        }
        nth += if gone == 0 { 1 } else { saker_testing::tier(4, 1) };
    }
    // Nothing is programmed or erased between the writes' Flush and that of the mark: cuts before it are those of the writes.
    assert!(gone > 1, "{left} cuts left everything and {gone} nothing: some lie within the Format");
}

#[test]
fn a_full_store_refuses_reads_deletes_and_has_room_again() {
    let url = format!("mem:?profile=tiny&size={BYTES}B&hybrid&{PRESSED}");
    let (mut kv, mut model) = (Kv::open(&url).expect("opens"), Model::new());
    let refused = (0..100_000_u64).find(|n| match kv.put(format!("pair{n}").as_bytes(), &[*n as u8; 3000]) {
        Ok(()) => {
            model.insert(format!("pair{n}").into_bytes(), vec![*n as u8; 3000]);
            false
        }
        Err(HostError::Kv(KvError::Full)) => true,
        Err(other) => panic!("{n}: {other}"),
    });
    assert!(refused.is_some_and(|n| n > 1000), "{refused:?} pairs");
    assert_eq!(all_of(&mut kv), model);
    let keys: Vec<Vec<u8>> = model.keys().cloned().collect();
    for key in keys.iter().step_by(2) {
        assert!(kv.delete(key).expect("deletes"));
        model.remove(key);
    }
    assert_eq!(all_of(&mut kv), model);
    let again = (0..200_u64).filter(|n| kv.put(format!("again{n}").as_bytes(), &[7; 3000]).is_ok()).count();
    assert!(again > 100, "{again} of 200");
}

/// Of both trees together.
fn of_both(kv: &mut Kv, name: &str) -> u64 {
    let all = kv.counters().expect("told").expect("it has counters");
    all.iter().filter(|counter| counter.name == name).map(|counter| counter.value).sum()
}

/// A client that never lets the store rest: every put is done in the turn in which it comes, and that turn's background work is all there is.
#[test]
fn a_client_that_is_always_busy_has_the_main_tree_flushed_and_compacted() {
    for own in ["", "&min_blob_size=unlimited"] {
        let url = format!("mem:?profile=tiny&size={BYTES}B&hybrid&write_buffer_size=64KiB&slowdown=off{own}");
        let mut kv = Kv::open(&url).expect("opens");
        let (mut rng, mut most) = (Seed(11).rng(), 0);
        for n in 0..20_000_u64 {
            kv.put(&rng.below(2000).to_be_bytes(), &[n as u8; 300]).expect("room");
            if n % 100 == 0 {
                most = most.max(of_both(&mut kv, "num_files_at_level0"));
            }
        }
        let [flushes, compactions, redirected] =
            ["flushes", "compactions", "redirected_writes"].map(|name| of_both(&mut kv, name));
        assert!(flushes > 10 && compactions > 2, "{own}: {flushes} flushes, {compactions} compactions");
        assert!(
            most < 20 && redirected == 0,
            "{own}: {most} tables in level 0, {redirected} writes redirected"
        );
    }
}

#[test]
fn options_that_do_nothing_are_refused() {
    for (option, todo) in [
        ("engine=tree", "leave engine out"),
        ("nsid=1", "leave nsid out"),
        ("blocks=1MiB", "leave blocks out"),
        ("block_size=4096", "leave it out"),
    ] {
        let error = Kv::open(&format!("mem:?profile=tiny&size=24MiB&hybrid&{option}")).expect_err(option);
        assert!(error.to_string().contains(todo), "{error}");
    }
    let error = Kv::open("mem:?hybrid=often").expect_err("no policy");
    assert!(error.to_string().contains("hybrid=lazy"), "{error}");
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("plain.img");
    ImagePlan::kv(4 << 20, "tiny", 1).create(&path).expect("made");
    let error = Kv::open(&format!("file:{}?hybrid", path.display())).expect_err("one namespace");
    assert!(matches!(error, Error::NoNamespace { wanted: "block", .. }), "{error}");
}
