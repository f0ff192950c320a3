// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A target is killed (SIGKILL) while hosts commit transactions in parts under IDs: what such a transaction wrote is there with its
//! outcome, or neither is, and what is sent again has one effect. With `file:` a process that uses an image itself is killed.

use crate::killed;
use saker::{EngineKind, HostError, ImagePlan, Kv, SplitOutcome, Store, TransactionEnd, TransactionId};
use saker_sim::Seed;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const HOSTS: u64 = 3;
/// Of a process that uses an image itself.
const IMAGE: &str = "SAKER_TEST_SPLIT_IMAGE";

#[test]
#[ignore = "the parent starts it and kills it"]
fn child() {
    killed::serve();
}

/// One process, whose threads share an image, each a host.
#[test]
#[ignore = "the parent starts it and kills it"]
fn child_of_an_image() {
    let Ok(image) = std::env::var(IMAGE) else { return };
    let store = Store::open(&format!("file:{image}")).expect("opens");
    // The harness prints to standard output; standard input is the parent's pipe, which gets a byte for each commit.
    let pipe = std::io::stdin().as_fd().try_clone_to_owned().expect("duplicates");
    std::thread::scope(|scope| {
        for host in 0..HOSTS {
            let (store, mut told) = (store.clone(), File::from(pipe.try_clone().expect("duplicates")));
            scope.spawn(move || {
                loop {
                    let counted = number(store.get(&keys(host)[0]).expect("reads"));
                    let mut txn = store.begin().expect("it has them");
                    for key in keys(host) {
                        txn.put(key, value(counted + 1)).expect("a good key");
                    }
                    let end = txn.commit_as(id(host, counted + 1)).expect("commits");
                    assert_eq!(end, TransactionEnd::Done, "host {host}, {counted}");
                    told.write_all(&[1]).expect("the parent reads");
                }
            });
        }
    });
}

fn id(host: u64, number: u64) -> TransactionId {
    TransactionId { host: [host as u8 + 1; 16], number }
}

/// A short one, a long one, and one with the mark of envelopes.
fn keys(host: u64) -> [Vec<u8>; 3] {
    [
        format!("count of {host}").into_bytes(),
        format!("the count of host {host}, under a long key").into_bytes(),
        [&[0xFF, 0x4B], format!("host {host:09}").as_bytes()].concat(),
    ]
}

fn number(value: Option<Vec<u8>>) -> u64 {
    value.and_then(|v| v.first_chunk().map(|n| u64::from_le_bytes(*n))).unwrap_or(0)
}

fn value(number: u64) -> Vec<u8> {
    let mut value = number.to_le_bytes().to_vec();
    value.resize(8 + (number * 31 % 300) as usize, 7);
    value
}

fn next(kv: &mut Kv, host: u64) -> Result<u64, HostError> {
    kv.get(&keys(host)[0]).map(|value| number(value) + 1)
}

/// Both keys of a host get the number of its transaction.
fn count(kv: &mut Kv, host: u64, number: u64) -> Result<TransactionEnd, HostError> {
    let mut txn = kv.begin_transaction()?;
    for key in keys(host) {
        txn.put(&key, &value(number))?;
    }
    txn.commit_as(id(host, number))
}

/// What each host was told last before the target was killed.
fn live_and_die(path: &Path, before: &[u64], moment: Duration) -> Vec<u64> {
    let (mut child, url) = killed::start("split_kill::child", path);
    let (url, commits) = (&url, &AtomicU64::new(0));
    std::thread::scope(|scope| {
        let client = |(host, before): (u64, &u64)| {
            let mut told = *before;
            scope.spawn(move || {
                let Ok(mut kv) = Kv::open(url) else { return told };
                while let Ok(end) = count(&mut kv, host, told + 1) {
                    assert_eq!(end, TransactionEnd::Done, "host {host}, {told}");
                    told += 1;
                    commits.fetch_add(1, Ordering::SeqCst);
                }
                told
            })
        };
        let threads: Vec<_> = (0..).zip(before).map(client).collect();
        killed::wait_for_commits(commits);
        std::thread::sleep(moment);
        child.kill().expect("kills");
        child.wait().expect("ends");
        threads.into_iter().map(|thread| thread.join().expect("a host ends")).collect()
    })
}

fn use_and_die(path: &Path, moment: Duration) {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args(["split_kill::child_of_an_image", "--exact", "--ignored"])
        .stdin(writer)
        .stdout(Stdio::null());
    let mut child: Child = command.env(IMAGE, path).spawn().expect("starts");
    drop(command);
    reader.read_exact(&mut [0; killed::COMMITS_MIN as usize]).expect("it commits");
    // Whoever writes to a pipe that nobody reads would wait some day.
    std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
    std::thread::sleep(moment);
    child.kill().expect("kills");
    child.wait().expect("ends");
}

/// What is there, and that the outcomes say the same; sending the last one again has one effect.
fn audit(path: &Path, told: &[u64]) -> Vec<u64> {
    let mut kv = Kv::open(&format!("file:{}", path.display())).expect("opens");
    let hosts = (0..).zip(told).map(|(host, told)| {
        let [short, long, marked] = keys(host).map(|key| number(kv.get(&key).expect("reads")));
        assert_eq!([long, marked], [short; 2], "host {host}");
        assert!(short == *told || short == told + 1, "host {host}: {short}, told {told}");
        for number in 1.max(short.saturating_sub(20))..=short + 1 {
            let expected = if number <= short { SplitOutcome::DoneBefore } else { SplitOutcome::NotDone };
            assert_eq!(kv.transaction_outcome(id(host, number)), Ok(expected), "host {host}, {number}");
        }
        let end = if short == told + 1 { TransactionEnd::DoneBefore } else { TransactionEnd::Done };
        assert_eq!(count(&mut kv, host, told + 1), Ok(end), "host {host}");
        assert_eq!(next(&mut kv, host), Ok(told + 2));
        told + 1
    });
    let hosts = hosts.collect();
    kv.close().expect("closes");
    hosts
}

fn campaign(rounds: u64, mut life: impl FnMut(&Path, &[u64], Duration) -> Vec<u64>) {
    for engine in EngineKind::ALL.iter().copied() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("disk.img");
        ImagePlan { engine, ..ImagePlan::kv(8 << 20, "tiny", 1) }.create(&path).expect("creates");
        let (mut told, mut rng) = (vec![0; HOSTS as usize], Seed(12).rng());
        for _ in 0..rounds {
            told = life(&path, &told, Duration::from_millis(50 + rng.below(150)));
            told = audit(&path, &told);
        }
        println!("{engine:?}: {rounds} kills, {told:?}");
        assert!(told.iter().sum::<u64>() >= rounds * killed::COMMITS_MIN, "{engine:?}: {told:?}");
    }
}

#[test]
fn writes_and_outcomes_of_a_target() {
    campaign(saker_testing::tier(2, 34), live_and_die);
}

#[test]
fn writes_and_outcomes_of_an_image() {
    campaign(saker_testing::tier(2, 34), |path, _, moment| {
        use_and_die(path, moment);
        // Nobody was told anything: what is there counts.
        let mut kv = Kv::open(&format!("file:{}", path.display())).expect("opens");
        (0..HOSTS).map(|host| next(&mut kv, host).expect("reads") - 1).collect()
    });
}
