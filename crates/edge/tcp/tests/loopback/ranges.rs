// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pairs of a range one by one, while another host writes, deletes and formats.

use saker::{EngineKind, ImagePlan, Kv, KvError, ScanOptions};
use saker_tcp::Server;

use crate::loopback::support::{serve, url, value};

const PAIRS: u32 = 900;

fn key(n: u32) -> Vec<u8> {
    // Every fifth is longer than a key of the device.
    format!("{n:06}{}", if n.is_multiple_of(5) { "-and-so-it-goes-on" } else { "" }).into_bytes()
}

/// Two hosts at a target of each engine with snapshots, in memory and on an image; one of them has stored pairs.
fn two_hosts(mut with: impl FnMut(&mut Kv, &mut Kv)) {
    let folder = tempfile::tempdir().expect("a folder");
    for engine in [EngineKind::LSM, EngineKind::TREE] {
        let path = folder.path().join(engine.name());
        ImagePlan { engine, ..ImagePlan::kv(32 << 20, "tiny", 1) }.create(&path).expect("an image");
        let memory = format!("mem:?size=32MiB&profile=tiny&engine={}", engine.name());
        for device in [memory, format!("file:{}", path.display())] {
            let server = serve(&device);
            let (mut reader, mut writer) = (host(&server, 1), host(&server, 2));
            (0..PAIRS).for_each(|n| writer.put(&key(n), &value(n, 0, 60)).expect("stored"));
            with(&mut reader, &mut writer);
            drop((reader, writer));
            server.stop().expect("stopped");
        }
    }
}

fn host(server: &Server, n: usize) -> Kv {
    Kv::open(&url(server, &format!("hostnqn=nqn.2026-11.dev.saker:host{n}"))).expect("connected")
}

/// All of the other host's doing falls between two pairs, at another place each time.
#[test]
fn what_another_host_writes_and_deletes_is_not_seen() {
    two_hosts(|reader, writer| {
        for (round, stop) in [0, 1, 15, 16, 17, 300].into_iter().enumerate() {
            let version = round as u32;
            for pairs_max in [0, 20] {
                let mut range =
                    reader.range(&ScanOptions { pairs_max, ..ScanOptions::default() }).expect("opens");
                let mut found: Vec<_> = range.by_ref().take(stop).map(|pair| pair.expect("read")).collect();
                for n in 0..PAIRS {
                    writer.put(&key(n), &value(n, version + 1, 60)).expect("stored");
                }
                (0..PAIRS).step_by(2).for_each(|n| assert!(writer.delete(&key(n)).expect("deleted")));
                (PAIRS..PAIRS + 50).for_each(|n| writer.put(&key(n), b"new").expect("stored"));
                found.extend(range.map(|pair| pair.expect("read")));
                found.sort();
                let expected: Vec<_> = (0..PAIRS).map(|n| (key(n), value(n, version, 60))).collect();
                assert!(found == expected, "stopped at {stop}, {} pairs", found.len());
                (0..PAIRS).for_each(|n| writer.put(&key(n), &value(n, version, 60)).expect("stored"));
                (PAIRS..PAIRS + 50).for_each(|n| assert!(writer.delete(&key(n)).expect("deleted")));
            }
            (0..PAIRS).for_each(|n| writer.put(&key(n), &value(n, version + 1, 60)).expect("stored"));
        }
    });
}

/// Nothing is left to be seen then: what was brought before is shown, and an error follows; pairs that came later are not shown.
#[test]
fn what_another_host_formats_ends_with_an_error() {
    two_hosts(|reader, writer| {
        let mut range = reader.range(&ScanOptions::default()).expect("opens");
        let mut seen = 0;
        while seen < 10 {
            assert!(range.next_pair().expect("read").is_some());
            seen += 1;
        }
        writer.format().expect("formats");
        (0..PAIRS).for_each(|n| writer.put(&key(n), b"later").expect("stored"));
        let ended = loop {
            match range.next_pair() {
                Ok(Some((_, value))) => assert_ne!(value, b"later"),
                ended => break ended.map(|_| ()),
            }
        };
        assert_eq!(ended, Err(KvError::IteratorLost.into()));
        assert_eq!(range.next_pair(), Ok(None), "nothing follows an error");
    });
}
