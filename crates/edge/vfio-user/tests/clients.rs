// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Clients one behind the other, resets, stops.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::{Key, Status, regs::offset};
use saker_vfio_client::{Function, Socket, VfioError};
use saker_vfio_user::{ServeError, Served, Server};

use crate::rig::{PAIRS, Rig};

#[test]
fn a_client_leaves_in_the_midst_and_the_next_finds_the_pairs() {
    for url in [PAIRS, "mem:?size=64MiB&profile=tiny&timing=real"] {
        for busy_poll in [false, true] {
            let rig = Rig::new(url, busy_poll);
            for n in 0..20_u32 {
                let mut driver = rig.driver().with_queue(n % 2 == 0);
                if n > 0 {
                    assert_eq!(driver.retrieve(b"counter"), Ok((n - 1).to_le_bytes().to_vec()), "{url}");
                }
                assert_eq!(driver.store(b"counter", &n.to_le_bytes()), Status::SUCCESS);
                // Commands are under way when it goes, without a word.
                for m in 0..40_u32 {
                    driver.submit(&kv::exist(1, &Key::new(&m.to_le_bytes()).unwrap()));
                }
            }
        }
    }
}

#[test]
fn the_second_client_waits_for_the_first() {
    let rig = Rig::new(PAIRS, false);
    let first = rig.driver().with_queue(true);
    let path = rig.socket.clone();
    let second = std::thread::spawn(move || {
        let mut function = Function::open(&path, 64).unwrap();
        function.enable().unwrap();
    });
    std::thread::sleep(Duration::from_millis(50));
    assert!(!second.is_finished(), "it has to wait");
    drop(first);
    second.join().unwrap();
}

#[test]
fn each_kind_of_reset_ends_with_a_controller_that_can_be_enabled() {
    for url in [PAIRS, "mem:?size=64MiB&profile=tiny&timing=real"] {
        let rig = Rig::new(url, false);
        let mut driver = rig.driver().with_queue(true);
        for round in 0..12_u32 {
            assert_eq!(driver.store(b"round", &round.to_le_bytes()), Status::SUCCESS);
            for m in 0..30_u32 {
                driver.submit(&kv::exist(1, &Key::new(&m.to_le_bytes()).unwrap()));
            }
            match round % 4 {
                0 => driver.function.disable().unwrap(),
                1 => driver.function.socket().reset().unwrap(),
                // Function-level reset: bit 15 of Device Control.
                2 => driver.function.socket().write(7, 0x68, &[0, 0x80]).unwrap(),
                // NSSR: "NVMe".
                _ => driver.function.set_register(0x20, 0x4E56_4D65).unwrap(),
            }
            let begun = Instant::now();
            while driver.function.register(offset::CSTS).unwrap() & 3 != 0 {
                assert!(begun.elapsed() < Duration::from_secs(60), "reset {round} has no end");
            }
            driver.function.enable().unwrap();
            driver = driver.with_queue(true);
            assert_eq!(driver.retrieve(b"round"), Ok(round.to_le_bytes().to_vec()), "{url}");
        }
    }
}

/// A deleted queue whose commands take time: its number is free when the deletion completes, and no completion of the old
/// queue comes to the new one.
#[test]
fn a_queue_that_is_made_again_gets_no_completion_of_the_one_before() {
    let rig = Rig::new("mem:?size=64MiB&profile=tiny&timing=real", false);
    let mut driver = rig.driver().with_queue(false);
    let data = driver.memory(4096);
    for round in 0..30_u32 {
        // A Flush behind a Store waits for a program: longer than the deletion takes.
        for m in 0..20_u32 {
            let key = Key::new(&m.to_le_bytes()).unwrap();
            let store = kv::store(1, &key, 4096, StoreOptions::default());
            driver.submit(&driver.with_data(store, &data, 4096));
            driver.submit(&kv::flush(1));
        }
        for sqe in [saker_nvme::admin::build::delete_sq(1), saker_nvme::admin::build::delete_cq(1)] {
            driver.function.admin(&sqe).unwrap();
        }
        driver = driver.with_queue(false);
        assert_eq!(driver.store(b"round", &round.to_le_bytes()), Status::SUCCESS, "round {round}");
    }
}

#[test]
fn a_server_stops_while_a_client_is_busy_and_removes_its_socket() {
    let mut rig = Rig::new(PAIRS, true);
    let mut driver = rig.driver().with_queue(false);
    assert_eq!(driver.store(b"key", b"value"), Status::SUCCESS);
    rig.stop();
    assert!(!rig.socket.exists());
    assert!(matches!(driver.function.register(0x1C), Err(VfioError::Socket(_))));
}

#[test]
fn a_path_that_is_taken_is_refused_and_one_that_was_left_behind_is_not() {
    let rig = Rig::new(PAIRS, false);
    let served =
        |socket| Served { url: PAIRS.into(), socket, nqn: None, busy_poll: false, memory_buffer: false };
    let refused = Server::start(&[served(rig.socket.clone())]).unwrap_err();
    assert!(matches!(refused, ServeError::InUse(_)), "{refused}");
    let file = rig.folder.path().join("file");
    std::fs::write(&file, "kept").unwrap();
    let refused = Server::start(&[served(file.clone())]).unwrap_err();
    assert!(matches!(refused, ServeError::NoSocket(_)) && std::fs::read(&file).unwrap() == b"kept");
    let left = rig.folder.path().join("left");
    drop(std::os::unix::net::UnixListener::bind(&left).unwrap());
    assert!(UnixStream::connect(&left).is_err());
    Server::start(&[served(left.clone())]).unwrap().stop().unwrap();
    let nowhere = Server::start(&[served(rig.folder.path().join("no/folder"))]).unwrap_err();
    assert!(matches!(nowhere, ServeError::Socket(..)), "{nowhere}");
    drop(Socket::open(&rig.socket).unwrap());
}

#[test]
fn resets_refusals_and_clients_are_counted() {
    let rig = Rig::new(PAIRS, false);
    // It says what no client says: a header of 16 bytes, no length of which is right.
    UnixStream::connect(&rig.socket).unwrap().write_all(&[0xFF; 16]).unwrap();
    let mut driver = rig.driver();
    driver.function.socket().reset().unwrap();
    driver.function.socket().write(7, 0x68, &[0, 0x80]).unwrap();
    assert!(driver.function.socket().unmap(1 << 40, 4096).is_err(), "nothing is mapped there");
    drop(driver);
    let mut kv = saker::Kv::open(&format!("vfio-user:{}", rig.socket.display())).unwrap();
    let counted = kv.counters().unwrap().unwrap();
    let of = |name: &str| counted.iter().find(|c| c.name == name).unwrap().value;
    let names = ["clients", "clients_expelled", "requests_refused", "resets"];
    assert_eq!(names.map(|name| of(&format!("vfio_user_{name}"))), [3, 1, 1, 2]);
}
