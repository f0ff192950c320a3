// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program that writes files is killed (SIGKILL) at a random moment, again and again: what it was told to be durable is there, and
//! nothing else than what it wrote.
//!
//! The child appends records to a log. It syncs one in six of them, flushes two in six, and leaves the others to what comes. A full log
//! gets its name by rename, and an old one goes. It says in a pipe what it was told to be there.

use saker::{ImagePlan, NamespacePlan};
use saker_files::Files;
use saker_sim::{Rng, Seed};
use saker_testing::tier;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

/// The device that a child uses; set by this test alone.
const CHILD: &str = "SAKER_SIGKILL_FILES";
/// Records of a log.
const RECORDS: u64 = 40;
/// Logs that stay.
const LOGS: u64 = 5;

/// Record `n` of all.
fn record(n: u64) -> Vec<u8> {
    let rng: &mut Rng = &mut Seed(n).child("record").rng();
    let mut bytes = vec![0; 8 + rng.below(3000) as usize];
    rng.fill(&mut bytes);
    bytes[..8].copy_from_slice(&n.to_le_bytes());
    bytes
}

fn log_of(n: u64) -> String {
    format!("{:06}.log", n / RECORDS)
}

/// Where the files stand: the next record, and how many are in the log that is being written.
fn stand(files: &Files) -> u64 {
    let full = files
        .list("/")
        .expect("lists")
        .iter()
        .filter_map(|(name, _)| name.strip_suffix(".log")?.parse::<u64>().ok())
        .max();
    full.map_or(0, |log| (log + 1) * RECORDS)
}

/// Writes until it is killed.
fn child(url: &str) {
    let mut files = saker_files::open(url).expect("mounts");
    let mut out = std::io::stdout();
    let begin = stand(&files);
    for n in begin.. {
        // What an earlier life left of it is written again.
        let file = if n % RECORDS == 0 { files.create("current", n) } else { files.open("current") };
        let file = file.expect("opens");
        files.append(file, &record(n), n).expect("fits");
        let is_full = (n + 1) % RECORDS == 0;
        if n % 6 == 0 || is_full {
            files.sync_file(file).expect("syncs");
        } else if n % 3 > 0 {
            files.flush_file(file).expect("flushes");
        }
        if n % 3 != 0 || n % 6 == 0 || is_full {
            writeln!(out, "there {n}").expect("somebody listens");
        }
        files.close(file).expect("closes");
        if is_full {
            files.rename("current", &log_of(n)).expect("renames");
            if n / RECORDS >= LOGS {
                files.remove(&log_of(n - LOGS * RECORDS)).expect("removes");
            }
            files.sync_names().expect("syncs");
            writeln!(out, "full {n}").expect("somebody listens");
        }
    }
}

/// Not a test: what the test below starts.
#[test]
fn writes_until_it_is_killed() {
    if let Ok(url) = std::env::var(CHILD) {
        child(&url);
    }
}

/// Bytes of the records from one on that a file has, and how many; what is behind them is a part of the next record.
fn records(files: &mut Files, name: &str, first: u64) -> u64 {
    let Ok(file) = files.open(name) else { return 0 };
    let mut bytes = vec![0; files.bytes(file).expect("it is open") as usize];
    assert_eq!(files.read_at(file, 0, &mut bytes), Ok(bytes.len()));
    files.close(file).expect("closes");
    let (mut at, mut count) = (0, 0);
    while at < bytes.len() {
        let wanted = record(first + count);
        assert!(bytes[at..].starts_with(&wanted), "{name}: record {count} is not what was written");
        (at, count) = (at + wanted.len(), count + 1);
    }
    count
}

/// What is there after a death; `there` and `full`: the last records that were said to be.
fn verify(url: &str, there: Option<u64>, full: Option<u64>) {
    assert_eq!(saker_files::check(url).expect("is sound").problems, [""; 0]);
    let mut files = saker_files::open(url).expect("mounts");
    let next = stand(&files);
    assert!(full.is_none_or(|full| next > full), "{full:?} was durable, {next} is next");
    let oldest = (next / RECORDS).saturating_sub(LOGS);
    for log in oldest..next / RECORDS {
        assert_eq!(records(&mut files, &log_of(log * RECORDS), log * RECORDS), RECORDS, "log {log} is whole");
    }
    if let Some(there) = there.filter(|there| *there >= next) {
        let has = records(&mut files, "current", next);
        assert!(next + has > there, "{there} was flushed or synced; {next} and {has} are there");
    }
    saker_files::close(files).expect("closes");
}

#[test]
fn nothing_that_was_flushed_or_synced_is_lost_when_the_program_is_killed() {
    nothing_is_lost(NamespacePlan::Block { bytes: Some(2 << 20), block_bytes: 512 });
}

#[test]
fn nothing_is_lost_over_blocks_whose_map_is_on_flash() {
    nothing_is_lost(NamespacePlan::BlockOnFlash {
        bytes: Some(2 << 20),
        block_bytes: 512,
        map_cache_bytes: 2 << 10,
    });
}

fn nothing_is_lost(blocks: NamespacePlan) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    ImagePlan { namespaces: vec![blocks], ..ImagePlan::kv(8 << 20, "tiny", 1) }
        .create(&path)
        .expect("creates");
    let url = format!("file:{}", path.display());
    saker_files::make(&url, Some(16 << 10)).expect("makes");
    let mut rng = Seed(1).child("deaths").rng();
    let (mut there, mut full) = (None, None);
    for _ in 0..tier(12, 300) {
        life(&url, rng.below(tier(150, 1000)), &mut there, &mut full);
        verify(&url, there, full);
    }
    assert!(full > Some(RECORDS * LOGS), "logs come and go: {full:?}");
}

/// A child that is killed behind so many lines, when it is in the middle of something.
fn life(url: &str, lines: u64, there: &mut Option<u64>, full: &mut Option<u64>) {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "killed::writes_until_it_is_killed", "--nocapture"]).env(CHILD, url);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("starts");
    let mut said = BufReader::new(child.stdout.take().expect("it was asked for")).lines();
    let note = |line: String, there: &mut Option<u64>, full: &mut Option<u64>| {
        let number = |prefix: &str| line.strip_prefix(prefix).and_then(|n| n.parse().ok());
        *there = number("there ").or(*there);
        *full = number("full ").or(*full);
    };
    for line in said.by_ref().take(lines as usize + 4) {
        note(line.expect("reads"), there, full);
    }
    child.kill().expect("it lives");
    child.wait().expect("it ends");
    // What it said before it died.
    said.for_each(|line| note(line.expect("reads"), there, full));
}
