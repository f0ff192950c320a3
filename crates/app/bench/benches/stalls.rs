// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The longest waits of writes on an image, against the clock: the store over both namespaces beside `lsm` without slowdown.
//!
//! `cargo bench -p saker-bench --bench stalls -- --seconds 600` takes so many seconds for each store, one behind the other: with times each device
//! has a thread that polls beside the one that writes, so the machine needs two cores that have nothing else to do. Without `--bench`, as `cargo
//! test` runs it, it does a little of each and judges nothing. `--folder` says where the images are made (2 GiB of flash each, sparse; a folder for
//! temporary files unless told), `--option` adds an option to both URLs, or takes the place of one. `--values apart` leaves values to the
//! value logs. `--only hybrid` or `--only lsm` takes one of them and judges nothing.
//!
//! # Plan
//!
//! Workload B: nine puts of 4 KiB under random keys of 4 bytes, then a get of a random key; one thread, which waits for each. 100,000 keys, seed 1, the
//! same operations in the same order for both stores. Profile `saker-mid`, timing `real`: an operation takes what the profile's flash, link and cores take
//! for it, so that what writes wait for is the device's work and not this machine's. Values are inside the trees (`min_blob_size=unlimited`), as
//! RocksDB's and KVAccel's main tree have them: only then compactions move values. The device's tree of the hybrid
//! has its values apart, as always. Memtables of 4 MiB, triggers of level 0 as RocksDB's (4, 20, 36), no slowdown. `lsm` is
//! the engine of a key-value namespace on all of the flash; the other store is `hybrid=eager`, `lazy` with
//! `--policy`. What counts is each put's time from call to return, from the first one on. Judged is: the 99.9th percentile of puts and the
//! longest one, each at most half of that of `lsm`. The percentile is told twice. One is of puts as they were made: a stop of seconds is one put among
//! millions there, since nobody comes while the one thread waits (coordinated omission). The other is of a client that has a put every 200 us, about what
//! either store did in earlier runs, and sends it late if the one before is late (`Histogram::record_correct`). Both are judged. What would
//! make it fail: a machine that is so busy that its own pauses are the longest waits; a tree in the device that stops as long as the one at the
//! host; or a tree at the host whose own work on the caller's thread takes as long as a stop.
//!
//! # History
//!
//! The first run had timing `off`, where nothing waits for flash, and stores that took turns. Its figures were of histograms that ended at 2 us: they do not
//! grow for `saturating_record`. Both were changed after a trial of 20 seconds; what is judged was not. A run of both stores at once had four
//! threads that poll on two cores: its percentiles are times of the scheduler. Since then one store follows the other. Until then values were apart
//! (now `--values apart`), so compactions did not move them, and no write was redirected. Values inside were chosen for that reason before the first run
//! with them; what is judged was not changed. The second percentile came later than all runs before; it is judged beside the first, not in its place.
//! The device's tree had a quarter of the flash and the main tree's compactions read 2 MiB at once; now it has two fifths, and they read 128 KiB.

use hdrhistogram::Histogram;
use saker::{EngineKind, ImagePlan, Kv, Settings, Typed};
use saker_bench::latencies;
use saker_sim::{Rng, Seed};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const KEYS: u64 = 100_000;
const VALUE_BYTES: usize = 4096;
const FLASH_BYTES: u64 = 2 << 30;
const PROFILE: &str = "saker-mid";
/// Options of both URLs; one that is typed takes the place of one of its name.
const SHARED: [&str; 3] = ["timing=real", "write_buffer_size=4MiB", "slowdown=off"];
/// Nanoseconds between two puts of the client whose waits are told.
const EXPECTED: u64 = 200_000;
/// Of the smoke mode.
const SMOKE: Duration = Duration::from_millis(200);

/// A store and what was measured of it.
struct Side {
    name: String,
    kv: Kv,
    rng: Rng,
    number: u64,
    puts: Histogram<u64>,
    /// The same as a client would see it who has a put every [`EXPECTED`].
    waits: Histogram<u64>,
    gets: Histogram<u64>,
    elapsed: Duration,
    /// When the longest put began, after the first operation.
    longest_at: Duration,
}

impl Side {
    fn new(name: &str, url: &str) -> Self {
        let kv = Kv::open(url).unwrap_or_else(|error| panic!("{url}: {error}"));
        let rng = Seed(1).child("stalls").rng();
        let (number, elapsed, longest_at) = (0, Duration::ZERO, Duration::ZERO);
        Self {
            name: name.to_owned(),
            kv,
            rng,
            number,
            puts: latencies(),
            waits: latencies(),
            gets: latencies(),
            elapsed,
            longest_at,
        }
    }

    /// Does the workload for so long.
    fn run(&mut self, total: Duration) {
        let begun = Instant::now();
        let mut value = vec![0x5a; VALUE_BYTES];
        while begun.elapsed() < total {
            let key = (self.rng.below(KEYS) as u32).to_be_bytes();
            let at = Instant::now();
            if self.number % 10 == 9 {
                self.kv.get(&key).unwrap_or_else(|error| panic!("{}: {error}", self.name));
                self.gets.saturating_record(at.elapsed().as_nanos() as u64);
            } else {
                value[..8].copy_from_slice(&self.number.to_le_bytes());
                self.kv.put(&key, &value).unwrap_or_else(|error| panic!("{}: {error}", self.name));
                let took = at.elapsed().as_nanos() as u64;
                if took > self.puts.max() {
                    self.longest_at = at.duration_since(begun);
                }
                self.puts.saturating_record(took);
                let most = self.waits.high();
                self.waits.record_correct(took.min(most), EXPECTED).expect("within its limits");
            }
            self.number += 1;
        }
        self.elapsed = begun.elapsed();
    }

    fn counter(&mut self, name: &str) -> u64 {
        let all = self.kv.counters().expect("told").unwrap_or_default();
        all.iter().find(|counter| counter.name == name).map_or(0, |counter| counter.value)
    }

    fn tell(&mut self) {
        let us = |ns: u64| ns as f64 / 1e3;
        let of = |all: &Histogram<u64>| {
            let at = |part| us(all.value_at_quantile(part));
            format!("{:>9.1} {:>9.1} {:>9.1} {:>11.1}", at(0.5), at(0.99), at(0.999), us(all.max()))
        };
        let rate = self.number as f64 / self.elapsed.as_secs_f64();
        println!("{:<14} {:>9.0} {:>5} {}", self.name, rate, "put", of(&self.puts));
        println!("{:<14} {:>9} {:>5} {}", "", "", "get", of(&self.gets));
        println!("{:<14} {:>9} {:>5} {}", "", "", "wait", of(&self.waits));
        let redirected = self.counter("redirected_writes");
        let [rollbacks, emptied, swept] =
            ["rollbacks", "device_emptied", "device_swept"].map(|name| self.counter(name));
        println!(
            "{:<14} the longest put began {:.1} s after the first operation; {redirected} writes redirected, {rollbacks} rollbacks, {emptied} times \
             emptied, {swept} copies swept",
            "",
            self.longest_at.as_secs_f64()
        );
        let parts = ["device", "main", "line"].map(|part| format!("longest_write_in_{part}_ns"));
        let [device, main, line] = parts.map(|name| us(self.counter(&name)));
        let held = us(self.counter("longest_write_held_ns"));
        println!(
            "{:<14} of its longest write, us: {device:.0} in the device, {main:.0} in the main tree, {line:.0} in line, {held:.0} held",
            ""
        );
    }
}

/// What was typed.
struct Asked {
    is_full: bool,
    seconds: u64,
    folder: Option<PathBuf>,
    policy: String,
    /// Values are inside the trees.
    inside: bool,
    options: Vec<String>,
    /// One of the stores alone; nothing is judged.
    only: Option<String>,
}

impl Asked {
    fn of(arguments: impl Iterator<Item = String>) -> Self {
        let policy = "eager".to_owned();
        let mut asked = Self {
            is_full: false,
            seconds: 600,
            folder: None,
            policy,
            inside: true,
            options: Vec::new(),
            only: None,
        };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().unwrap_or_else(|| panic!("{argument} needs a value"));
            match argument.as_str() {
                "--bench" => asked.is_full = true,
                "--seconds" => asked.seconds = value().parse().expect("--seconds is a number"),
                "--folder" => asked.folder = Some(value().into()),
                "--policy" => asked.policy = value(),
                "--values" => {
                    asked.inside = match value().as_str() {
                        "inside" => true,
                        "apart" => false,
                        other => panic!("--values {other}: write inside or apart"),
                    }
                }
                "--only" => asked.only = Some(value()),
                "--option" => asked.options.push(value()),
                _ => {}
            }
        }
        asked
    }
}

/// What has values inside a tree, or apart.
fn values(inside: bool) -> Settings {
    let mut typed = Typed::default();
    typed.push("min_blob_size", if inside { "unlimited" } else { "0" });
    typed.of(EngineKind::LSM.settings(), saker::url::parse_size).expect("it takes that")
}

/// The images; names and URLs of their stores.
fn make(folder: &Path, asked: &Asked) -> [(String, String); 2] {
    let name = |option: &str| option.split('=').next().map(str::to_owned);
    let own = SHARED.iter().filter(|own| !asked.options.iter().any(|typed| name(typed) == name(own)));
    let shared = own.copied().chain(asked.options.iter().map(String::as_str)).collect::<Vec<_>>().join("&");
    let flash = if asked.is_full { FLASH_BYTES } else { FLASH_BYTES / 2 };
    let [lsm, both] = ["lsm.img", "hybrid.img"].map(|name| folder.join(name));
    let settings = values(asked.inside);
    ImagePlan::hybrid_with(flash, PROFILE, 1, &settings).and_then(|plan| plan.create(&both)).expect("made");
    let plan = ImagePlan { engine: EngineKind::LSM, settings, ..ImagePlan::kv(flash, PROFILE, 1) };
    plan.create(&lsm).expect("made");
    let hybrid = format!("hybrid={}", asked.policy);
    let [lsm, both] = [(lsm, String::new()), (both, format!("{hybrid}&"))]
        .map(|(image, option)| format!("file:{}?{option}{shared}", image.display()));
    [("lsm".to_owned(), lsm), (hybrid, both)]
}

/// Whether the second is at most half of the first.
fn judge(what: &str, lsm: u64, hybrid: u64) {
    let ratio = hybrid as f64 / lsm.max(1) as f64;
    println!("{what}: {ratio:.3} of lsm's, {}", if ratio <= 0.5 { "at most half" } else { "MORE THAN HALF" });
}

fn main() {
    let asked = Asked::of(std::env::args().skip(1));
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = asked.folder.as_deref().unwrap_or_else(|| temporary.path());
    let total = if asked.is_full { Duration::from_secs(asked.seconds) } else { SMOKE };
    println!(
        "{:<14} {:>9} {:>5} {:>9} {:>9} {:>9} {:>11}",
        "store", "ops/s", "us", "p50", "p99", "p99.9", "longest"
    );
    let stores = make(folder, &asked);
    let measured = |(name, url): &(String, String)| {
        let mut side = Side::new(name, url);
        side.run(total);
        side.tell();
        side.kv.close().expect("closes");
        (side.puts, side.waits)
    };
    if let Some(only) = &asked.only {
        let store = stores.iter().find(|(name, _)| name.split('=').next() == Some(only.as_str()));
        measured(store.unwrap_or_else(|| panic!("--only {only}: write lsm or hybrid")));
        return;
    }
    let [lsm, hybrid] = stores.each_ref().map(measured);
    if asked.is_full {
        judge("p99.9 of puts", lsm.0.value_at_quantile(0.999), hybrid.0.value_at_quantile(0.999));
        judge("p99.9 of waits", lsm.1.value_at_quantile(0.999), hybrid.1.value_at_quantile(0.999));
        judge("longest put", lsm.0.max(), hybrid.0.max());
    }
}
