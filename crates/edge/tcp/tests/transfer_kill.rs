// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A target is killed (SIGKILL) while hosts on threads of their own move money in transactions, again and again: no money comes or
//! goes, and what a host was told is there. `crates/edge/saker/tests/transfer_kill.rs` kills a process that uses an image itself.

use crate::killed;
use crate::transfers::{audit, counter, number, open_accounts, transfer};
use saker::{EngineKind, ImagePlan, Kv};
use saker_sim::Seed;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const CLIENTS: u64 = 3;

#[test]
#[ignore = "the parent starts it and kills it"]
fn child() {
    killed::serve();
}

/// What each client was told last before the target was killed.
fn live_and_die(path: &Path, round: u64, before: &[u64], moment: Duration) -> Vec<u64> {
    let (mut child, url) = killed::start("transfer_kill::child", path);
    open_accounts(&mut Kv::open(&url).expect("opens")).expect("opens accounts");
    let (url, commits) = (&url, &AtomicU64::new(0));
    std::thread::scope(|scope| {
        let client = |(n, before): (u64, &u64)| {
            let before = *before;
            scope.spawn(move || {
                let mut rng = Seed(round).index(n).rng();
                let Ok(mut kv) = Kv::open(url) else { return before };
                let mut told = before;
                while let Ok(count) = transfer(&mut kv, n, &mut rng) {
                    assert_eq!(count, told + 1, "client {n}: each transfer counts once");
                    told = count;
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
        threads.into_iter().map(|thread| thread.join().expect("a client ends")).collect()
    })
}

#[test]
fn no_money_comes_or_goes() {
    let rounds = saker_testing::tier(2, 34);
    for engine in EngineKind::ALL.iter().copied() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("disk.img");
        ImagePlan { engine, ..ImagePlan::kv(8 << 20, "tiny", 1) }.create(&path).expect("creates");
        let (mut told, mut rng) = (vec![0; CLIENTS as usize], Seed(11).rng());
        for round in 0..rounds {
            let moment = Duration::from_millis(50 + rng.below(150));
            told = live_and_die(&path, round, &told, moment);
            let mut kv = Kv::open(&format!("file:{}", path.display())).expect("opens");
            audit(&mut kv, &told);
            // One more than was told may be there: from here on it is known.
            for (n, told) in (0..).zip(&mut told) {
                *told = number(kv.get(&counter(n)).expect("reads"));
            }
        }
        println!("{engine:?}: {rounds} kills, {told:?} transfers");
        assert!(told.iter().sum::<u64>() >= rounds * killed::COMMITS_MIN, "{engine:?}: {told:?}");
    }
}
