// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Format over the network: on images, beside other hosts with sessions, caches, iterators and commands in flight.

use crate::loopback::settings::{kept_settings, options};
use crate::loopback::support::{count, open, serve, url, value};
use saker::{Block, EngineKind, ImagePlan, KeyRange, Kv, NamespacePlan, Saker, SakerOptions, Settings};

fn image(dir: &tempfile::TempDir, engine: EngineKind) -> String {
    image_with(dir, engine, Settings::default())
}

fn image_with(dir: &tempfile::TempDir, engine: EngineKind, settings: Settings) -> String {
    let path = dir.path().join(if settings.is_empty() { "disk.img" } else { "other.img" });
    ImagePlan { engine, settings, ..ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path).expect("an image");
    format!("file:{}", path.display())
}

/// An engine on an image and in memory, as it is and, where it has any, with settings that decide what lies on flash.
fn devices(dir: &tempfile::TempDir, engine: EngineKind) -> Vec<String> {
    let memory = |settings| format!("mem:?profile=tiny&size=16MiB&engine={}{settings}", engine.name());
    let mut all = vec![image(dir, engine), memory(String::new())];
    let asked = kept_settings(engine);
    if !asked.is_empty() {
        all.push(memory(options(engine, &asked)));
        all.push(image_with(dir, engine, asked));
    }
    all
}

#[test]
fn after_a_flush_on_every_engine_with_restarts() {
    for engine in EngineKind::ALL {
        let dir = tempfile::tempdir().expect("a directory");
        for device in devices(&dir, *engine) {
            let server = serve(&device);
            let mut kv = open(&server, "");
            kv.put(b"first", b"one").expect("stored");
            kv.flush().expect("flushed");
            (0..40_u32).for_each(|n| kv.put(&n.to_le_bytes(), &value(n, 1, 8000)).expect("stored"));
            kv.format().unwrap_or_else(|e| panic!("{device}: {e}"));
            assert_eq!(kv.list(None).count(), 0, "{device}");
            kv.put(b"after", b"two").expect("stored");
            kv.close().expect("closed");
            server.stop().expect("stopped");
            if device.starts_with("file:") {
                let mut kv = Kv::open(&device).expect("reopened");
                assert_eq!(kv.get(b"after").expect("read").as_deref(), Some(&b"two"[..]), "{device}");
                assert_eq!(kv.list(None).count(), 1, "{device}");
            }
        }
    }
}

/// One host formats again and again while others store, in groups and one by one, many commands in flight.
#[test]
fn beside_hosts_that_store() {
    for engine in [EngineKind::HASH_STORE, EngineKind::HASH_PLUS, EngineKind::LSM, EngineKind::TREE] {
        let dir = tempfile::tempdir().expect("a directory");
        let server = serve(&image(&dir, engine));
        let at = url(&server, "");
        std::thread::scope(|scope| {
            for host in 0..3_u32 {
                let at = &at;
                scope.spawn(move || store_for_a_while(at, host));
            }
            let mut kv = open(&server, "");
            for _ in 0..count(200) {
                kv.format().expect("formatted");
            }
        });
        let mut kv = open(&server, "");
        kv.format().expect("formatted");
        assert_eq!(kv.list(None).count(), 0, "{}", engine.name());
        (0..100_u32).for_each(|n| kv.put(&n.to_le_bytes(), &value(n, 9, 3000)).expect("stored"));
        assert!((0..100_u32).all(|n| kv.get(&n.to_le_bytes()).expect("read") == Some(value(n, 9, 3000))));
        drop(kv);
        server.stop().expect("stopped");
    }
}

/// Each value is whole, whatever became of its pair.
fn store_for_a_while(at: &str, host: u32) {
    let mut kv = Kv::open(at).expect("the target is there");
    for n in 0..count(5000) as u32 {
        let key = ((host << 16) | (n % 64)).to_le_bytes();
        // Refused while a Format is in progress.
        match n % 4 {
            0 => drop(kv.put_queued(&key, &value(host, n, 3000))),
            1 => {
                let mut batch = saker::WriteBatch::new();
                for k in 0..8_u32 {
                    batch.put(&(host << 16 | k).to_le_bytes(), &value(host, n, 300));
                }
                let _ = kv.write(&batch);
            }
            2 => drop(kv.open_iterator(&KeyRange::default())),
            _ => {
                if let Ok(Some(found)) = kv.get(&key) {
                    let is_whole = |n| [300, 3000].iter().any(|bytes| found == value(host, n, *bytes));
                    assert!((0..=n).rev().any(is_whole), "host {host}, operation {n}");
                }
            }
        }
    }
    let _ = kv.drain();
}

/// What a session holds back is written when it is synced: behind the Format. What it had synced before is gone.
#[test]
fn beside_a_session() {
    let server = serve("mem:?profile=tiny&size=64MiB");
    let saker = Saker::open(&url(&server, "cache=1MiB"), SakerOptions::default()).expect("opened");
    let mut session = saker.session().expect("one is free");
    session.put(b"old", b"synced").expect("stored");
    session.sync().expect("synced");
    let mut kv = open(&server, "");
    kv.format().expect("formatted");
    session.put(b"new", b"buffered").expect("stored");
    session.sync().expect("synced");
    assert_eq!(kv.get(b"old").expect("read"), None);
    assert_eq!(kv.get(b"new").expect("read").as_deref(), Some(&b"buffered"[..]));
    drop(session);
    saker.close().expect("closed");
    drop(kv);
    server.stop().expect("stopped");
}

/// The cache of the host that formats begins anew; that of another host is told nothing, as of any write of others.
#[test]
fn beside_hosts_that_cache() {
    let server = serve("mem:?profile=tiny&size=64MiB");
    let [mut one, mut other] = [0; 2].map(|_| open(&server, "cache=1MiB"));
    one.put(b"key", b"value").expect("stored");
    for kv in [&mut one, &mut other] {
        assert_eq!(kv.get(b"key").expect("read").as_deref(), Some(&b"value"[..]));
    }
    one.format().expect("formatted");
    assert_eq!(one.get(b"key").expect("read"), None);
    assert_eq!(other.get(b"key").expect("read").as_deref(), Some(&b"value"[..]), "as the README says");
    other.format().expect("formatted");
    assert_eq!(other.get(b"key").expect("read"), None);
    drop((one, other));
    server.stop().expect("stopped");
}

#[test]
fn one_of_two_namespaces() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("both.img");
    let blocks = NamespacePlan::Block { bytes: Some(4 << 20), block_bytes: 512 };
    let namespaces = vec![NamespacePlan::Kv { flash_bytes: None }, blocks];
    ImagePlan { namespaces, ..ImagePlan::kv(32 << 20, "tiny", 1) }.create(&path).expect("an image");
    let server = serve(&format!("file:{}", path.display()));
    let mut kv = open(&server, "");
    let mut disk = Block::open(&url(&server, "nsid=2")).expect("opened");
    kv.put(b"key", b"value").expect("stored");
    disk.write(0, &[7; 8192]).expect("written");
    disk.flush().expect("flushed");
    disk.write(16, &[8; 8192]).expect("written");
    disk.format().expect("formatted");
    let mut found = [1; 16384];
    disk.read(0, &mut found).expect("read");
    assert!(found.iter().all(|b| *b == 0));
    assert_eq!(kv.get(b"key").expect("read").as_deref(), Some(&b"value"[..]));
    disk.write(0, &[9; 8192]).expect("written");
    kv.format().expect("formatted");
    disk.read(0, &mut found).expect("read");
    assert!(found[..8192] == [9; 8192] && found[8192..] == [0; 8192]);
    assert_eq!(kv.get(b"key").expect("read"), None);
    drop((kv, disk));
    server.stop().expect("stopped");
}
