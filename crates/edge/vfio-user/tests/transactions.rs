// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions behind a socket: of one command, in parts, and those of a client that leaves in the midst.

use saker::{HostError, Kv, KvError, Require, SplitOutcome, TransactionEnd, TransactionId};
use saker_nvme::group::{Ask, Op, SplitAction, SplitCommand, ToAsk, pack_part};
use saker_nvme::{Cqe, Status};

use crate::rig::{Driver, Rig};

const LONG: &[u8] = b"a key that is longer than sixteen bytes";

fn id(number: u64) -> TransactionId {
    TransactionId { host: *b"behind a socket.", number }
}

/// Engines in memory, on an image, and with a clock.
fn devices(mut see: impl FnMut(&Rig, &str)) {
    for engine in saker::EngineKind::ALL.iter().copied() {
        let memory = format!("mem:?size=64MiB&profile=tiny&engine={}", engine.name());
        let timed = format!("{memory}&timing=real");
        for url in [memory.as_str(), &timed, "file:FOLDER/disk.img"] {
            let folder = tempfile::tempdir().unwrap();
            let plan = saker::ImagePlan { engine, ..saker::ImagePlan::kv(64 << 20, "tiny", 1) };
            plan.create(&folder.path().join("disk.img")).unwrap();
            let mut rig = Rig::in_folder(folder, url, false);
            see(&rig, &format!("{url}, {}", engine.name()));
            rig.stop();
        }
    }
}

fn open(rig: &Rig) -> Kv {
    Kv::open(&format!("vfio-user:{}", rig.socket.display())).unwrap()
}

#[test]
fn they_are_whole_and_carried_out_once() {
    devices(|rig, what| {
        let mut kv = open(rig);
        kv.put(b"one", b"1").unwrap();
        let mut txn = kv.begin_transaction().unwrap();
        assert_eq!(txn.get(b"one"), Ok(Some(b"1".to_vec())), "{what}");
        txn.put(b"two", b"2").unwrap();
        txn.put(LONG, b"3").unwrap();
        let set = txn.suspend();
        kv.put(b"one", b"1").unwrap();
        let refused = kv.resume_transaction(set).commit();
        assert_eq!(refused, Err(HostError::Conflict { key: b"one".to_vec() }), "{what}");
        assert_eq!((kv.get(b"two"), kv.get(LONG)), (Ok(None), Ok(None)), "{what}");
        for (end, value) in [(TransactionEnd::Done, b"1"), (TransactionEnd::DoneBefore, b"2")] {
            let mut txn = kv.begin_transaction().unwrap();
            txn.put(LONG, value).unwrap();
            for n in 0..40_000_u32 {
                txn.require(&[b"none", &n.to_be_bytes()[..]].concat(), Require::Absent).unwrap();
            }
            assert_eq!(txn.commit_as(id(1)), Ok(end), "{what}");
            assert_eq!(kv.get(LONG), Ok(Some(b"1".to_vec())), "{what}");
        }
        let mut txn = kv.begin_transaction().unwrap();
        txn.put(b"one", &vec![7; (1 << 20) + 1]).unwrap();
        assert!(matches!(txn.commit_as(id(2)), Err(HostError::TransactionLength { .. })), "{what}");
        assert_eq!(kv.transaction_outcome(id(2)), Ok(SplitOutcome::NotDone), "{what}");
        assert_eq!(kv.get(b"one"), Ok(Some(b"1".to_vec())), "{what}");
        assert!(!matches!(kv.close(), Err(saker::Error::Host(HostError::Kv(KvError::Damaged)))), "{what}");
    });
}

fn ask(driver: &mut Driver, command: SplitCommand, data: &[u8]) -> Cqe {
    let memory = driver.memory(data.len());
    memory.write(0, data).unwrap();
    let sqe = driver.with_data(command.encode(1), &memory, data.len());
    driver.io(&sqe)
}

/// A client that goes without a word leaves nothing open, and what it had sent is no part of what the next one commits.
#[test]
fn a_client_leaves_in_the_midst() {
    devices(|rig, what| {
        let entry: ToAsk<'_> = (Ask::Op(Op::Store), b"left", b"never");
        let left = pack_part([entry].into_iter()).unwrap();
        for number in 1..=20 {
            let mut driver = rig.driver().with_queue(false);
            let commit = SplitCommand::Control { id: id(number - 1), action: SplitAction::Commit };
            let told = driver.io(&commit.encode(1)).status();
            assert!(told.is(Status::NO_SUCH_TRANSACTION), "{what}: {told}");
            let bytes = left.len() as u32;
            let part = SplitCommand::Part { id: id(number), bytes, begins: true, commits: false };
            let begun = ask(&mut driver, part, &left);
            assert_eq!((begun.status(), begun.result_dw0()), (Status::SUCCESS, 1), "{what}, {number}");
        }
        assert_eq!(open(rig).get(b"left"), Ok(None), "{what}");
    });
}
