// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A process that uses an image is killed (SIGKILL) amid transactions, again and again: no money comes or goes, and what was
//! acknowledged is there. `crates/edge/tcp/tests/transfer_kill.rs` kills a target that many hosts use.

use crate::support;

use saker::image::ImageError;
use saker::{EngineKind, Error, ImagePlan, Kv, check_image};
use saker_sim::Seed;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::transfers::{audit, open_accounts, transfer};

#[test]
#[ignore = "the parent starts it and kills it"]
fn child() {
    let Ok(url) = std::env::var("SAKER_SIGKILL_URL") else { return };
    let seed: u64 = std::env::var("SAKER_SIGKILL_SEED").expect("given").parse().expect("a number");
    // The harness prints to standard output; standard input is the parent's pipe.
    let pipe = std::io::stdin().as_fd().try_clone_to_owned().expect("duplicates");
    let (mut told, mut rng) = (File::from(pipe), Seed(seed).rng());
    let mut kv = patiently(&url);
    open_accounts(&mut kv).expect("opens accounts");
    loop {
        let count = transfer(&mut kv, 0, &mut rng).expect("transfers");
        told.write_all(&count.to_le_bytes()).expect("the parent reads");
        if rng.below(200) == 0 {
            kv.flush().expect("flushes");
        }
    }
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

/// What the child was told last, when it was killed after `moment`.
fn live_and_die(path: &Path, seed: u64, moment: Duration) -> Option<u64> {
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
    std::thread::sleep(moment);
    child.kill().expect("kills");
    child.wait().expect("ends");
    let mut told = Vec::new();
    reader.read_to_end(&mut told).expect("reads");
    let records = told.as_chunks::<8>().0;
    records.last().map(|count| u64::from_le_bytes(*count))
}

#[test]
fn no_money_comes_or_goes() {
    let rounds = saker_testing::tier(3, 34);
    for engine in EngineKind::ALL.iter().copied() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("disk.img");
        ImagePlan { engine, ..ImagePlan::kv(8 << 20, "tiny", 1) }.create(&path).expect("creates");
        let (mut told, mut rng) = (0, Seed(9).rng());
        for round in 0..rounds {
            let moment = Duration::from_millis(30 + rng.below(120));
            told = live_and_die(&path, round, moment).unwrap_or(told);
            let mut kv = patiently(&format!("file:{}", path.display()));
            audit(&mut kv, &[told]);
            // One more than was told may be there: from here on it is known.
            told = support::transfers::number(kv.get(&support::transfers::counter(0)).expect("reads"));
            if round % 2 == 0 {
                kv.close().expect("closes");
                let (report, _) = check_image(&path, &mut |_| {}).expect("reads");
                assert!(report.is_sound(), "round {round}");
            }
        }
        assert!(told > rounds * 5, "{engine:?}: {told} transfers");
    }
}
