// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A process whose threads share an image is killed (SIGKILL) amid their transactions, again and again: no money comes or goes, and what
//! was acknowledged is there. `crates/edge/tcp/tests/transfer_kill.rs` kills a target that many hosts use.

use crate::support;

use saker::image::ImageError;
use saker::{EngineKind, Error, ImagePlan, Kv, Store, StoreError, check_image};
use saker_sim::{Rng, Seed};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::transfers::{ACCOUNTS, account, audit, counter, number, open_accounts, value};

/// Threads of the process, each with transactions of its own: of those that meet, some are refused and run again.
const THREADS: u64 = 4;
/// What a thread tells of a transfer: who it is, its transfers, and how many runs they took.
const TOLD_BYTES: usize = 24;
/// Transfers of a life before it ends.
const COMMITS_MIN: usize = 6;

#[test]
#[ignore = "the parent starts it and kills it"]
fn child() {
    let Ok(url) = std::env::var("SAKER_SIGKILL_URL") else { return };
    let seed: u64 = std::env::var("SAKER_SIGKILL_SEED").expect("given").parse().expect("a number");
    // The harness prints to standard output; standard input is the parent's pipe.
    let pipe = std::io::stdin().as_fd().try_clone_to_owned().expect("duplicates");
    let told = File::from(pipe);
    drop({
        let mut kv = patiently(&url);
        open_accounts(&mut kv).expect("opens accounts");
        kv
    });
    let store = Store::open(&url).expect("opens");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (store, mut told) = (store.clone(), told.try_clone().expect("duplicates"));
            let mut rng = Seed(seed).index(thread).rng();
            scope.spawn(move || {
                let mut runs = 0;
                loop {
                    let count = transfer(&store, thread, &mut rng, &mut runs).expect("transfers");
                    let record = [thread, count, runs].map(u64::to_le_bytes).concat();
                    // So few bytes go into a pipe in one piece.
                    told.write_all(&record).expect("the parent reads");
                    if rng.below(200) == 0 {
                        store.flush().expect("flushes");
                    }
                }
            });
        }
    });
}

/// Moves some money, and counts that; the thread's number of transfers then. Each call is one of the device, so others' come between.
fn transfer(store: &Store, thread: u64, rng: &mut Rng, runs: &mut u64) -> Result<u64, StoreError> {
    let from = rng.below(ACCOUNTS);
    let to = (from + 1 + rng.below(ACCOUNTS - 1)) % ACCOUNTS;
    let part = rng.below(100);
    store.transact(|txn| {
        *runs += 1;
        let has = number(txn.get(account(from))?);
        std::thread::yield_now();
        let had = number(txn.get(account(to))?);
        let moved = has * part / 100;
        txn.put(account(from), value(has - moved))?;
        txn.put(account(to), value(had + moved))?;
        let count = number(txn.get(counter(thread))?) + 1;
        txn.put(counter(thread), value(count))?;
        Ok(count)
    })
}

/// Between fork and exec the child of another test shares the locks of this process; that passes.
fn patiently(url: &str) -> Kv {
    let begun = Instant::now();
    loop {
        match Kv::open(url) {
            Err(Error::Image(ImageError::InUse { .. })) if begun.elapsed() < Duration::from_secs(5) => {
                std::thread::sleep(Duration::from_millis(1));
            }
            opened => return opened.expect("opens"),
        }
    }
}

/// What each thread was told last, when the process was killed after `moment`, and how many of their transactions were refused.
fn live_and_die(path: &Path, seed: u64, moment: Duration, told: &mut [u64]) -> u64 {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args(["transfer_kill::child", "--exact", "--ignored", "--nocapture"])
        .stdin(writer)
        .stdout(Stdio::null());
    command
        .env("SAKER_SIGKILL_URL", format!("file:{}", path.display()))
        .env("SAKER_SIGKILL_SEED", seed.to_string());
    let mut child = command.spawn().expect("starts");
    drop(command);
    // On a busy machine it takes long to open.
    let mut bytes = vec![0; COMMITS_MIN * TOLD_BYTES];
    reader.read_exact(&mut bytes).expect("it commits");
    let rest = std::thread::spawn(move || {
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).map(|_| rest)
    });
    std::thread::sleep(moment);
    child.kill().expect("kills");
    child.wait().expect("ends");
    bytes.extend(rest.join().expect("no panic").expect("reads"));
    let (mut runs, mut transfers) = (vec![0; told.len()], 0);
    for record in bytes.as_chunks::<TOLD_BYTES>().0 {
        let [thread, count, ran] =
            [0, 8, 16].map(|at| u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes")));
        told[thread as usize] = count;
        runs[thread as usize] = ran;
        transfers += 1;
    }
    runs.iter().sum::<u64>() - transfers
}

#[test]
fn no_money_comes_or_goes() {
    let rounds = saker_testing::tier(3, 34);
    for engine in EngineKind::ALL.iter().copied() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("disk.img");
        ImagePlan { engine, ..ImagePlan::kv(8 << 20, "tiny", 1) }.create(&path).expect("creates");
        let (mut told, mut conflicts, mut rng) = (vec![0; THREADS as usize], 0, Seed(9).rng());
        for round in 0..rounds {
            let moment = Duration::from_millis(30 + rng.below(120));
            conflicts += live_and_die(&path, round, moment, &mut told);
            let mut kv = patiently(&format!("file:{}", path.display()));
            audit(&mut kv, &told);
            // One more than was told may be there: from here on it is known.
            for (thread, told) in (0..).zip(&mut told) {
                *told = number(kv.get(&counter(thread)).expect("reads"));
            }
            if round % 2 == 0 {
                kv.close().expect("closes");
                let (report, _) = check_image(&path, &mut |_| {}).expect("reads");
                assert!(report.is_sound(), "round {round}");
            }
        }
        println!("{engine:?}: {rounds} kills, {told:?} transfers, {conflicts} refused");
        assert!(told.iter().sum::<u64>() >= rounds * COMMITS_MIN as u64, "{engine:?}: {told:?} transfers");
        assert!(conflicts > 0, "{engine:?}: nobody met");
    }
}
