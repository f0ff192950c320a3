// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker serve --resp` as a process that is killed, again and again.

#[path = "../../../edge/tcp/tests/redis/client.rs"]
#[expect(dead_code, reason = "not every test asks everything")]
mod client;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use saker_testing::tier;

use client::{Redis, Reply, ok};

/// Killed when the test ends.
struct Target {
    child: Child,
    address: SocketAddr,
}

impl Target {
    fn start(args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_saker"));
        command.arg("serve").args(args).args(["--resp", "127.0.0.1:0"]).env_remove("SAKER_DEVICE");
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address =
            lines.map_while(Result::ok).find_map(|line| line.strip_prefix("serving redis://")?.parse().ok());
        Self { child, address: address.expect("it says where it listens") }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn create(directory: &Path) -> String {
    let image = directory.join("disk.img").display().to_string();
    let args = ["create", &image, "--size", "64MiB", "--profile", "tiny"];
    assert!(Command::new(env!("CARGO_BIN_EXE_saker")).args(args).output().unwrap().status.success());
    image
}

const KEYS: u64 = 200;
/// Commands of a pipeline.
const PIPELINE: u64 = 48;

/// What a key may have: the version that was acknowledged last, and those that were sent behind it.
#[derive(Clone, Copy, Default)]
struct Known {
    acknowledged: u64,
    sent: u64,
}

fn key(n: u64) -> Vec<u8> {
    format!("{n}{}", if n.is_multiple_of(3) { ":a long key, beyond sixteen bytes" } else { "" }).into_bytes()
}

fn value(n: u64, version: u64) -> Vec<u8> {
    format!("{n}={version};").repeat(1 + (version % 40) as usize).into_bytes()
}

/// Writes until the server is gone.
fn write(redis: &mut Redis, known: &mut BTreeMap<u64, Known>, version: &mut u64) {
    loop {
        let keys: Vec<u64> = (0..PIPELINE).map(|n| (*version * 7 + n * 31) % KEYS).collect();
        let mut bytes = Vec::new();
        for n in &keys {
            *version += 1;
            known.entry(*n).or_default().sent = *version;
            let (value, both) = (value(*n, *version), value(KEYS, *version));
            // Every pair of keys beyond the others is written together.
            let pair = known.entry(KEYS).or_default();
            if n % 8 == 0 {
                pair.sent = *version;
                bytes.extend(client::command(&[
                    b"MSET",
                    b"pair:one",
                    &both,
                    &key(*n),
                    &value,
                    b"pair:two",
                    &both,
                ]));
            } else {
                bytes.extend(client::command(&[b"SET", &key(*n), &value]));
            }
        }
        let first = *version - PIPELINE + 1;
        if redis.try_write(&bytes).is_err() {
            return;
        }
        for (n, version) in keys.iter().zip(first..) {
            match redis.try_read() {
                Ok(reply) => assert_eq!(reply, ok()),
                Err(_) => return,
            }
            known.get_mut(n).unwrap().acknowledged = version;
            if n % 8 == 0 {
                known.get_mut(&KEYS).unwrap().acknowledged = version;
            }
        }
    }
}

/// What is there must be what was acknowledged, or was sent behind it.
fn look(redis: &mut Redis, known: &mut BTreeMap<u64, Known>) {
    for (n, known) in known.iter_mut() {
        let name = if *n == KEYS { b"pair:one".to_vec() } else { key(*n) };
        let there = redis.ask(&[b"GET", &name]);
        let fits = (known.acknowledged..=known.sent).rev().find(|version| match &there {
            Reply::Null => *version == 0,
            Reply::Bulk(bytes) => *bytes == value(*n, *version),
            other => panic!("{other:?}"),
        });
        let version =
            fits.unwrap_or_else(|| panic!("key {n}, {}..={}: {there:?}", known.acknowledged, known.sent));
        (known.acknowledged, known.sent) = (version, version);
    }
    assert_eq!(
        redis.ask(&[b"GET", b"pair:one"]),
        redis.ask(&[b"GET", b"pair:two"]),
        "all of MSET or nothing"
    );
}

#[test]
fn a_kill_loses_nothing_that_was_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let image = create(directory.path());
    let (mut known, mut version) = (BTreeMap::new(), 0);
    for round in 0..tier(3_u64, 200) {
        let target = Target::start(&["--image", &image]);
        let mut redis = Redis::connect(target.address);
        look(&mut redis, &mut known);
        let before = version;
        std::thread::scope(|scope| {
            scope.spawn(|| write(&mut redis, &mut known, &mut version));
            std::thread::sleep(Duration::from_millis(20 + round * 37 % 150));
            target.kill();
        });
        assert!(version > before, "nothing was written");
    }
    let target = Target::start(&["--image", &image]);
    look(&mut Redis::connect(target.address), &mut known);
}

#[test]
fn everything_is_deleted_or_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let image = create(directory.path());
    for round in 0..tier(2_u64, 40) {
        let target = Target::start(&["--image", &image]);
        let mut redis = Redis::connect(target.address);
        (0..KEYS).for_each(|n| redis.send(&[b"SET", &key(n), &value(n, 1)]));
        (0..KEYS).for_each(|_| assert_eq!(redis.read(), ok()));
        redis.send(&[b"FLUSHDB"]);
        std::thread::sleep(Duration::from_micros(round * 53 % 2000));
        target.kill();
        let was_answered = redis.try_read().is_ok();
        let target = Target::start(&["--image", &image]);
        let Reply::Integer(left) = Redis::connect(target.address).line("DBSIZE") else { panic!("a number") };
        assert!(left == 0 || !was_answered && left == KEYS as i64, "{left} are left");
    }
}
