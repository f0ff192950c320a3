// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A process is killed (SIGKILL) in the middle of Format and of Set Features with save, and in the recovery from that: what
//! was formatted is gone as a whole, or there as a whole, and what was saved stays. `crates/app/cli/tests/format_kill.rs` kills
//! targets.

use crate::support::formats;

use formats::{Part, perform, verify};
use saker::image::ImageError;
use saker::{EngineKind, Error, ImagePlan, Raw};
use saker_sim::{Rng, Seed};
use std::fs::File;
use std::io::{PipeReader, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A byte as a part begins, another when it has ended.
const BEGUN: u8 = b'b';
const ENDED: u8 = b'e';

#[test]
#[ignore = "the parent starts it and kills it"]
fn child() {
    let Ok(url) = std::env::var("SAKER_FORMATS_URL") else { return };
    // The harness prints to standard output; standard input is the parent's pipe.
    let pipe = std::io::stdin().as_fd().try_clone_to_owned().expect("duplicates");
    let mut told = File::from(pipe);
    let mut raw = patiently(&url);
    let parts = if std::env::var_os("SAKER_FORMATS_RECOVER").is_some() { 0 } else { u64::MAX };
    for n in 0..parts {
        told.write_all(&[BEGUN]).expect("the parent reads");
        assert!(perform(&mut raw, n), "part {n}");
        told.write_all(&[ENDED]).expect("the parent reads");
    }
}

/// Between fork and exec the child of another test shares the locks of this process; that passes.
fn patiently(url: &str) -> Raw {
    let begun = Instant::now();
    loop {
        match Raw::open(url) {
            Err(Error::Image(ImageError::InUse { .. })) if begun.elapsed() < Duration::from_secs(5) => {
                std::thread::sleep(Duration::from_millis(1));
            }
            opened => return opened.unwrap_or_else(|e| panic!("{url}: {e}")),
        }
    }
}

/// Starts a child, which does its work or, `recovers`, no more than open the image.
fn start(url: &str, recovers: bool) -> (Child, PipeReader) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args(["format_kill::child", "--exact", "--ignored", "--nocapture"])
        .stdin(writer)
        .stdout(Stdio::null());
    if recovers {
        command.env("SAKER_FORMATS_RECOVER", "1");
    }
    (command.env("SAKER_FORMATS_URL", url).spawn().expect("starts"), reader)
}

/// Lets a child come to the beginning of part `last` and a moment further. Returns how many parts it ended.
fn live_and_die(url: &str, last: u64, moment: Duration) -> (u64, bool) {
    let (mut child, mut reader) = start(url, false);
    let mut told = Vec::new();
    reader.by_ref().take(2 * last + 1).read_to_end(&mut told).expect("reads");
    std::thread::sleep(moment);
    child.kill().expect("kills");
    let status = child.wait().expect("ends");
    assert_eq!(status.code(), None, "the child failed by itself: {status}");
    reader.read_to_end(&mut told).expect("reads");
    let ended = told.iter().filter(|byte| **byte == ENDED).count() as u64;
    (ended, told.last() == Some(&BEGUN))
}

struct Tally {
    kills: u32,
    in_formats: u32,
    whole: u32,
    gone: u32,
}

/// A life that ends in part `last`, perhaps one that ends in the recovery, and what is left.
fn round(path: &Path, engine: EngineKind, rng: &mut Rng, tally: &mut Tally) {
    let _ = std::fs::remove_file(path);
    ImagePlan { engine, ..ImagePlan::kv(4 << 20, "tiny", 1) }.create(path).expect("creates");
    let url = format!("file:{}?threads={}", path.display(), rng.below(2));
    // Two of three in a Format.
    let last = rng.below(6) * 3 + [2, 2, 1][rng.below(3) as usize];
    // Short ones end early in it, long ones in its erases, or behind it.
    let shift = rng.below(5);
    let moment = Duration::from_micros(rng.below(1500 >> shift));
    let (ended, in_part) = live_and_die(&url, last, moment);
    let in_format = in_part && Part::of(ended).0 == Part::Format;
    if in_format && rng.below(2) == 0 {
        let mut child = start(&url, true).0;
        std::thread::sleep(Duration::from_micros(rng.below(12_000)));
        // It may have ended already.
        let _ = child.kill();
        child.wait().expect("ends");
    }
    tally.kills += 1;
    tally.in_formats += u32::from(in_format);
    check_and_note(&url, ended, in_format, tally);
}

fn check_and_note(url: &str, ended: u64, in_format: bool, tally: &mut Tally) {
    let mut raw = patiently(url);
    let is_there = verify(&mut raw, ended);
    tally.whole += u32::from(in_format && is_there);
    tally.gone += u32::from(in_format && !is_there);
    raw.close().expect("closes");
}

#[test]
fn killed_in_formats_and_saves() {
    let is_soak = saker_testing::is_soak();
    let replay = saker_testing::Replay::campaign();
    let seed = replay.seed();
    let mut rng = Seed(seed).child("format kill").rng();
    let mut tally = Tally { kills: 0, in_formats: 0, whole: 0, gone: 0 };
    for n in 0..if is_soak { 200 } else { 18 } {
        let engine = EngineKind::ALL[n % EngineKind::ALL.len()];
        // On a disk syncs take time, and a kill comes between them.
        let dir = tempfile::tempdir().expect("a temporary directory");
        println!("kill {n}, {}, seed {seed}", engine.name());
        round(&dir.path().join("disk.img"), engine, &mut rng, &mut tally);
    }
    let Tally { kills, in_formats, whole, gone } = tally;
    println!(
        "{kills} kills, {in_formats} in a Format: {whole} times everything was left, {gone} times nothing"
    );
    assert!(in_formats > 2, "{in_formats} of {kills} kills came in a Format");
}
