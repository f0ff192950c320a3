// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RocksDB as the engine of a device: a model on all places of devices, full ones, refusals, processes that are killed.

mod both;
mod full;
mod killed;
mod model;
mod refused;

use saker::{EngineKind, ImagePlan};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The command with this engine.
const SAKER: &str = env!("CARGO_BIN_EXE_saker-rocksdb");

fn engine() -> EngineKind {
    saker_rocksdb::engine::add()
}

/// As many as the tier asks for.
fn tier<T>(check: T, soak: T) -> T {
    if std::env::var("SAKER_TIER").is_ok_and(|tier| tier == "soak") { soak } else { check }
}

fn seed() -> u64 {
    std::env::var("SAKER_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1)
}

/// Numbers that follow from a seed (SplitMix64).
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Makes an image with this engine, and gives its URL.
fn image(path: &Path, bytes: u64, profile: &str) -> String {
    ImagePlan { engine: engine(), ..ImagePlan::kv(bytes, profile, 1) }.create(path).expect("creates");
    format!("file:{}", path.display())
}

/// A target on an image.
struct Target(Child, String);

impl Target {
    fn start(image: &Path) -> Self {
        let mut child = Command::new(SAKER)
            .args(["serve", "--listen", "127.0.0.1:0", "--image"])
            .arg(image)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        let said = child.stdout.take().expect("piped");
        let url = BufReader::new(said).lines().map_while(Result::ok).find_map(|line| {
            line.split_whitespace().find(|word| word.starts_with("tcp://")).map(str::to_owned)
        });
        Self(child, url.expect("it serves"))
    }

    fn kill(mut self) {
        self.0.kill().expect("it runs");
        self.0.wait().expect("it ends");
    }
}

/// Runs the command, which has to succeed.
fn saker(arguments: &[&str]) -> String {
    let done = Command::new(SAKER).args(arguments).output().expect("runs");
    let (out, errors) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{arguments:?}: {out}{errors}");
    out.into_owned()
}
