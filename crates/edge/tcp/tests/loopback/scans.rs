// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scans whose connection is lost on the way.

use std::path::Path;

use saker::{EngineKind, ImagePlan, Kv, ScanOptions, ScanOrder};
use saker_host::{HostError, KvError};
use saker_tcp::{Server, ServerConfig};

use crate::loopback::support::{config, url};

/// Pairs: short keys, several batches of them, and long ones.
const SHORT: u32 = 3000;
const LONG: u32 = 40;

fn image(path: &Path) {
    let plan = ImagePlan { engine: EngineKind::LSM, ..ImagePlan::kv(64 << 20, "tiny", 1) };
    plan.create(path).expect("made");
}

fn keys() -> Vec<Vec<u8>> {
    let short = (0..SHORT).map(|n| format!("key{n:05}"));
    let long = (0..LONG).map(|n| format!("a key that no device key can hold {n:05}"));
    short.chain(long).map(String::into_bytes).collect()
}

fn fill(server: &Server) -> Kv {
    let mut kv = Kv::open(&url(server, "reconnect=20")).expect("open");
    for key in keys() {
        kv.put(&key, &[key.as_slice(), &[b'.'; 80]].concat()).expect("stored");
    }
    kv
}

/// Stops the server and starts it again at the same place.
fn restart(server: Server, config: &mut ServerConfig) -> Server {
    config.listen = server.addresses().to_vec();
    server.stop().expect("stopped");
    Server::start(config.clone()).expect("the server starts again")
}

/// What a scan shows while the server is restarted at those pairs, and how it ends.
fn scan_with_restarts(at: &[usize], backwards: bool) -> (Vec<Vec<u8>>, ScanOrder) {
    let directory = tempfile::tempdir().expect("a directory");
    let image_path = directory.path().join("disk.img");
    image(&image_path);
    let mut config = config(&format!("file:{}", image_path.display()));
    let mut server = Some(Server::start(config.clone()).expect("the server starts"));
    let mut kv = fill(server.as_ref().expect("it runs"));
    let mut seen = Vec::new();
    let order = kv.scan(&ScanOptions { backwards, ..ScanOptions::default() }, &mut |key, value| {
        if at.contains(&seen.len()) {
            server = server.take().map(|running| restart(running, &mut config));
        }
        assert!(value.starts_with(key), "the value of its key");
        seen.push(key.to_vec());
        true
    });
    let order = order.expect("goes on");
    assert_eq!(kv.get(b"key00007").expect("read").map(|value| value.len()), Some(88));
    (seen, order)
}

#[test]
fn they_go_on_behind_the_last_key() {
    assert_eq!(scan_with_restarts(&[], false).1, ScanOrder::Bytes);
    // At the first pair, amid short keys, at the last of them, amid the long ones.
    let last = SHORT as usize - 1;
    for at in [&[0_usize][..], &[1500], &[last], &[last + 20], &[10, 1500, last, last + 5]] {
        let backwards = at.contains(&1500);
        let (mut seen, order) = scan_with_restarts(at, backwards);
        let short = &mut seen[..SHORT as usize];
        if backwards {
            short.reverse();
        }
        assert!(short.is_sorted(), "{at:?}");
        seen.sort_unstable();
        let mut expected = keys();
        expected.sort_unstable();
        assert!(seen == expected, "{at:?}: {} pairs", seen.len());
        // One batch holds all long pairs: nothing is left to be read when the connection is lost amid them.
        let reads_on = at != [last + 20];
        assert_eq!(order, if reads_on { ScanOrder::Resumed } else { ScanOrder::Bytes }, "{at:?}");
    }
}

#[test]
fn a_target_that_is_gone_for_good_is_told_as_such() {
    let mut server = Some(Server::start(config("mem:?size=64MiB&profile=tiny&engine=lsm")).expect("starts"));
    drop(fill(server.as_ref().expect("it runs")));
    let mut kv = Kv::open(&url(server.as_ref().expect("it runs"), "reconnect=0&timeout=2")).expect("open");
    let mut seen = 0;
    let scanned = kv.scan(&ScanOptions::default(), &mut |_, _| {
        seen += 1;
        server.take().into_iter().for_each(|running| running.stop().expect("stopped"));
        true
    });
    assert!((1..SHORT).contains(&seen), "{seen} pairs");
    assert_eq!(scanned, Err(HostError::Kv(KvError::Unreachable)));
}
