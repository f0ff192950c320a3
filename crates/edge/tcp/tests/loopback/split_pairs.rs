// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A transaction in parts that is open while something else is done to its namespace: Format, Flush, a backup, a restart of the target, a lost
//! connection at any byte.

use saker::{
    BackupOptions, EngineKind, HostError, ImagePlan, Kv, KvError, RestoreOptions, SplitOutcome,
    TransactionEnd, back_up, grow_image, repair_image, restore_kv,
};
use saker_nvme::Sqe;
use saker_nvme::group::SplitAction;
use saker_nvme::kv::opcode;
use saker_nvme_tcp::initiator::Data;
use saker_sim::{Rng, Seed};
use saker_tcp::Server;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::split_owners::{BEGINS, COMMITS, Controller, DONE, DONE_BEFORE, MORE, NO_SUCH, NSID};
use super::splits::{ENGINES, Way, device, id, require_much};
use super::support::{count, open, serve};

const LONG: &[u8] = b"a key that is longer than sixteen bytes";

/// Targets of every engine, in memory and on an image.
pub fn targets(mut see: impl FnMut(&Server, &str)) {
    for engine in EngineKind::ALL.iter().copied() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("disk.img");
        ImagePlan { engine, ..ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path).expect("creates");
        for (device, kind) in [(device(engine.name()), "mem:"), (format!("file:{}", path.display()), "file:")]
        {
            let server = serve(&device);
            see(&server, &format!("{kind}, {}", engine.name()));
            server.stop().expect("stops");
        }
    }
}

pub fn found(kv: &mut Kv) -> [Option<Vec<u8>>; 3] {
    [&b"one"[..], b"two", LONG].map(|key| kv.get(key).expect("reads"))
}

/// A Format by another host ends what is open, wherever it comes, and what was carried out before is forgotten with its pairs.
#[test]
fn a_format_between() {
    targets(|server, what| {
        let (mut mine, mut other) = (Controller::of(server), open(server, ""));
        for (number, parts) in (0_u64..).zip([1, 2, 3]) {
            let (done, split) = (id(1, 10 * number), id(1, 10 * number + 1));
            assert_eq!(mine.part(done, (true, true), b"before", b"1"), DONE, "{what}");
            for (n, key) in [&b"one"[..], b"two", LONG].into_iter().take(parts).enumerate() {
                let flags = if n == 0 { BEGINS } else { MORE };
                assert_eq!(mine.part(split, flags, key, b"never"), Ok(n as u32 + 1), "{what}");
            }
            other.format().expect("formats");
            match number % 3 {
                0 => assert_eq!(mine.part(split, MORE, b"late", b"never"), NO_SUCH, "{what}"),
                1 => assert_eq!(mine.part(split, COMMITS, b"late", b"never"), NO_SUCH, "{what}"),
                _ => assert_eq!(mine.control(split, SplitAction::Commit), NO_SUCH, "{what}"),
            }
            for asked in [done, split] {
                assert_eq!(other.transaction_outcome(asked), Ok(SplitOutcome::NotDone), "{what}");
            }
            assert_eq!(found(&mut other), [None, None, None], "{what}");
            assert_eq!(other.get(b"before"), Ok(None), "{what}");
            assert_eq!(mine.part(split, (true, true), b"one", b"1"), DONE, "{what}: it may begin anew");
            assert_eq!(other.get(b"one"), Ok(Some(b"1".to_vec())), "{what}");
        }
    });
}

/// Flushes between the parts neither end it nor carry out anything of it.
#[test]
fn a_flush_between() {
    targets(|server, what| {
        let (mut mine, mut other) = (Controller::of(server), open(server, ""));
        let mut flush = |mine: &mut Controller| {
            let answer = mine.io.execute(Sqe::new(opcode::FLUSH, NSID), Data::None).cqe;
            assert!(answer.status().is_success(), "{what}: {}", answer.status());
            other.flush().expect("flushes");
            assert_eq!(found(&mut other), [None, None, None], "{what}: nothing is seen");
        };
        assert_eq!(mine.part(id(1, 1), BEGINS, b"one", b"1"), Ok(1), "{what}");
        flush(&mut mine);
        assert_eq!(mine.part(id(1, 1), MORE, LONG, b"3"), Ok(2), "{what}");
        flush(&mut mine);
        assert_eq!(mine.part(id(1, 1), COMMITS, b"two", b"2"), DONE, "{what}");
        assert_eq!(found(&mut other), [b"1", b"2", b"3"].map(|v| Some(v.to_vec())), "{what}");
    });
}

/// A backup of the device takes what was carried out and nothing of what is open, and does not end that.
#[test]
fn a_backup_between() {
    targets(|server, what| {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("a.bak");
        let mut mine = Controller::of(server);
        assert_eq!(mine.part(id(1, 1), (true, true), b"one", b"1"), DONE, "{what}");
        assert_eq!(mine.part(id(1, 2), BEGINS, b"two", b"2"), Ok(1), "{what}");
        let at = format!("tcp://{}/{}", server.addresses()[0], server.names()[0]);
        let options = BackupOptions { each: true, ..BackupOptions::default() };
        back_up(&at, &file, &options, &mut |_| {}).expect("backed up");
        assert_eq!(mine.part(id(1, 2), COMMITS, LONG, b"3"), DONE, "{what}");
        let mut kv = Kv::open("mem:?size=16MiB&profile=tiny").expect("opens");
        restore_kv(&[file], &mut kv, &RestoreOptions::default(), &mut |_| {}).expect("restores");
        assert_eq!(found(&mut kv), [Some(b"1".to_vec()), None, None], "{what}");
        assert_eq!(kv.transaction_outcome(id(1, 1)), Ok(SplitOutcome::DoneBefore), "{what}");
        assert_eq!(kv.transaction_outcome(id(1, 2)), Ok(SplitOutcome::NotDone), "{what}");
    });
}

fn is_there(path: &Path, what: &str) {
    let mut kv = Kv::open(&format!("file:{}", path.display())).expect("opens");
    assert_eq!(found(&mut kv), [Some(b"1".to_vec()), None, Some(b"3".to_vec())], "{what}");
    assert_eq!(kv.transaction_outcome(id(1, 1)), Ok(SplitOutcome::DoneBefore), "{what}");
    assert_eq!(kv.transaction_outcome(id(1, 2)), Ok(SplitOutcome::NotDone), "{what}");
    kv.close().expect("closes");
}

/// A target that starts again knows what was carried out, and nothing of what was open. What was read before has another version. Growing and
/// repairing its image keep that.
#[test]
fn a_restart_between() {
    for engine in EngineKind::ALL.iter().copied() {
        let dir = tempfile::tempdir().expect("a directory");
        let [path, mended] = ["disk.img", "mended.img"].map(|name| dir.path().join(name));
        ImagePlan { engine, ..ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path).expect("creates");
        let what = engine.name();
        let server = serve(&format!("file:{}", path.display()));
        let mut mine = Controller::of(&server);
        assert_eq!(mine.part(id(1, 1), BEGINS, b"one", b"1"), Ok(1), "{what}");
        assert_eq!(mine.part(id(1, 1), COMMITS, LONG, b"3"), DONE, "{what}");
        assert_eq!(mine.part(id(1, 2), BEGINS, b"two", b"never"), Ok(1), "{what}");
        let before = open(&server, "").get_versioned(b"one").expect("reads");
        server.stop().expect("stops");
        let server = serve(&format!("file:{}", path.display()));
        let mut mine = Controller::of(&server);
        assert_eq!(mine.part(id(1, 2), COMMITS, b"two", b"never"), NO_SUCH, "{what}");
        assert_eq!(mine.control(id(1, 2), SplitAction::Commit), NO_SUCH, "{what}");
        assert_eq!(mine.control(id(1, 1), SplitAction::Commit), DONE_BEFORE, "{what}");
        let after = open(&server, "").get_versioned(b"one").expect("reads");
        assert_eq!(before.value, after.value, "{what}");
        assert_ne!(before.version, after.version, "{what}: docs/vendor-commands.md says so");
        server.stop().expect("stops");
        is_there(&path, what);
        repair_image(&path, &mended, &mut |_| {}).expect("repaired");
        grow_image(&path, 24 << 20, None, &mut |_| {}).expect("grows");
        is_there(&path, what);
        is_there(&mended, what);
    }
}

/// A connection is lost behind any number of bytes of a transaction of several parts, with keys of both lengths. Its host goes on over another, and it has
/// one effect.
#[test]
fn a_connection_lost_at_any_part() {
    for engine in ENGINES {
        let server = serve(&device(engine));
        let way = Way::to(server.addresses()[0]);
        let url = format!("tcp://{}/{}?reconnect=20", way.at, server.names()[0]);
        let (mut kv, mut other) = (Kv::open(&url).expect("opens"), open(&server, ""));
        let mut rng: Rng = Seed(31).rng();
        let mut sum = 0_u64;
        for number in 1..=count(100) as u64 {
            let mut txn = kv.begin_transaction().expect("it has them");
            let read = txn.get(LONG).expect("reads").map_or(0, |v| v[0].into());
            assert_eq!(read, sum % 251, "{engine}, {number}");
            sum += number;
            txn.put(LONG, &[(sum % 251) as u8]).expect("a good key");
            txn.put(b"two", &sum.to_le_bytes()).expect("a good key");
            require_much(&mut txn, 100_000);
            // Two MiB of parts go that way, and their answers back.
            match number % 3 {
                0 => way.left.store(rng.below(60), Ordering::SeqCst),
                _ => way.sent.store(rng.below((2 << 20) + 1000), Ordering::SeqCst),
            }
            let end = txn.commit_as(id(1, number)).unwrap_or_else(|e| panic!("{engine}, {number}: {e}"));
            way.left.store(u64::MAX, Ordering::SeqCst);
            way.sent.store(u64::MAX, Ordering::SeqCst);
            assert!(matches!(end, TransactionEnd::Done | TransactionEnd::DoneBefore));
            let values = [LONG, b"two"].map(|key| other.get(key).expect("reads").expect("it was written"));
            assert_eq!(values, [vec![(sum % 251) as u8], sum.to_le_bytes().to_vec()], "{engine}, {number}");
            assert_eq!(other.transaction_outcome(id(1, number)), Ok(SplitOutcome::DoneBefore), "{engine}");
        }
        let cuts = way.cuts.load(Ordering::SeqCst);
        assert!(cuts >= count(100) as u64 / 2, "{engine}: {cuts}");
    }
}

/// The hybrid has none with an ID: it says so by name, whatever is asked.
#[test]
fn the_hybrid_refuses_them() {
    let server = serve("mem:?size=24MiB&profile=tiny&engine=lsm&blocks=16MiB");
    let mut kv = open(&server, "hybrid");
    let mut txn = kv.begin_transaction().expect("it has them");
    txn.put(b"one", b"1").expect("a good key");
    let refused = txn.commit_as(id(1, 1));
    assert!(matches!(refused, Err(HostError::NoTransactions(_))), "{refused:?}");
    assert!(matches!(kv.transaction_outcome(id(1, 1)), Err(HostError::NoTransactions(_))));
    assert_eq!(kv.get(b"one"), Ok(None));
    assert!(!matches!(kv.put(LONG, b"3"), Err(HostError::Kv(KvError::Damaged))));
}
