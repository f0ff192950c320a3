// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device that goes away while it is used: the server asks its client to leave, and waits; who does not listen is left.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use saker_nvme::{Key, Status, kv, regs::offset};
use saker_vfio_user::{Served, Server};

use crate::rig::{PAIRS, Rig};

const TIMED: &str = "mem:?size=64MiB&profile=tiny&timing=real";

fn is_told(event: &OwnedFd, patience: Duration) -> bool {
    let patience = Timespec::try_from(patience).unwrap();
    poll(&mut [PollFd::new(event, PollFlags::IN)], Some(&patience)).unwrap() > 0
}

/// A driver that listens has all its commands answered before it goes, however long the device takes for them.
#[test]
fn a_client_that_is_asked_to_leave_is_served_until_it_has_left() {
    for (url, busy_poll) in [(PAIRS, false), (PAIRS, true), (TIMED, false), (TIMED, true)] {
        let mut rig = Rig::new(url, busy_poll);
        let mut driver = rig.driver().with_queue(false);
        let request = driver.function.hear_requests().unwrap().expect("the server asks");
        assert!(!is_told(&request, Duration::ZERO));
        for n in 0..30_u32 {
            driver.submit(&kv::exist(1, &Key::new(&n.to_le_bytes()).unwrap()));
        }
        let server = rig.server.take().unwrap();
        let stopping = std::thread::spawn(move || server.stop());
        assert!(is_told(&request, Duration::from_secs(60)), "{url}: it is not asked");
        for _ in 0..30 {
            assert_eq!(driver.completion().status(), Status::KEY_DOES_NOT_EXIST, "{url}");
        }
        // It goes on as usual, and can still write.
        assert_eq!(driver.store(b"last", b"word"), Status::SUCCESS, "{url}");
        assert_eq!(driver.function.socket().write(7, 0x68, &[0, 0x80]).map_err(drop), Ok(()), "a reset, too");
        assert!(!stopping.is_finished(), "{url}: the server waits");
        driver.function.enable().unwrap();
        driver.function.leave().unwrap();
        stopping.join().unwrap().unwrap();
        assert!(driver.function.register(offset::CSTS).is_err() && !rig.socket.exists());
    }
}

/// The host library: every write is answered, whenever the server goes; it is found again when it is back.
#[test]
fn a_library_leaves_when_it_is_asked_to_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    saker::create_image(&folder.path().join("disk.img"), 64 << 20, "tiny", 1).unwrap();
    for busy_poll in [false, true] {
        let url = format!("file:{}", folder.path().join("disk.img").display());
        let socket = folder.path().join("socket");
        let start = || {
            let (url, socket) = (url.clone(), socket.clone());
            Server::start(&[Served { url, socket, nqn: None, busy_poll, memory_buffer: false }]).unwrap()
        };
        let mut server = Some(start());
        let is_over = AtomicBool::new(false);
        let device = format!("vfio-user:{}?reconnect=60", socket.display());
        let written = std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let mut kv = saker::Kv::open(&device).unwrap();
                let mut n = 0_u32;
                while !is_over.load(Ordering::Relaxed) {
                    // An error would be an outcome that nobody knows: there is none.
                    kv.put(&(n % 500).to_le_bytes(), &n.to_le_bytes()).unwrap();
                    n += 1;
                }
                let reconnects = kv.reconnects();
                kv.close().unwrap();
                (n, reconnects)
            });
            for _ in 0..4 {
                std::thread::sleep(Duration::from_millis(60));
                server.take().unwrap().stop().unwrap();
                server = Some(start());
            }
            std::thread::sleep(Duration::from_millis(60));
            is_over.store(true, Ordering::Relaxed);
            worker.join().unwrap()
        });
        assert!(written.0 > 0 && written.1 > 0, "{written:?}");
        server.take().unwrap().stop().unwrap();
        let mut kv = saker::Kv::open(&url).unwrap();
        for n in written.0.saturating_sub(500)..written.0 {
            let found = kv.get(&(n % 500).to_le_bytes()).unwrap();
            assert_eq!(found, Some(n.to_le_bytes().to_vec()), "{n} of {}", written.0);
        }
        kv.close().unwrap();
    }
}

/// A library that nobody calls does not hold a server up: it leaves all the same, and is there when it is called again.
#[test]
fn an_idle_library_leaves_by_itself() {
    let mut rig = Rig::new(PAIRS, false);
    let device = format!("vfio-user:{}?reconnect=60", rig.socket.display());
    let mut kv = saker::Kv::open(&device).unwrap();
    kv.put(b"key", b"value").unwrap();
    let begun = Instant::now();
    rig.stop();
    // Twenty seconds are what a client that hears and does not go would get.
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    let served = Served {
        url: PAIRS.into(),
        socket: rig.socket.clone(),
        nqn: None,
        busy_poll: false,
        memory_buffer: false,
    };
    rig.server = Some(Server::start(&[served]).unwrap());
    assert_eq!(kv.get(b"key").unwrap(), None, "another device, of memory");
    kv.put(b"key", b"again").unwrap();
    kv.close().unwrap();
    rig.stop();
}

/// A request's descriptor is looked at as a vector's is: one that is no eventfd is refused, and so is a second request.
#[test]
fn a_request_has_one_event() {
    let mut rig = Rig::new(PAIRS, false);
    let mut driver = rig.driver();
    let socket = driver.function.socket();
    let null = std::fs::File::open("/dev/null").unwrap();
    assert!(socket.set_interrupt(4, 0, std::os::fd::AsFd::as_fd(&null)).is_err());
    let event = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap();
    assert!(socket.set_interrupt(4, 1, std::os::fd::AsFd::as_fd(&event)).is_err());
    assert_eq!((socket.interrupts(4).unwrap(), socket.interrupts(3).unwrap()), (1, 0));
    // Nobody listens: it is left at once.
    rig.stop();
}
