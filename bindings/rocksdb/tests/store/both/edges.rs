// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Full trees, real stops of RocksDB, what is refused.

use super::super::SAKER;
use super::{BYTES, add, counter, in_memory, settle, stop};
use saker::{ImagePlan, Kv};
use std::process::Command;

fn key(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

fn value(n: u32, turn: u8) -> Vec<u8> {
    vec![n as u8 ^ turn; 3000]
}

/// Both trees fill up; what was stored can be read and deleted, and then there is room again.
#[test]
fn a_full_store_has_room_again() {
    add();
    let mut kv = Kv::open(&in_memory().replace(&BYTES.to_string(), &(64 << 20).to_string())).expect("opens");
    let mut least = u32::MAX;
    for turn in 0..2 {
        let mut pairs = 0;
        while let Ok(()) = kv.put(&key(pairs), &value(pairs, turn)) {
            pairs += 1;
            stop(pairs % 1000 < 200);
        }
        stop(false);
        assert!(pairs > 4000, "{pairs} pairs");
        least = least.min(pairs);
        for n in 0..pairs {
            assert_eq!(kv.get(&key(n)).expect("reads"), Some(value(n, turn)), "{n} of {pairs}");
        }
        for n in 0..pairs {
            assert!(kv.delete(&key(n)).expect("goes"), "{n} of {pairs}");
        }
        settle(&mut kv);
        assert_eq!(kv.list(None).count(), 0);
    }
    assert!(counter(&mut kv, "redirected_writes") > 100 && least > 4000);
    kv.close().expect("closes");
}

/// RocksDB's own stops: one compaction thread does not keep up with an endless writer, and writes go to the device.
#[test]
fn a_stop_of_rocksdb_redirects() {
    add();
    let url = "mem:?hybrid&main=rocksdb&size=512MiB&profile=tiny&timing=real&write_buffer_size=128KiB&level0_stop_writes_trigger=2&\
         level0_file_num_compaction_trigger=1&compaction_threads=1";
    let mut kv = Kv::open(url).expect("opens");
    for n in 0..6000 {
        kv.put(&key(n % 2000), &value(n, 0)).expect("room");
    }
    let redirected = counter(&mut kv, "redirected_writes");
    assert!((1..6000).contains(&redirected), "{redirected} of 6000");
    // The device's tree has counters of the same names, and has nothing to stop for here.
    let all = kv.counters().expect("told").expect("it has counters");
    for name in ["write_stops", "write_stopped_micros", "flushes", "compactions"] {
        let told: u64 = all.iter().filter(|counter| counter.name == name).map(|counter| counter.value).sum();
        assert!(told > 0, "RocksDB's listener tells {name}");
    }
    for n in 4000..6000 {
        assert_eq!(kv.get(&key(n % 2000)).expect("reads"), Some(value(n, 0)));
    }
    let (events, late) = kv.lag().expect("it keeps time");
    assert!(events > 0 && late <= events);
    kv.close().expect("closes");
}

#[test]
fn what_does_nothing_is_refused_by_name() {
    add();
    let told = |url: &str| Kv::open(url).map(drop).expect_err("it is refused").to_string();
    for (url, words) in [
        ("mem:?main=rocksdb", "main without hybrid"),
        ("mem:?hybrid&main=rocks", "write one of lsm, "),
        ("mem:?hybrid&main=rocksdb&size=160MiB&profile=tiny&pinned_levels=1", "option `pinned_levels`"),
        ("mem:?hybrid&main=rocksdb&size=160MiB&profile=tiny&min_blob_size=4096", "option `min_blob_size`"),
        (
            "mem:?hybrid&main=rocksdb&size=160MiB&profile=tiny&level0_slowdown_writes_trigger=9",
            "add slowdown=on",
        ),
        ("tcp://127.0.0.1:1?hybrid&main=rocksdb", "main is for mem: and file: devices"),
    ] {
        let told = told(url);
        assert!(told.contains(words), "{url}: {told}");
    }
}

/// A main tree does not open what another one has written, and leaves it as it is.
#[test]
fn the_main_tree_of_an_image_stays() {
    add();
    let folder = tempfile::tempdir().expect("a folder");
    for (first, second) in [("&main=rocksdb", ""), ("", "&main=rocksdb")] {
        let path = folder.path().join(format!("disk{}.img", first.len()));
        ImagePlan::hybrid(160 << 20, "tiny", 1).create(&path).expect("made");
        let url = |main: &str| format!("file:{}?hybrid{main}", path.display());
        let mut kv = Kv::open(&url(first)).expect("opens");
        kv.put(b"key", b"value").expect("room");
        kv.close().expect("closes");
        let refused = Kv::open(&url(second)).map(drop);
        println!("{first:?}, then {second:?}: {refused:?}");
        assert!(
            refused.is_err_and(|why| why.to_string().contains("another one")),
            "{first:?} was opened as {second:?}"
        );
        let mut kv = Kv::open(&url(first)).expect("opens again");
        assert_eq!(kv.get(b"key").expect("reads"), Some(b"value".to_vec()));
        kv.close().expect("closes");
    }
}

/// The command: an image that `create --hybrid` has made.
#[test]
fn the_command_opens_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let image = folder.path().join("disk.img").display().to_string();
    let url = format!("file:{image}?hybrid&main=rocksdb");
    super::super::saker(&["create", &image, "--size", "1536MiB", "--hybrid"]);
    super::super::saker(&["put", "--device", &url, "greeting", "hello"]);
    assert_eq!(super::super::saker(&["get", "--device", &url, "greeting"]).trim_end(), "hello");
    super::super::saker(&[
        "bench",
        "fillrandom",
        "--operations",
        "2000",
        "--value-size",
        "4KiB",
        "--device",
        &url,
    ]);
    let done =
        Command::new(SAKER).args(["get", "--device", &format!("{url}x"), "greeting"]).output().expect("runs");
    assert!(!done.status.success());
}
