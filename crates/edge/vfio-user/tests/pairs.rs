// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pairs through a driver of our own, and through the host library's URL, on each engine and timing.

use saker_nvme::{Key, Status, kv};

use crate::rig::{PAIRS, Rig};

#[test]
fn the_five_commands_work_with_and_without_mapped_doorbells() {
    for (busy_poll, interrupts) in [(false, true), (false, false), (true, false), (true, true)] {
        let mut rig = Rig::new(PAIRS, busy_poll);
        let mut driver = rig.driver().with_queue(interrupts);
        assert_eq!(driver.function.is_mapped(), busy_poll);
        for bytes in [0, 1, 511, 4096, 4097, 8192, 8193, 16_000] {
            let value: Vec<u8> = (0..bytes).map(|n| (n * 7) as u8).collect();
            assert_eq!(driver.store(b"key", &value), Status::SUCCESS, "{bytes}");
            assert_eq!(driver.retrieve(b"key"), Ok(value), "{bytes}");
        }
        let key = Key::new(b"key").unwrap();
        assert_eq!(driver.io(&kv::exist(1, &key)).status(), Status::SUCCESS);
        let list = driver.memory(4096);
        let sqe = driver.with_data(kv::list(1, None, 64), &list, 64);
        assert_eq!(driver.io(&sqe).status(), Status::SUCCESS);
        let mut found = [0; 12];
        list.read(0, &mut found).unwrap();
        assert_eq!(&found[..9], b"\x01\0\0\0\x03\0key");
        assert_eq!(driver.io(&kv::delete(1, &key)).status(), Status::SUCCESS);
        assert_eq!(driver.retrieve(b"key"), Err(Status::KEY_DOES_NOT_EXIST));
        driver.function.shut_down().unwrap();
        driver.function.disable().unwrap();
        rig.stop();
    }
}

#[test]
fn an_interrupt_tells_of_every_completion() {
    let rig = Rig::new(PAIRS, false);
    let mut driver = rig.driver().with_queue(true);
    for n in 0..200_u32 {
        let key = Key::new(&n.to_le_bytes()).unwrap();
        driver.submit(&kv::exist(1, &key));
        // Not a look at the queue before the interrupt: only then is there a completion for certain.
        let begun = std::time::Instant::now();
        while !driver.pair.as_ref().unwrap().has_completed(1) {
            driver.function.rest(std::time::Duration::from_secs(60)).unwrap();
            assert!(begun.elapsed().as_secs() < 60, "no interrupt for command {n}");
        }
        assert_eq!(driver.completion().status(), Status::KEY_DOES_NOT_EXIST);
    }
}

/// Engines and timings by their URLs; `timing=real` has a clock.
const URLS: [&str; 9] = [
    "mem:?size=64MiB&profile=tiny&engine=hash_store",
    "mem:?size=64MiB&profile=tiny&engine=hash_original",
    "mem:?size=64MiB&profile=tiny&engine=hash_plus",
    "mem:?size=64MiB&profile=tiny&engine=hash_doubling",
    "mem:?size=64MiB&profile=tiny&engine=lsm",
    "mem:?size=64MiB&profile=tiny&engine=tree",
    "mem:?size=64MiB&profile=tiny&timing=real",
    "mem:?size=64MiB&profile=tiny&engine=lsm&timing=real",
    "file:FOLDER/disk.img",
];

#[test]
fn every_engine_keeps_pairs_behind_a_url() {
    for url in URLS {
        for busy_poll in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            if url.starts_with("file:") {
                saker::create_image(&folder.path().join("disk.img"), 64 << 20, "tiny", 1).unwrap();
            }
            let mut rig = Rig::in_folder(folder, url, busy_poll);
            let device = format!("vfio-user:{}", rig.socket.display());
            let mut kv = saker::Kv::open(&device).unwrap();
            let long = vec![9; 15_000];
            let key = |n: u32| format!("key-{n:04}-{}", "x".repeat((n % 40) as usize)).into_bytes();
            for n in 0..200 {
                kv.put(&key(n), if n % 50 == 7 { &long } else { b"short" }).unwrap();
            }
            for n in 0..200 {
                let expected = if n % 50 == 7 { long.clone() } else { b"short".to_vec() };
                assert_eq!(kv.get(&key(n)).unwrap(), Some(expected), "{url} {n}");
            }
            assert!(kv.delete(&key(3)).unwrap() && kv.get(&key(3)).unwrap().is_none(), "{url}");
            assert_eq!(kv.list(None).count(), 199, "{url}");
            kv.close().unwrap();
            rig.stop();
        }
    }
}
