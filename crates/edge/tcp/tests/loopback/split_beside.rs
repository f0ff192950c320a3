// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions in parts beside other namespaces, other subsystems, blocks, a Format that is refused, a host that falls silent, limits, and a device
//! that is full amid a commit.

use saker::{EngineKind, HostError, ImagePlan, Kv, KvError, NamespacePlan, SplitOutcome, TransactionEnd};
use saker_nvme::admin::{SetFeatures, build, feature::fid, opcode::FORMAT_NVM};
use saker_nvme::group::{SplitAction, SplitCommand};
use saker_nvme::{Sqe, Status};
use saker_nvme_tcp::initiator::Data;
use saker_tcp::{HostRules, Served, Server};
use std::time::{Duration, Instant};

use super::split_owners::{BEGINS, COMMITS, Controller, DONE, MORE, NO_SUCH, NSID};
use super::splits::{ENGINES, device, id, require_much};
use super::support::{config, open, serve};

const LONG: &[u8] = b"a key that is longer than sixteen bytes";

/// Two namespaces with pairs and one with blocks, of one image: an ID is one of its namespace.
#[test]
fn namespaces_keep_apart() {
    for engine in EngineKind::ALL.iter().copied() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("disk.img");
        let pairs = || NamespacePlan::Kv { flash_bytes: Some(8 << 20) };
        let blocks = NamespacePlan::Block { bytes: Some(4 << 20), block_bytes: 512 };
        let namespaces = vec![pairs(), blocks, pairs()];
        ImagePlan { engine, namespaces, bytes: Some(32 << 20), ..ImagePlan::kv(0, "tiny", 1) }
            .create(&path)
            .expect("creates");
        let server = serve(&format!("file:{}", path.display()));
        let (mut first, mut third) = (Controller::of(&server), Controller::of(&server));
        let mut disk = saker::Block::open(&super::support::url(&server, "nsid=2")).expect("opens");
        third.nsid = 3;
        let what = engine.name();
        assert_eq!(first.part(id(1, 1), BEGINS, b"one", b"1"), Ok(1), "{what}");
        disk.write(3, &[7; 512]).expect("writes");
        assert_eq!(third.part(id(1, 1), BEGINS, b"one", b"3"), Ok(1), "{what}: another one");
        assert_eq!(first.part(id(1, 1), COMMITS, LONG, b"1"), DONE, "{what}");
        assert_eq!(third.control(id(1, 1), SplitAction::Outcome), Ok(SplitOutcome::Open as u32), "{what}");
        let mut kv = open(&server, "");
        assert_eq!(first.part(id(1, 2), BEGINS, b"two", b"never"), Ok(1), "{what}");
        kv.format().expect("formats");
        assert_eq!(
            first.control(id(1, 2), SplitAction::Commit),
            NO_SUCH,
            "{what}: it went with its namespace"
        );
        assert_eq!(third.control(id(1, 1), SplitAction::Commit), DONE, "{what}: the other's goes on");
        let mut other = open(&server, "nsid=3");
        assert_eq!((kv.get(b"one"), other.get(b"one")), (Ok(None), Ok(Some(b"3".to_vec()))), "{what}");
        let outcomes = [&mut kv, &mut other].map(|kv| kv.transaction_outcome(id(1, 1)));
        assert_eq!(outcomes, [Ok(SplitOutcome::NotDone), Ok(SplitOutcome::DoneBefore)], "{what}");
        // Blocks have none, and are as they were.
        first.nsid = 2;
        assert_eq!(first.part(id(1, 9), BEGINS, b"one", b"1"), Err(Status::INVALID_OPCODE), "{what}");
        assert_eq!(first.control(id(1, 9), SplitAction::Commit), Err(Status::INVALID_OPCODE), "{what}");
        first.nsid = 9;
        assert!(first.part(id(1, 9), BEGINS, b"one", b"1").is_err(), "{what}: no such namespace");
        let mut read = [0; 512];
        disk.read(3, &mut read).expect("reads");
        assert_eq!(read, [7; 512], "{what}");
    }
}

/// Devices of one target know nothing of each other's.
#[test]
fn subsystems_keep_apart() {
    let mut config = config(&device("hash_store"));
    config.subsystems.push(Served { url: device("lsm"), ..Served::default() });
    let server = Server::start(config).expect("the server starts");
    let mut both = [0, 1].map(|n| Controller::of_subsystem(&server, n));
    for mine in &mut both {
        assert_eq!(mine.part(id(1, 1), BEGINS, b"one", b"1"), Ok(1));
    }
    assert_eq!(both[0].control(id(1, 1), SplitAction::Abort), Ok(0));
    assert_eq!(both[0].control(id(1, 1), SplitAction::Commit), NO_SUCH);
    assert_eq!(both[1].control(id(1, 1), SplitAction::Commit), DONE);
    assert_eq!(both[0].control(id(1, 1), SplitAction::Outcome), Ok(SplitOutcome::NotDone as u32));
}

/// A cryptographic erase, which no device here has, is refused and ends nothing.
#[test]
fn a_refused_format_ends_nothing() {
    for engine in ENGINES {
        let mut config = config(&device(engine));
        let nqn = super::raw::HOST.to_owned();
        config.host_rules =
            vec![HostRules { nqn, admin: Some(vec!["format".into()]), ..HostRules::default() }];
        let server = Server::start(config).expect("the server starts");
        let mut mine = Controller::of(&server);
        assert_eq!(mine.part(id(1, 1), BEGINS, b"one", b"1"), Ok(1), "{engine}");
        let mut erase = Sqe::new(FORMAT_NVM, NSID);
        erase.cdw10 = (2 << 9).into();
        let told = mine.admin.execute(erase, Data::None).cqe.status();
        assert!(told.is(Status::INVALID_FIELD), "{engine}: {told}");
        assert_eq!(mine.part(id(1, 1), COMMITS, b"two", b"2"), DONE, "{engine}");
    }
}

/// A host that falls silent with all the transactions open that it may have is let go, and they with it.
#[test]
fn who_falls_silent_leaves_none() {
    let server = serve(&device("tree"));
    let mut mine = Controller::of(&server);
    let timer = SetFeatures { nsid: 0, fid: fid::KEEP_ALIVE_TIMER, save: false, cdw11: 300 };
    assert!(mine.admin.execute(build::set_features(&timer), Data::None).cqe.status().is_success());
    for number in 1..=16 {
        assert_eq!(mine.part(id(1, number), BEGINS, b"one", b"never"), Ok(1));
    }
    let (mut other, begun) = (Controller::of(&server), Instant::now());
    assert_eq!(other.part(id(1, 99), BEGINS, b"two", b"2"), Err(Status::CAPACITY_EXCEEDED));
    while other.part(id(1, 99), BEGINS, b"two", b"2").is_err() {
        assert!(begun.elapsed() < Duration::from_secs(60), "its memory is never free");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(other.control(id(1, 99), SplitAction::Commit), DONE);
    assert_eq!(other.control(id(1, 1), SplitAction::Commit), NO_SUCH);
}

/// A commit of several parts for which the device has no room changes nothing, wherever it stops; what makes room is carried out.
#[test]
fn there_is_no_room_for_all_of_it() {
    for engine in ENGINES {
        let server = serve(&format!("mem:?size=8MiB&profile=tiny&engine={engine}"));
        let (mut mine, mut kv) = (Controller::of(&server), open(&server, ""));
        let mut stored = 0_u64;
        for bytes in [15_000, 3_000] {
            let full = loop {
                match kv.put(&[b"fill", &stored.to_be_bytes()[..]].concat(), &vec![1; bytes]) {
                    Ok(()) => stored += 1,
                    Err(full) => break full,
                }
            };
            assert_eq!(full, HostError::Kv(KvError::Full), "{engine}");
        }
        let parts = 12_u8;
        for number in 1..=3 {
            for n in 0..parts {
                let flags = if n == 0 { BEGINS } else { MORE };
                let key = if n % 3 == 0 { [LONG, &[n]].concat() } else { vec![b'k', n] };
                assert_eq!(
                    mine.part(id(1, number), flags, &key, &[2; 1_500]),
                    Ok(u32::from(n) + 1),
                    "{engine}"
                );
            }
            let told = mine.control(id(1, number), SplitAction::Commit);
            if number == 3 {
                assert_eq!(told, DONE, "{engine}: there is room now");
            } else {
                assert_eq!(told, Err(Status::CAPACITY_EXCEEDED), "{engine}");
                assert_eq!(
                    mine.control(id(1, number), SplitAction::Commit),
                    NO_SUCH,
                    "{engine}: it has ended"
                );
            }
            for n in 0..parts {
                let key = if n % 3 == 0 { [LONG, &[n]].concat() } else { vec![b'k', n] };
                assert_eq!(kv.exists(&key), Ok(number == 3), "{engine}, {n}");
            }
            for n in 0..if number == 2 { stored / 2 } else { 0 } {
                assert_eq!(kv.delete(&[b"fill", &n.to_be_bytes()[..]].concat()), Ok(true), "{engine}");
            }
        }
    }
}

/// A host that may ask for little in a second waits with its parts, and nothing is lost or done twice.
#[test]
fn beside_limits() {
    let mut config = config(&device("lsm"));
    let nqn = "nqn.2026-11.dev.saker:slow".to_owned();
    config.host_rules = vec![HostRules {
        nqn: nqn.clone(),
        commands_per_second: Some(50),
        bytes_per_second: Some(8 << 20),
        memory_max: Some(2 << 20),
        ..HostRules::default()
    }];
    let server = Server::start(config).expect("the server starts");
    let mut kv = Kv::open(&super::support::url(&server, &format!("hostnqn={nqn}"))).expect("connected");
    let mut other = open(&server, "");
    for number in 1..=4 {
        let mut txn = kv.begin_transaction().expect("it has them");
        txn.put(b"one", &[number as u8]).expect("a good key");
        txn.put(LONG, &[number as u8]).expect("a good key");
        require_much(&mut txn, 60_000);
        assert_eq!(txn.commit_as(id(1, number)), Ok(TransactionEnd::Done), "{number}");
        assert_eq!(other.get(b"one"), Ok(Some(vec![number as u8])));
        assert_eq!(other.get(LONG), Ok(Some(vec![number as u8])));
    }
}

/// What the device is asked under an ID that is open, of another type, is refused and ends nothing; an abort of the admin queue neither.
#[test]
fn entries_that_name_none_end_nothing() {
    let server = serve(&device("hash_plus"));
    let mut mine = Controller::of(&server);
    assert_eq!(mine.part(id(1, 1), BEGINS, b"one", b"1"), Ok(1));
    let mut sqe = SplitCommand::Control { id: id(1, 1), action: SplitAction::Commit }.encode(NSID);
    sqe.cdw11 = (sqe.cdw11.get() | 1 << 20).into();
    assert!(mine.io.execute(sqe, Data::None).cqe.status().is(Status::INVALID_FIELD));
    let mut abort = Sqe::new(8, 0);
    abort.cdw10 = (1 | 7 << 16).into();
    assert!(mine.admin.execute(abort, Data::None).cqe.status().is_success());
    assert_eq!(mine.part(id(1, 1), COMMITS, b"two", b"2"), DONE);
}
