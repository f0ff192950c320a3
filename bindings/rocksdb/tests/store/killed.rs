// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A process that is the device, or a target, is killed (SIGKILL) at a random moment, again and again: no acknowledged write or delete is
//! lost, and nothing comes back.
//!
//! Operations follow from the seed and their number. The child tells the number of each that was acknowledged; the parent grants the one
//! behind the last either outcome.

use super::{Rng, Target, both, image, saker, seed, tier};
use saker::Kv;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

const CHILD: &str = "SAKER_TEST_ROCKSDB_CHILD";
const KEYS: u64 = 200;

pub type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

/// The key of an operation, and its value; none: it deletes.
fn operation(n: u64) -> (Vec<u8>, Option<Vec<u8>>) {
    let mut rng = Rng(seed() << 32 | n);
    let key = format!("key{:04}", rng.below(KEYS)).into_bytes();
    if rng.below(6) == 0 {
        return (key, None);
    }
    let bytes = if rng.below(60) == 0 { 20_000 } else { 8 + rng.below(6000) };
    let mut value: Vec<u8> = (0..bytes).map(|at| (n.wrapping_mul(17) + at) as u8).collect();
    value[..8].copy_from_slice(&n.to_le_bytes());
    (key, Some(value))
}

fn carry_out(kv: &mut Kv, n: u64) {
    match operation(n) {
        (key, Some(value)) => kv.put(&key, &value).expect("room"),
        (key, None) => drop(kv.delete(&key).expect("goes")),
    }
    if n.is_multiple_of(64) {
        kv.flush().expect("lasts");
    }
}

pub fn apply(pairs: &mut Pairs, n: u64) {
    match operation(n) {
        (key, Some(value)) => drop(pairs.insert(key, value)),
        (key, None) => drop(pairs.remove(&key)),
    }
}

/// What a child does: operations from one on, for ever.
#[test]
fn child() {
    let Ok(told) = std::env::var(CHILD) else { return };
    let (url, first) = told.split_once(' ').expect("two words");
    both::add();
    let mut kv = Kv::open(url).expect("opens");
    let mut out = std::io::stdout().lock();
    for n in first.parse::<u64>().expect("a number").. {
        both::stop(both::killed::is_stopped_at(n));
        carry_out(&mut kv, n);
        // The parent may have gone.
        if writeln!(out, "\nacknowledged {n}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

/// Lets a child work on a device, and has it killed after a while. The number behind the last one that was acknowledged.
pub fn life(url: &str, first: u64, operations: u64, end: impl FnOnce()) -> u64 {
    let mut child = Command::new(std::env::current_exe().expect("it has a path"))
        .args(["--exact", "killed::child", "--nocapture", "--test-threads=1"])
        .env(CHILD, format!("{url} {first}"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let mut acknowledged = lines.filter_map(|line| line.strip_prefix("acknowledged ")?.parse::<u64>().ok());
    let mut next = first;
    let mut end = Some(end);
    // What it had acknowledged before it died is read to the end.
    while let Some(n) = acknowledged.next() {
        assert_eq!(n, next, "in order");
        next = n + 1;
        if next - first >= operations
            && let Some(end) = end.take()
        {
            end();
            let _ = child.kill();
        }
    }
    let _ = child.wait();
    assert!(next > first, "it did nothing: {url}");
    next
}

/// Compares a device with what it has to have; the operation `next` may have been done.
pub fn compare(kv: &mut Kv, pairs: &mut Pairs, next: u64) {
    let (key, _) = operation(next);
    let mut other = pairs.clone();
    apply(&mut other, next);
    let found = kv.get(&key).expect("reads");
    if found.as_ref() != pairs.get(&key) {
        assert_eq!(found.as_ref(), other.get(&key), "operation {next}, the last one");
        *pairs = other;
    }
    let listed: Vec<_> = kv.list(None).collect::<Result<_, _>>().expect("lists");
    assert_eq!(listed, pairs.keys().cloned().collect::<Vec<_>>(), "before operation {next}");
    for (key, value) in pairs {
        assert_eq!(kv.get(key).expect("reads").as_ref(), Some(&*value), "before operation {next}");
    }
}

/// Operations of a life.
pub fn some(rng: &mut Rng) -> u64 {
    match rng.below(4) {
        0 => 1 + rng.below(10),
        _ => 1 + rng.below(600),
    }
}

#[test]
fn the_process_with_the_device() {
    let folder = tempfile::tempdir().expect("a folder");
    for (n, profile) in ["default", "tiny", "nvmevirt-970pro"].into_iter().enumerate() {
        println!("replay: SAKER_SEED={}", seed());
        let path = folder.path().join(format!("disk{n}.img"));
        let url = image(&path, 320 << 20, profile);
        let (mut rng, mut pairs, mut next) = (Rng(seed()), Pairs::new(), 0);
        for _ in 0..tier(5, 100) {
            let ended = life(&url, next, some(&mut rng), || {});
            (next..ended).for_each(|n| apply(&mut pairs, n));
            next = ended;
            saker(&["check", &path.display().to_string()]);
            let mut kv = Kv::open(&url).expect("opens again");
            compare(&mut kv, &mut pairs, next);
            next += 1;
            if rng.below(2) == 0 {
                kv.close().expect("closes");
            }
        }
        println!("{profile}: {next} operations");
        std::fs::remove_file(path).expect("it is there");
    }
}

#[test]
fn a_target() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("disk.img");
    image(&path, 320 << 20, "default");
    println!("replay: SAKER_SEED={}", seed());
    let (mut rng, mut pairs, mut next) = (Rng(seed()), Pairs::new(), 0);
    for _ in 0..tier(4, 100) {
        let target = Target::start(&path);
        let url = target.1.clone();
        let ended = life(&url, next, some(&mut rng), move || target.kill());
        (next..ended).for_each(|n| apply(&mut pairs, n));
        next = ended;
        let again = Target::start(&path);
        let mut kv = Kv::open(&again.1).expect("connects");
        compare(&mut kv, &mut pairs, next);
        next += 1;
        drop(kv);
        again.kill();
    }
}
