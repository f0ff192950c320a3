// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every call of the host library over the network gives what it gives on a device of this process.

use std::collections::BTreeMap;

use saker::Kv;

use crate::loopback::support::{DEVICE, count, open, serve, url, value};

const SIZES: [usize; 14] = [0, 1, 3, 4, 100, 4095, 4096, 4097, 8192, 8193, 65_536, 300_001, 1 << 20, 2 << 20];

#[test]
fn values_of_all_sizes_with_and_without_digests() {
    let server = serve(DEVICE);
    for digest in ["none", "header", "data", "both"] {
        let mut kv = open(&server, &format!("digest={digest}"));
        for (n, bytes) in SIZES.iter().enumerate() {
            let key = [b'k', n as u8];
            let stored = value(n as u32, 1, *bytes);
            kv.put(&key, &stored).expect("stored");
            assert!(kv.get(&key).expect("read") == Some(stored), "{bytes} bytes, digest {digest}");
            assert!(kv.exists(&key).expect("asked"));
        }
        for n in 0..SIZES.len() {
            let key = [b'k', n as u8];
            assert!(kv.delete(&key).expect("deleted") && !kv.delete(&key).expect("asked"));
            assert_eq!(kv.get(&key).expect("read"), None);
        }
        kv.flush().expect("flushed");
        kv.close().expect("closed");
    }
    server.stop().expect("stopped");
}

#[test]
fn without_a_name_discovery_tells() {
    let server = serve(DEVICE);
    let mut kv = Kv::open(&format!("tcp://{}", server.addresses()[0])).expect("found");
    kv.put(b"a", b"1").expect("stored");
    assert_eq!(kv.identity().1, "Saker key-value SSD");
    drop(kv);
    let wrong = format!("tcp://{}/nqn.2026-11.dev.saker:other", server.addresses()[0]);
    let error = Kv::open(&wrong).expect_err("no such subsystem").to_string();
    assert!(error.contains("Connect Invalid Parameters"), "{error}");
    server.stop().expect("stopped");
}

#[test]
fn queued_writes_lists_and_long_keys() {
    let server = serve(DEVICE);
    let mut kv = open(&server, "depth=128");
    let mut model = BTreeMap::new();
    for n in 0..5_000_u32 {
        let key = if n % 10 == 0 {
            format!("a key too long for the command {n}")
        } else {
            format!("k{}", n % 3_000)
        };
        let stored = value(n, n, n as usize % 700);
        kv.put_queued(key.as_bytes(), &stored).expect("queued");
        model.insert(key.into_bytes(), stored);
    }
    kv.drain().expect("all stored");
    let mut keys: Vec<Vec<u8>> = kv.list(None).map(|key| key.expect("listed")).collect();
    keys.sort();
    assert!(keys == model.keys().cloned().collect::<Vec<_>>(), "{} keys listed", keys.len());
    for (key, stored) in &model {
        assert!(kv.get(key).expect("read").as_ref() == Some(stored));
    }
    kv.close().expect("closed");
    server.stop().expect("stopped");
}

#[test]
fn several_hosts_see_one_device() {
    let server = serve(DEVICE);
    let rounds = count(5_000) as u32;
    let url = url(&server, "depth=16");
    let hosts: Vec<_> = (0..4_u8)
        .map(|host| {
            let url = url.clone();
            std::thread::spawn(move || {
                let mut kv = Kv::open(&url).expect("open");
                for n in 0..rounds {
                    let key = [&[host], n.to_le_bytes().as_slice()].concat();
                    kv.put_queued(&key, &value(n, host.into(), 200)).expect("queued");
                }
                kv.drain().expect("stored");
            })
        })
        .collect();
    hosts.into_iter().for_each(|host| host.join().expect("a host fails"));
    let mut kv = open(&server, "");
    for host in 0..4_u8 {
        for n in 0..rounds {
            let key = [&[host], n.to_le_bytes().as_slice()].concat();
            assert!(kv.get(&key).expect("read") == Some(value(n, host.into(), 200)));
        }
    }
    assert_eq!(kv.list(None).count(), 4 * rounds as usize);
    server.stop().expect("stopped");
}

#[test]
fn a_timed_device_is_served_in_its_own_time() {
    let server = serve("mem:?size=512MiB&timing=real");
    let mut kv = open(&server, "");
    for n in 0..50_u32 {
        kv.put(&n.to_le_bytes(), &value(n, 0, 5_000)).expect("stored");
    }
    for n in 0..50_u32 {
        assert!(kv.get(&n.to_le_bytes()).expect("read") == Some(value(n, 0, 5_000)));
    }
    server.stop().expect("stopped");
}
