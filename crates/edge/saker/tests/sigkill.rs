// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A process that uses an image is killed (SIGKILL) at a random moment, again and again: no acknowledged write
//! or delete is lost, and nothing comes back.
//!
//! The operations follow from a seed, so both processes know them. The child writes a record into a pipe after
//! each call has returned; the parent replays as many operations as there are records, and grants the one after
//! them either outcome.

mod cases;

use crate::support;

use cases::{CASES, Case};
use saker::image::ImageError;
use saker::{Error, ImagePlan, Kv, check_image};
use saker_sim::{Rng, Seed};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{PipeReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::{is_soak, key, value};
use xxhash_rust::xxh3::xxh3_64;

const SIGKILL: i32 = 9;
/// Bytes of an acknowledgement: number of the operation, then what the call returned.
const RECORD_BYTES: usize = 16;

const LARGE_BYTES: u32 = 1 << 20;

#[derive(Clone, Debug)]
enum Op {
    Put(u32, u32),
    /// Queued puts of different keys, then `drain`.
    Queued(Vec<(u32, u32)>),
    Delete(u32),
    Get(u32),
    Flush,
    /// Close in order, open again.
    Reopen,
}

/// The operations of one life of the child.
struct Ops<'a> {
    case: &'a Case,
    rng: Rng,
}

impl Ops<'_> {
    fn key(&mut self) -> u32 {
        self.rng.below(u64::from(self.case.keys)) as u32
    }

    fn len(&mut self) -> u32 {
        let large = self.case.large_one_in;
        if large != 0 && self.rng.below(large) == 0 {
            return LARGE_BYTES;
        }
        // Small values are as frequent as large ones.
        let max = self.case.value_bytes_max >> self.rng.below(12);
        self.rng.below(u64::from(max) + 1) as u32
    }

    fn queued(&mut self) -> Op {
        let keys: BTreeSet<u32> = (0..self.rng.below(20) + 1).map(|_| self.key()).collect();
        Op::Queued(keys.into_iter().map(|k| (k, self.len())).collect())
    }

    fn next(&mut self) -> Op {
        match self.rng.below(1000) {
            0..=1 => Op::Reopen,
            2..=11 => Op::Flush,
            12..=41 => self.queued(),
            42..=241 => Op::Delete(self.key()),
            242..=341 => Op::Get(self.key()),
            _ => Op::Put(self.key(), self.len()),
        }
    }
}

/// Operation `n` of the life with that seed writes this version.
fn version(seed: u64, n: usize) -> u64 {
    Seed(seed).index(n as u64).0
}

fn ops(case: &Case, seed: u64) -> Ops<'_> {
    Ops { case, rng: Seed(seed).child("ops").rng() }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
#[ignore = "the parent starts it and kills it"]
fn child() {
    let (Some(n), Some(seed)) = (number("SAKER_SIGKILL_CASE"), number("SAKER_SIGKILL_SEED")) else { return };
    let url = std::env::var("SAKER_SIGKILL_URL").expect("the parent gives it");
    // The harness prints to standard output; standard input is the parent's pipe.
    let pipe = std::io::stdin().as_fd().try_clone_to_owned().expect("duplicates");
    serve(&CASES[n as usize], seed, &url, &mut File::from(pipe));
}

/// Opens an image. Between fork and exec the child of another test shares the locks of this process; that
/// passes, a lock that was forgotten does not.
fn patiently<T>(mut open: impl FnMut() -> Result<T, Error>) -> T {
    let begun = Instant::now();
    loop {
        match open() {
            Err(Error::Image(ImageError::InUse { .. })) if begun.elapsed() < Duration::from_secs(5) => {
                std::thread::sleep(Duration::from_millis(1));
            }
            opened => return opened.expect("opens"),
        }
    }
}

fn serve(case: &Case, seed: u64, url: &str, acknowledged: &mut File) {
    let mut kv = patiently(|| Kv::open(url));
    let mut ops = ops(case, seed);
    for n in 0.. {
        let op = ops.next();
        let result = if let Op::Reopen = op {
            kv.close().expect("closes");
            kv = patiently(|| Kv::open(url));
            0
        } else {
            perform(&mut kv, &op, version(seed, n))
        };
        let mut record = (n as u64).to_le_bytes().to_vec();
        record.extend(result.to_le_bytes());
        acknowledged.write_all(&record).expect("the parent reads");
    }
}

/// Performs an operation; what it returned, as a number.
fn perform(kv: &mut Kv, op: &Op, version: u64) -> u64 {
    match op {
        Op::Put(k, len) => kv.put(&key(*k), &value(*k, version, *len)).expect("puts"),
        Op::Queued(pairs) => {
            for (k, len) in pairs {
                kv.put_queued(&key(*k), &value(*k, version, *len)).expect("queues");
            }
            kv.drain().expect("drains");
        }
        Op::Delete(k) => return u64::from(kv.delete(&key(*k)).expect("deletes")),
        Op::Get(k) => return kv.get(&key(*k)).expect("gets").map_or(0, |found| xxh3_64(&found)),
        Op::Flush => kv.flush().expect("flushes"),
        Op::Reopen => unreachable!("handled by the caller"),
    }
    0
}

/// Version and length of what a key holds.
type Held = Option<(u64, u32)>;

fn content(k: u32, held: Held) -> Option<Vec<u8>> {
    held.map(|(version, len)| value(k, version, len))
}

#[derive(Default)]
struct Model(BTreeMap<u32, (u64, u32)>);

impl Model {
    fn get(&self, k: u32) -> Held {
        self.0.get(&k).copied()
    }

    fn set(&mut self, k: u32, held: Held) {
        match held {
            Some(held) => self.0.insert(k, held),
            None => self.0.remove(&k),
        };
    }

    /// What an operation changes.
    fn changes(op: &Op, version: u64) -> Vec<(u32, Held)> {
        match op {
            Op::Put(k, len) => vec![(*k, Some((version, *len)))],
            Op::Queued(pairs) => pairs.iter().map(|(k, len)| (*k, Some((version, *len)))).collect(),
            Op::Delete(k) => vec![(*k, None)],
            Op::Get(_) | Op::Flush | Op::Reopen => Vec::new(),
        }
    }

    /// What an operation returns.
    fn result(&self, op: &Op) -> u64 {
        match op {
            Op::Delete(k) => u64::from(self.get(*k).is_some()),
            Op::Get(k) => content(*k, self.get(*k)).map_or(0, |found| xxh3_64(&found)),
            _ => 0,
        }
    }
}

struct Run {
    n: usize,
    path: PathBuf,
    model: Model,
    rng: Rng,
    acknowledged: usize,
}

impl Run {
    fn case(&self) -> &'static Case {
        &CASES[self.n]
    }

    fn url(&mut self) -> String {
        let threads = self.rng.below(2);
        let (path, options) = (self.path.display(), self.case().options);
        // A device that keeps time has a thread in any case.
        match options {
            "" => format!("file:{path}?threads={threads}"),
            timed if timed.contains("timing=") => format!("file:{path}?{timed}"),
            untimed => format!("file:{path}?{untimed}&threads={threads}"),
        }
    }

    fn round(&mut self) {
        let seed = self.rng.next_u64();
        let records = self.live_and_die(seed);
        self.acknowledged += records.len();
        let in_flight = self.replay(seed, &records);
        self.verify(&in_flight);
    }

    /// Starts a child, kills it, and returns what it acknowledged.
    fn live_and_die(&mut self, seed: u64) -> Vec<(u64, u64)> {
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command
            .args(["sigkill::child", "--exact", "--ignored", "--nocapture"])
            .stdin(writer)
            .stdout(Stdio::null());
        command.env("SAKER_SIGKILL_CASE", self.n.to_string()).env("SAKER_SIGKILL_SEED", seed.to_string());
        let mut child = command.env("SAKER_SIGKILL_URL", self.url()).spawn().expect("starts");
        // The pipe ends when the child does, not before the command lets go of its end.
        drop(command);
        let mut bytes = self.read_some(&mut reader);
        child.kill().expect("kills");
        let status = child.wait().expect("ends");
        assert_eq!(status.signal(), Some(SIGKILL), "the child of seed {seed} failed by itself: {status}");
        reader.read_to_end(&mut bytes).expect("reads");
        decode(&bytes)
    }

    /// Lets the child work until it has acknowledged some number of operations (one time in five: none, so that
    /// it may die while it recovers), and a moment longer.
    fn read_some(&mut self, reader: &mut PipeReader) -> Vec<u8> {
        let is_early = self.rng.below(5) == 0;
        let wanted = if is_early { 0 } else { self.rng.below(self.case().operations_max) };
        let mut bytes = Vec::new();
        reader.by_ref().take(wanted * RECORD_BYTES as u64).read_to_end(&mut bytes).expect("reads");
        std::thread::sleep(Duration::from_micros(self.rng.below(if is_early { 40_000 } else { 2_000 })));
        bytes
    }

    /// Enters what was acknowledged into the model; returns what the next operation would change.
    fn replay(&mut self, seed: u64, records: &[(u64, u64)]) -> BTreeMap<u32, Held> {
        let mut ops = ops(self.case(), seed);
        for (n, (number, result)) in records.iter().enumerate() {
            let op = ops.next();
            let expected = (n as u64, self.model.result(&op));
            assert_eq!((*number, *result), expected, "seed {seed}: {op:?}");
            for (k, held) in Model::changes(&op, version(seed, n)) {
                self.model.set(k, held);
            }
        }
        Model::changes(&ops.next(), version(seed, records.len())).into_iter().collect()
    }

    /// Compares the image with the model, and enters what became of the operation in flight.
    fn verify(&mut self, in_flight: &BTreeMap<u32, Held>) {
        let (report, _) = patiently(|| check_image(&self.path, &mut |_| {}));
        assert!(report.is_sound(), "{:?}", report.findings);
        let url = self.url();
        let mut kv = patiently(|| Kv::open(&url));
        for k in 0..self.case().keys {
            let (found, acknowledged) = (kv.get(&key(k)).expect("gets"), self.model.get(k));
            if found == content(k, acknowledged) {
                continue;
            }
            let newer = in_flight.get(&k).copied();
            let is_newer = newer.is_some_and(|held| found == content(k, held));
            let bytes = found.map(|f| f.len());
            assert!(is_newer, "key {k}: {bytes:?} bytes, acknowledged {acknowledged:?}, in flight {newer:?}");
            self.model.set(k, newer.flatten());
        }
        let listed: BTreeSet<Vec<u8>> = kv.list(None).map(|k| k.expect("lists")).collect();
        assert_eq!(listed, self.model.0.keys().map(|k| key(*k)).collect());
        if self.rng.below(2) == 0 {
            kv.close().expect("closes");
        }
    }
}

fn decode(bytes: &[u8]) -> Vec<(u64, u64)> {
    let (records, _) = bytes.as_chunks::<RECORD_BYTES>();
    let word = |half: &[u8]| u64::from_le_bytes(half.try_into().expect("eight bytes"));
    records.iter().map(|r| (word(&r[..8]), word(&r[8..]))).collect()
}

fn erases(path: &Path) -> u64 {
    patiently(|| check_image(path, &mut |_| {})).0.counts.erases
}

fn run(n: usize, rounds_check: usize, rounds_soak: usize) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    let Case { engine, image_bytes, profile, .. } = CASES[n];
    let settings = CASES[n].stored();
    ImagePlan { engine, settings, ..ImagePlan::kv(image_bytes, profile, 1) }.create(&path).expect("creates");
    let replay = saker_testing::Replay::campaign();
    let rng = Seed(replay.seed()).index(n as u64).rng();
    let mut run = Run { n, path, model: Model::default(), rng, acknowledged: 0 };
    for _ in 0..if is_soak() { rounds_soak } else { rounds_check } {
        run.round();
    }
    let (acknowledged, erases) = (run.acknowledged, erases(&run.path));
    println!("{}: {acknowledged} operations acknowledged, {erases} erases", CASES[n].profile);
    assert!(acknowledged > 500, "only {acknowledged} operations");
    assert!(erases >= CASES[n].erases_min, "only {erases} erases");
}

#[test]
fn killed_while_collecting_garbage() {
    run(0, 20, 200);
}

#[test]
fn killed_with_large_values() {
    run(1, 20, 200);
}

#[test]
fn killed_without_a_capacitor() {
    run(2, 20, 200);
}

#[test]
fn killed_while_a_tree_is_merged() {
    run(3, 12, 200);
}

#[test]
fn killed_while_writes_wait_for_their_rate() {
    run(4, 8, 100);
}

#[test]
fn killed_while_writes_are_stopped() {
    run(5, 8, 100);
}

#[test]
fn killed_while_merges_are_put_off() {
    run(6, 10, 200);
}

#[test]
fn killed_while_the_tree_decides_where_values_go() {
    run(7, 10, 200);
}
