// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups of operations over the network: one way each, results fetched by their identification.

use saker::WriteBatch;

use crate::loopback::support::{DEVICE, open, serve, url, value};

#[test]
fn batches_go_as_groups_and_results_come_back() {
    let server = serve(DEVICE);
    let mut kv = open(&server, "digest=both");
    let mut batch = WriteBatch::new();
    for n in 0..500_u32 {
        batch.put(&n.to_le_bytes(), &value(n, 1, n as usize % 300));
    }
    batch.delete(b"not there");
    kv.write(&batch).expect("written");
    let keys: Vec<[u8; 4]> = (0..500_u32).chain([9_999]).map(u32::to_le_bytes).collect();
    let keys: Vec<&[u8]> = keys.iter().map(<[u8; 4]>::as_slice).collect();
    let found = kv.multi_get(&keys).expect("read");
    for n in 0..500_u32 {
        assert!(found[n as usize] == Some(value(n, 1, n as usize % 300)), "key {n}");
    }
    assert_eq!(found[500], None);
    assert_eq!(kv.multi_exist(&keys).expect("asked").iter().filter(|exists| **exists).count(), 500);
    let stats = kv.group_stats();
    assert!(stats.groups >= 3 && stats.fetches >= 2, "{stats:?}");
    assert_eq!(stats.singles, 0, "{stats:?}");
    server.stop().expect("stopped");
}

#[test]
fn hosts_do_not_take_each_others_results() {
    let server = serve(DEVICE);
    let url = url(&server, "");
    let hosts: Vec<_> = (0..4_u8)
        .map(|host| {
            let url = url.clone();
            std::thread::spawn(move || {
                let mut kv = saker::Kv::open(&url).expect("open");
                for round in 0..50_u8 {
                    let keys: Vec<[u8; 3]> = (0..20).map(|n| [host, round, n]).collect();
                    let mut batch = WriteBatch::new();
                    for key in &keys {
                        batch.put(key, &value(key[2].into(), host.into(), 100));
                    }
                    kv.write(&batch).expect("written");
                    let keys: Vec<&[u8]> = keys.iter().map(<[u8; 3]>::as_slice).collect();
                    let found = kv.multi_get(&keys).expect("read");
                    for (n, seen) in found.into_iter().enumerate() {
                        assert!(
                            seen == Some(value(n as u32, host.into(), 100)),
                            "host {host}, round {round}"
                        );
                    }
                }
            })
        })
        .collect();
    hosts.into_iter().for_each(|host| host.join().expect("a host fails"));
    server.stop().expect("stopped");
}

/// As on a device of this process, on every engine.
#[test]
fn batches_of_every_shape_are_written() {
    for engine in saker::EngineKind::ALL {
        let server = serve(&format!("mem:?size=64MiB&profile=tiny&engine={}", engine.name()));
        crate::loopback::batches::of_every_shape(&url(&server, ""));
        server.stop().expect("stopped");
    }
}
