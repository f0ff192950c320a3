// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A file system fills up under an image, and gets room again: writing goes on by itself, and nothing is lost.

use crate::hostfs::tiny::{give_space, image, on_a_tiny_file_system, take_space};
use crate::support::{is_soak, key, value};
use saker::{
    AnyDevice, Block, DeviceUrl, EngineKind, Error, Kv, NamespacePlan, Saker, SakerOptions, build_device,
    check_image, close_device,
};
use saker_host::{ConnectOptions, Connection, Driver, HostError, KvError, Port, WriteBatch};
use saker_nvme::admin::{FormatNvm, build};
use saker_testing::tier;
use std::collections::BTreeMap;
use std::path::Path;

const VALUE_BYTES: u32 = 1500;
/// Refusals that are looked at in each episode.
const REFUSALS: u32 = 50;

type Model = BTreeMap<u32, u64>;

fn url(path: &Path, options: &str) -> String {
    format!("file:{}?depth=4{options}", path.display())
}

fn put(kv: &mut Kv, model: &mut Model, n: u32, version: u64) -> Result<(), HostError> {
    kv.put(&key(n), &value(n, version, VALUE_BYTES))?;
    model.insert(n, version);
    Ok(())
}

/// Stores until the device refuses; the number of the pair that it refused.
fn fill(kv: &mut Kv, model: &mut Model) -> u32 {
    let first = model.last_key_value().map_or(0, |(n, _)| n + 1);
    for n in first.. {
        match put(kv, model, n, 1) {
            Ok(()) => {}
            Err(HostError::Kv(KvError::NotReady)) => return n,
            Err(error) => panic!("pair {n}: {error}"),
        }
    }
    unreachable!("the file system is smaller than the image")
}

fn verify(kv: &mut Kv, model: &Model, what: &str) {
    for (n, version) in model {
        let found = kv.get(&key(*n)).unwrap_or_else(|error| panic!("{what}: pair {n}: {error}"));
        assert!(found == Some(value(*n, *version, VALUE_BYTES)), "{what}: pair {n}");
        assert_eq!(kv.exists(&key(*n)), Ok(true), "{what}: pair {n}");
    }
    assert_eq!(kv.exists(&key(u32::MAX)), Ok(false), "{what}");
}

/// What a full file system allows: every refusal is the same, and changes nothing.
fn while_full(kv: &mut Kv, model: &mut Model, refused: u32) {
    for n in 0..REFUSALS {
        let at = if n % 2 == 0 { refused + n } else { n };
        match put(kv, model, at, 2) {
            Ok(()) | Err(HostError::Kv(KvError::NotReady)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    let mut batch = WriteBatch::new();
    for n in 0..40 {
        batch.put(&key(1_000_000 + n), &value(n, 3, VALUE_BYTES));
    }
    match kv.write(&batch) {
        Err(HostError::Batch { error, .. }) if *error == HostError::Kv(KvError::NotReady) => {}
        Ok(()) | Err(HostError::Kv(KvError::NotReady)) => {}
        other => panic!("{other:?}"),
    }
    verify(kv, model, "while it is full");
}

/// Everything that was refused can be stored, at once.
fn with_room_again(kv: &mut Kv, model: &mut Model, refused: u32) {
    for n in refused..refused + 1000 {
        put(kv, model, n, 4).unwrap_or_else(|error| panic!("with room again, pair {n}: {error}"));
    }
    kv.flush().expect("with room again");
}

/// Of the second round on, an image is opened while there is no room.
const ROUNDS: u32 = 3;

fn scenario(dir: &Path, engine: EngineKind, options: &str) {
    scenario_of(ROUNDS, dir, engine, options);
}

fn scenario_of(rounds: u32, dir: &Path, engine: EngineKind, options: &str) {
    let path = image(dir, engine, &[NamespacePlan::Kv { flash_bytes: None }]);
    let mut model = Model::new();
    let mut kv = Kv::open(&url(&path, options)).expect("opens");
    for round in 0..rounds {
        take_space(dir);
        let refused = fill(&mut kv, &mut model);
        while_full(&mut kv, &mut model, refused);
        if round == 1 {
            // A killed process, and an open while there is no room: what was acknowledged is in the page buffer.
            drop(kv);
            kv = Kv::open(&url(&path, options)).expect("opens on a full file system");
            verify(&mut kv, &model, "opened while it is full");
        }
        give_space(dir);
        with_room_again(&mut kv, &mut model, refused);
        for n in refused..refused + 1000 {
            assert!(kv.delete(&key(n)).expect("with room"));
            model.remove(&n);
        }
    }
    take_space(dir);
    fill(&mut kv, &mut model);
    match kv.close() {
        // The page buffer of this profile lasts, so a Flush covers it.
        Ok(()) => {}
        Err(error) => panic!("{engine:?}: closes while it is full: {error}"),
    }
    let mut kv = Kv::open(&url(&path, options)).expect("opens after an orderly end");
    verify(&mut kv, &model, "after an orderly end");
    give_space(dir);
    kv.put(b"one", b"more").expect("there is room");
    kv.close().expect("closes");
    let (report, _) = check_image(&path, &mut |_| {}).expect("checks");
    assert!(report.is_sound(), "{:?}", report.findings);
    std::fs::remove_file(path).expect("it is there");
}

/// Without the repair every store after the first ENOSPC is refused with Capacity Exceeded until the image is opened
/// again.
#[test]
fn every_engine_goes_on_when_there_is_room() {
    on_a_tiny_file_system("hostfs::full::every_engine_goes_on_when_there_is_room", |dir| {
        for engine in EngineKind::ALL {
            eprintln!("{}", engine.name());
            scenario(dir, *engine, "");
        }
    });
}

#[test]
fn so_does_a_device_on_a_thread_of_its_own() {
    on_a_tiny_file_system("hostfs::full::so_does_a_device_on_a_thread_of_its_own", |dir| {
        scenario(dir, EngineKind::HASH_STORE, "&threads=1");
        scenario(dir, EngineKind::LSM, "&threads=1");
    });
}

#[test]
fn so_does_a_device_that_keeps_time() {
    on_a_tiny_file_system("hostfs::full::so_does_a_device_that_keeps_time", |dir| {
        // Two threads poll as long as the profile's flash takes for each pair.
        scenario_of(tier(2, ROUNDS), dir, EngineKind::HASH_STORE, "&timing=real");
        if is_soak() {
            scenario(dir, EngineKind::TREE, "&timing=real");
        }
    });
}

/// Long values take many pages at once, or none.
#[test]
fn long_values_are_stored_whole_or_not_at_all() {
    const BYTES: u32 = 30_000;
    on_a_tiny_file_system("hostfs::full::long_values_are_stored_whole_or_not_at_all", |dir| {
        for engine in EngineKind::ALL {
            let path = image(dir, *engine, &[NamespacePlan::Kv { flash_bytes: None }]);
            let mut kv = Kv::open(&url(&path, "")).expect("opens");
            take_space(dir);
            let whole = |n| value(n, 9, BYTES);
            let stored = (0..).take_while(|n| match kv.put(&key(*n), &whole(*n)) {
                Ok(()) => true,
                Err(HostError::Kv(KvError::NotReady)) => false,
                Err(error) => panic!("{engine:?}: {error}"),
            });
            let stored = stored.count() as u32;
            let check = |kv: &mut Kv| {
                (0..stored).for_each(|n| {
                    assert!(kv.get(&key(n)).expect("reads") == Some(whole(n)), "{engine:?} {n}")
                });
                assert_eq!(kv.exists(&key(stored)), Ok(false));
            };
            check(&mut kv);
            drop(kv);
            let mut kv = Kv::open(&url(&path, "")).expect("opens");
            check(&mut kv);
            give_space(dir);
            kv.put(&key(stored), &whole(stored)).expect("there is room");
            kv.close().expect("closes");
            std::fs::remove_file(path).expect("it is there");
        }
    });
}

#[test]
fn blocks_go_on_when_there_is_room() {
    on_a_tiny_file_system("hostfs::full::blocks_go_on_when_there_is_room", |dir| {
        let blocks = NamespacePlan::Block { bytes: Some(32 << 20), block_bytes: 512 };
        let path = image(dir, EngineKind::HASH_STORE, &[NamespacePlan::Kv { flash_bytes: None }, blocks]);
        let mut disk = Block::open(&url(&path, "&nsid=2")).expect("opens");
        let data = |at: u64| value(at as u32, 5, 4096);
        take_space(dir);
        let refused = (0..).step_by(8).find(|at| match disk.write(*at, &data(*at)) {
            Ok(()) => false,
            Err(Error::Host(HostError::Kv(KvError::NotReady))) => true,
            Err(error) => panic!("block {at}: {error}"),
        });
        let refused = refused.expect("it fills");
        let verify = |disk: &mut Block, end: u64| {
            let mut found = vec![0; 4096];
            for at in (0..end).step_by(8) {
                disk.read(at, &mut found).expect("reads");
                assert!(found == data(at), "block {at}");
            }
        };
        verify(&mut disk, refused);
        give_space(dir);
        (refused..refused + 8000).step_by(8).for_each(|at| disk.write(at, &data(at)).expect("there is room"));
        disk.flush().expect("flushes");
        drop(disk);
        let mut disk = Block::open(&url(&path, "&nsid=2")).expect("opens");
        verify(&mut disk, refused + 8000);
        // A full namespace of blocks does not keep one of pairs from reading, nor the other way round.
        let mut kv = {
            disk.close().expect("closes");
            Kv::open(&url(&path, "")).expect("opens")
        };
        kv.put(b"key", b"value").expect("there is room");
        kv.close().expect("closes");
    });
}

/// What a session's `sync` and `put_durable` say is by key, and true: a crash keeps what they confirmed.
#[test]
fn sessions_report_by_key() {
    on_a_tiny_file_system("hostfs::full::sessions_report_by_key", |dir| {
        let path = image(dir, EngineKind::HASH_STORE, &[NamespacePlan::Kv { flash_bytes: None }]);
        let store = Saker::open(&url(&path, ""), SakerOptions::default()).expect("opens");
        let mut session = store.session().expect("a session");
        let name = |n: u32| n.to_be_bytes();
        take_space(dir);
        let mut confirmed = Vec::new();
        let refused = (0..20_000_u32).find(|n| match session.put_durable(&name(*n), &value(*n, 1, 900)) {
            Ok(()) => {
                confirmed.push(*n);
                false
            }
            Err(error) => {
                assert!(error.to_string().contains("make room"), "{error}");
                true
            }
        });
        let refused = refused.expect("it fills");
        give_space(dir);
        session.put_durable(&name(refused), &value(refused, 1, 900)).expect("there is room again");
        confirmed.push(refused);
        drop(session);
        drop(store);
        let mut kv = Kv::open(&url(&path, "")).expect("opens");
        for n in confirmed {
            assert!(kv.get(&name(n)).expect("reads") == Some(value(n, 1, 900)), "pair {n}");
        }
    });
}

/// A Format does not wait for what it throws away, and what it erases makes room.
#[test]
fn a_format_goes_through_while_it_is_full() {
    on_a_tiny_file_system("hostfs::full::a_format_goes_through_while_it_is_full", |dir| {
        let path = image(dir, EngineKind::HASH_STORE, &[NamespacePlan::Kv { flash_bytes: None }]);
        let mut kv = Kv::open(&url(&path, "")).expect("opens");
        take_space(dir);
        fill(&mut kv, &mut Model::new());
        drop(kv);
        let parsed = DeviceUrl::parse(&url(&path, "")).expect("a URL");
        let (device, host, _) = build_device(&parsed).expect("opens while it is full");
        let port =
            Port { space: host.space, registers: host.registers, doorbells: host.doorbells, bar: host.bar };
        let mut driver = Inline(device);
        let mut connection =
            Connection::connect(port, &mut driver, ConnectOptions::default()).expect("connects");
        let format = build::format_nvm(&FormatNvm { nsid: 1, format_index: 0, secure_erase: 0 });
        connection.execute_admin(&mut driver, format).expect("formats");
        let Inline(device) = driver;
        close_device(device).expect("closes");
        let mut kv = Kv::open(&url(&path, "")).expect("opens");
        assert_eq!(kv.list(None).count(), 0);
        (0..1000).for_each(|n| kv.put(&key(n), &value(n, 1, VALUE_BYTES)).expect("there is room"));
        kv.close().expect("closes");
    });
}

/// A device on the caller's thread.
struct Inline(AnyDevice);

impl Driver for Inline {
    fn drive(&mut self) {
        self.0.advance(saker_sim::Instant::ZERO);
    }
}
