// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Handles and iterators that are dropped while their target is there, comes again, is gone, or is silent.

use crate::loopback::support::{config, open, serve, url, value};
use saker::{EngineKind, ImagePlan, KeyRange, Kv};
use saker_tcp::Server;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Far less than the half minute that a lost connection is tried again for, and a command may take.
const SOON: Duration = Duration::from_secs(12);

const LSM: &str = "mem:?size=64MiB&profile=tiny&engine=lsm";

fn queue_all(kv: &mut Kv) {
    (0..40u32).for_each(|n| kv.put_queued(&n.to_le_bytes(), &value(n, 0, 2_000)).expect("queued"));
}

#[test]
fn queued_puts_are_stored_when_a_host_leaves() {
    let server = serve(LSM);
    let mut kv = open(&server, "");
    queue_all(&mut kv);
    drop(kv);
    let mut other = open(&server, "");
    (0..40u32).for_each(|n| assert_eq!(other.get(&n.to_le_bytes()), Ok(Some(value(n, 0, 2_000)))));
}

#[test]
fn a_target_that_is_gone_is_not_waited_for() {
    let server = serve(LSM);
    let mut kv = open(&server, "");
    kv.put(b"key", b"value").expect("stored");
    queue_all(&mut kv);
    server.stop().expect("stopped");
    let begun = Instant::now();
    drop(kv);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

/// Bytes go through until the target is to be silent: then they are swallowed, and connections stay.
fn forward(mut from: TcpStream, mut to: TcpStream, is_silent: &AtomicBool) {
    let mut bytes = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if !is_silent.load(Ordering::Acquire) && to.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

/// A way to a target that can be made silent.
fn way_to(target: SocketAddr, is_silent: &Arc<AtomicBool>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (here, is_silent) = (listener.local_addr().expect("an address"), Arc::clone(is_silent));
    std::thread::spawn(move || {
        for host in listener.incoming().flatten() {
            let Ok(way) = TcpStream::connect(target) else { continue };
            let back = (way.try_clone().expect("a socket"), host.try_clone().expect("a socket"));
            let (there, again) = (Arc::clone(&is_silent), Arc::clone(&is_silent));
            std::thread::spawn(move || forward(host, way, &there));
            std::thread::spawn(move || forward(back.0, back.1, &again));
        }
    });
    here
}

#[test]
fn a_target_that_is_silent_is_not_waited_for() {
    let (server, is_silent) = (serve(LSM), Arc::new(AtomicBool::new(false)));
    let here = way_to(server.addresses()[0], &is_silent);
    let mut kv = Kv::open(&format!("tcp://{here}/{}", server.names()[0])).expect("opens");
    kv.put(b"key", b"value").expect("stored");
    is_silent.store(true, Ordering::Release);
    queue_all(&mut kv);
    let begun = Instant::now();
    drop(kv);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

#[test]
fn a_panic_waits_for_no_target() {
    let server = serve(LSM);
    let mut kv = open(&server, "");
    queue_all(&mut kv);
    server.stop().expect("stopped");
    let begun = Instant::now();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _last = kv;
        std::panic::resume_unwind(Box::new("a user's own"));
    }));
    assert!(caught.is_err() && begun.elapsed() < SOON);
}

#[test]
fn a_hundred_iterators_are_opened_in_a_row_and_none_is_closed() {
    let directory = tempfile::tempdir().expect("a directory");
    let image = directory.path().join("disk.img");
    ImagePlan { engine: EngineKind::LSM, ..ImagePlan::kv(64 << 20, "tiny", 1) }.create(&image).expect("made");
    let mut config = config(&format!("file:{}", image.display()));
    let mut server = Some(Server::start(config.clone()).expect("the server starts"));
    let mut kv = Kv::open(&url(server.as_ref().expect("it runs"), "reconnect=20")).expect("open");
    for n in 0..100u32 {
        kv.put(b"key", &n.to_le_bytes()).expect("stored");
        let mut iterator = kv.open_iterator(&KeyRange::default()).expect("one more").expect("it has them");
        let batch = kv.next_pairs(&mut iterator, 0, false, None).expect("pairs");
        assert_eq!(batch.pairs().next(), Some((&b"key"[..], &n.to_le_bytes()[..])));
        if n % 30 == 29 {
            // What was open is gone with its connection, and its number may be given out again.
            let running = server.take().expect("it runs");
            config.listen = running.addresses().to_vec();
            running.stop().expect("stopped");
            server = Some(Server::start(config.clone()).expect("the server starts again"));
            assert!(kv.next_pairs(&mut iterator, 0, false, None).is_err(), "it was lost");
            let mut held = kv.open_iterator(&KeyRange::default()).expect("a new one").expect("it has them");
            drop(iterator);
            kv.drain().expect("drained");
            let batch = kv.next_pairs(&mut held, 0, false, None).expect("the new one is not ended");
            assert_eq!(batch.pairs().len(), 1);
        }
    }
    assert!(kv.reconnects() >= 3);
}

#[test]
fn a_live_setting_is_all_hosts_and_others_are_refused() {
    let server = serve(LSM);
    let (mut one, mut other) = (open(&server, ""), open(&server, ""));
    let trigger = |kv: &mut Kv| {
        let all = kv.settings().expect("told");
        assert_eq!(all.len(), EngineKind::LSM.settings().len());
        all.into_iter().find(|s| s.name == "level0_file_num_compaction_trigger").expect("told").value
    };
    assert_eq!(trigger(&mut other), "4");
    one.set_setting("level0_file_num_compaction_trigger", "9").expect("live");
    queue_all(&mut one);
    one.drain().expect("stored");
    assert_eq!([trigger(&mut one), trigger(&mut other)], ["9", "9"]);
    other.format().expect("formats");
    assert_eq!(trigger(&mut one), "9");
    let refused = other.set_setting("write_buffer_size", "1MiB").expect_err("not live").to_string();
    assert!(
        refused.starts_with("setting `write_buffer_size` is chosen when the device is opened"),
        "{refused}"
    );
    let mut late = open(&server, "");
    assert_eq!(trigger(&mut late), "9");
}
