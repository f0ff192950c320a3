// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Workload A of KVAccel (IPDPS'25) against the clock, with RocksDB: without slowdown, with it, and as the main tree of the store over both
//! namespaces. Beside them are the same three of our own tree.
//!
//! `bindings/rocksdb/check stalls` takes 40 seconds for each store, one behind the other. The machine needs two processors that have nothing else to
//! do: the last one is the device's alone, unless `--any-cpu` leaves that to the system. `--seconds` says how long, `--folder` where the images are made,
//! `--store` which of them alone. Without `--bench`, as `cargo test` runs it, it does a little of each and judges nothing.
//!
//! # Plan
//!
//! Written down before the first run. One thread puts values of 4 KiB under random keys of 4 bytes, out of 1,000,000, as fast as it can, for 40
//! seconds: fillrandom of `db_bench`. Seed 1, the same keys in the same order for every store. Profile `cosmos-plus`, which is the paper's board, timing
//! `real`, an image of 12 GiB in a folder of memory (tmpfs), so that a put waits for the model's flash and not for this machine's disk. The
//! device's tree has a quarter of the flash, as always. The paper ran for 600 s with memtables of 128 MiB; here they have 4 MiB, a scale of 32,
//! with which tables (4 MiB) and level 1 (16 MiB) go. Two memtables; 4, 20 and 36 tables in level 0 begin a compaction, slow down and stop; one compaction
//! thread; RocksDB's own limits of pending bytes, which nothing here reaches. A compaction reads 2 MiB at once. No compression. RocksDB writes its log to the
//! device behind each put, without a sync. The hybrids have no slowdown, the exact detector and eager rollback.
//!
//! A second counts as silent if fewer puts end in it than a tenth of the mean of all seconds of that store. Claims:
//!
//! - AC-kvaccel-slowdown-1: with slowdown fewer silent seconds, and a lower mean throughput, than without.
//! - AC-kvaccel-stall-1: the hybrid has no silent second, or a tenth of those of RocksDB without slowdown; no put was delayed.
//! - AC-kvaccel-thr-1, its order: the hybrid has at least 0.98 of RocksDB's mean throughput, with slowdown (as RocksDB comes) and without. The paper has
//!   1.37 at most, which is told beside and not judged.
//!
//! Second run. In the first one RocksDB never stopped, and all six runs were invalid. Measured since then: threads waited for each other's device calls, and
//! do not any more; late events stay as many when the device's thread has a processor alone. So the claims are judged anew with the same numbers, now with
//! the stops that RocksDB's listener tells. All threads but the device's share what is left of the processors: with two, RocksDB's compactions and
//! the puts have one, which makes stops likelier than on the paper's host of 8.
//!
//! What would make them fail: no stall within 40 s; a device's tree that fills; seconds in which the calling thread, the device's and RocksDB's share two
//! cores; the lock of the files, behind which a put's log waits while a compaction waits for its blocks. How many of the device's events came more than 5
//! us late is told. More than one in a hundred makes a run invalid by the rule of `saker compare`; it is printed all the same, and marked.

use rocksdb::DB;
use saker::{EngineKind, ImagePlan, Kv, Settings, Typed};
use saker_rocksdb::volume::Volume;
use saker_rocksdb::watch::{Told, Watcher};
use saker_rocksdb::{engine, env, main_tree};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const KEYS: u64 = 1_000_000;
const VALUE_BYTES: usize = 4096;
const FLASH_BYTES: u64 = 12 << 30;
/// Of the smoke mode.
const LITTLE_FLASH: u64 = 3 << 29;
const PROFILE: &str = "cosmos-plus";
const SETTINGS: &str = "write_buffer_size=4MiB&max_write_buffer_number=2&compaction_threads=1&compaction_readahead_size=2MiB&\
     target_file_size_base=4MiB&max_bytes_for_level_base=16MiB&level0_file_num_compaction_trigger=4&level0_stop_writes_trigger=36";
/// With slowdown.
const SLOW: &str = "&slowdown=on&level0_slowdown_writes_trigger=20";
/// Of the smoke mode.
const SMOKE: Duration = Duration::from_millis(300);

/// What puts go to.
enum Store {
    /// RocksDB alone, which has the block namespace of the hybrid's image.
    Alone(DB, Arc<Volume>, Watcher),
    /// A store of a URL.
    Kv(Box<Kv>),
}

/// The stores, in the order in which they run: RocksDB's and ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Rocks { slowdown: bool },
    HybridRocks,
    Lsm { slowdown: bool },
    HybridLsm,
}

const ALL: [Which; 6] = [
    Which::Rocks { slowdown: false },
    Which::Rocks { slowdown: true },
    Which::HybridRocks,
    Which::Lsm { slowdown: false },
    Which::Lsm { slowdown: true },
    Which::HybridLsm,
];

impl Which {
    fn name(self) -> &'static str {
        match self {
            Self::Rocks { slowdown: false } => "rocksdb",
            Self::Rocks { slowdown: true } => "rocksdb+slowdown",
            Self::HybridRocks => "hybrid:rocksdb",
            Self::Lsm { slowdown: false } => "lsm",
            Self::Lsm { slowdown: true } => "lsm+slowdown",
            Self::HybridLsm => "hybrid:lsm",
        }
    }

    fn open(self, path: &Path, flash: u64, device_cpus: &str) -> Store {
        let inside = settings("min_blob_size=unlimited");
        let plan = match self {
            Self::Lsm { .. } => {
                ImagePlan { engine: EngineKind::LSM, settings: inside, ..ImagePlan::kv(flash, PROFILE, 1) }
            }
            Self::HybridLsm => ImagePlan::hybrid_with(flash, PROFILE, 1, &inside).expect("a plan"),
            _ => ImagePlan::hybrid(flash, PROFILE, 1),
        };
        plan.create(path).expect("made");
        let url = format!("file:{}?timing=real{device_cpus}", path.display());
        let kv =
            |more: &str| Store::Kv(Box::new(Kv::open(&format!("{url}&{SETTINGS}{more}")).expect("opens")));
        match self {
            Self::Rocks { slowdown } => {
                alone(&url, &format!("{SETTINGS}{}", if slowdown { SLOW } else { "" }))
            }
            Self::HybridRocks => kv("&hybrid=eager&main=rocksdb"),
            Self::Lsm { slowdown: false } => kv("&slowdown=off"),
            Self::Lsm { slowdown: true } => kv(SLOW),
            Self::HybridLsm => kv("&hybrid=eager&slowdown=off"),
        }
    }
}

fn settings(typed: &str) -> Settings {
    let mut all = Typed::default();
    typed
        .split('&')
        .filter_map(|option| option.split_once('='))
        .for_each(|(name, value)| all.push(name, value));
    all.of(EngineKind::LSM.settings(), saker::url::parse_size).expect("it takes that")
}

fn alone(url: &str, typed: &str) -> Store {
    saker_files::make(url, None).expect("files");
    let volume = Volume::open_as(url, true).expect("opens");
    let mut asked = main_tree::asked(volume.space().expect("open").total, &settings(typed)).expect("options");
    asked.options.set_env(&env::open(url).expect("an environment"));
    Store::Alone(DB::open(&asked.options, "/db").expect("opens"), volume, asked.watcher)
}

/// A counter of RocksDB alone, by the name that it has in the hybrid.
fn told_by(told: &Told, name: &str) -> u64 {
    match name {
        "write_stops" => told.stops,
        "write_stopped_micros" => told.stopped.as_micros() as u64,
        "write_delays" => told.delays,
        "flushes" => told.flushes,
        "compactions" => told.compactions,
        _ => 0,
    }
}

impl Store {
    fn put(&mut self, key: &[u8], value: &[u8]) {
        match self {
            Self::Alone(db, ..) => db.put(key, value).expect("room"),
            Self::Kv(kv) => kv.put(key, value).expect("room"),
        }
    }

    fn counter(&mut self, name: &str) -> u64 {
        let kv = match self {
            Self::Alone(_, _, watcher) => return told_by(&watcher.told(), name),
            Self::Kv(kv) => kv,
        };
        let all = kv.counters().expect("told").unwrap_or_default();
        // Of both trees, where both have it.
        all.iter().filter(|counter| counter.name == name).map(|counter| counter.value).sum()
    }

    fn lag(&mut self) -> (u64, u64) {
        match self {
            Self::Alone(_, volume, _) => volume.lag(),
            Self::Kv(kv) => kv.lag(),
        }
        .unwrap_or_default()
    }

    fn close(self) {
        match self {
            Self::Alone(db, volume, _) => {
                drop(db);
                volume.release();
            }
            Self::Kv(kv) => kv.close().expect("closes"),
        }
    }
}

/// What was measured of a store.
struct Run {
    which: Which,
    /// Puts that ended in each second.
    seconds: Vec<u64>,
    took: Vec<u64>,
    elapsed: Duration,
    redirected: u64,
    told: String,
}

impl Run {
    fn of(which: Which, mut store: Store, total: Duration) -> Self {
        let (mut state, mut value) = (1_u64, vec![0x5a; VALUE_BYTES]);
        let (mut seconds, mut took) = (vec![0; total.as_secs().max(1) as usize], Vec::new());
        let begun = Instant::now();
        while begun.elapsed() < total {
            let key = ((random(&mut state) % KEYS) as u32).to_be_bytes();
            value[..8].copy_from_slice(&(took.len() as u64).to_le_bytes());
            let at = Instant::now();
            store.put(&key, &value);
            took.push(at.elapsed().as_nanos() as u64);
            // One that ends behind the last second ends in none.
            if let Some(second) = seconds.get_mut(begun.elapsed().as_secs() as usize) {
                *second += 1;
            }
        }
        let elapsed = begun.elapsed();
        took.sort_unstable();
        let names = [
            "redirections",
            "rollbacks",
            "rollback_moved",
            "device_emptied",
            "device_filled",
            "metadata_keys_peak",
            "write_stops",
            "write_stopped_micros",
            "write_delays",
            "flushes",
            "compactions",
            "longest_write_held_ns",
            "longest_write_in_line_ns",
            "longest_write_in_main_ns",
            "longest_write_in_device_ns",
        ];
        let counted = names.map(|name| format!("{name} {}", store.counter(name))).join(", ");
        let (redirected, (events, late)) = (store.counter("redirected_writes"), store.lag());
        let mark = if late * 100 > events { "INVALID" } else { "valid" };
        let told = format!("{counted}; {late} of {events} events late, {mark}");
        store.close();
        Self { which, seconds, took, elapsed, redirected, told }
    }

    fn rate(&self) -> f64 {
        self.took.len() as f64 / self.elapsed.as_secs_f64()
    }

    fn silent(&self) -> usize {
        let mean = self.seconds.iter().sum::<u64>() as f64 / self.seconds.len() as f64;
        self.seconds.iter().filter(|puts| (**puts as f64) < mean / 10.0).count()
    }

    fn tell(&self) {
        let at = |part: f64| {
            self.took.get((self.took.len() as f64 * part) as usize).map_or(0, |ns| *ns) as f64 / 1e3
        };
        let longest = self.took.last().map_or(0, |ns| *ns) as f64 / 1e6;
        let share = 100.0 * self.redirected as f64 / self.took.len() as f64;
        let (rate, mib) = (self.rate(), self.rate() * VALUE_BYTES as f64 / f64::from(1 << 20));
        println!(
            "{:<17} {rate:>7.0} {mib:>7.1} {:>6} {:>9.1} {:>9.1} {:>10.1} {longest:>9.1} {share:>7.2}",
            self.which.name(),
            self.silent(),
            at(0.5),
            at(0.99),
            at(0.999)
        );
        println!("{:<17} {}", "", self.told);
        let line: Vec<_> = self.seconds.iter().map(u64::to_string).collect();
        println!("{:<17} by second: {}", "", line.join(" "));
    }
}

/// Numbers that follow from a seed (SplitMix64).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The last processor for the device, the others for whoever else runs. `None`: there is only one, or this process may not have them all.
fn parted() -> Option<(usize, Vec<usize>)> {
    let last = std::thread::available_parallelism().ok()?.get() - 1;
    let all: Vec<usize> = (0..=last).collect();
    (last > 0 && saker_runtime::cpus::are_there(&all)).then(|| (last, (0..last).collect()))
}

/// What was typed.
struct Asked {
    is_full: bool,
    seconds: u64,
    folder: Option<PathBuf>,
    stores: Vec<Which>,
    /// Processors of the device's thread, and of all others.
    cpus: Option<(usize, Vec<usize>)>,
}

impl Asked {
    fn of(mut arguments: impl Iterator<Item = String>) -> Self {
        let mut asked =
            Self { is_full: false, seconds: 40, folder: None, stores: Vec::new(), cpus: parted() };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().unwrap_or_else(|| panic!("{argument} needs a value"));
            match argument.as_str() {
                "--bench" => asked.is_full = true,
                "--seconds" => asked.seconds = value().parse().expect("--seconds is a number"),
                "--any-cpu" => asked.cpus = None,
                "--folder" => asked.folder = Some(value().into()),
                "--store" => {
                    let name = value();
                    let known = ALL.into_iter().find(|which| which.name() == name);
                    asked.stores.push(known.unwrap_or_else(|| panic!("there is no store {name}")));
                }
                _ => {}
            }
        }
        if asked.stores.is_empty() {
            asked.stores = ALL.to_vec();
        }
        asked
    }
}

/// The claims, of one kind of tree: without slowdown, with it, the hybrid.
fn judge(what: &str, [plain, slow, hybrid]: [&Run; 3]) {
    let verdict = |is_so: bool| if is_so { "pass" } else { "FAIL" };
    println!(
        "{what}: AC-kvaccel-slowdown-1 {}: silent seconds {} with slowdown, {} without; throughput {:.3} of that without",
        verdict(slow.silent() < plain.silent() && slow.rate() < plain.rate()),
        slow.silent(),
        plain.silent(),
        slow.rate() / plain.rate()
    );
    println!(
        "{what}: AC-kvaccel-stall-1 {}: silent seconds {} of the hybrid, {} without slowdown",
        verdict(hybrid.silent() == 0 || hybrid.silent() * 10 <= plain.silent()),
        hybrid.silent(),
        plain.silent()
    );
    println!(
        "{what}: AC-kvaccel-thr-1, the order {}: the hybrid's throughput is {:.2} of that with slowdown, {:.2} of that without",
        verdict(hybrid.rate() >= 0.98 * slow.rate() && hybrid.rate() >= 0.98 * plain.rate()),
        hybrid.rate() / slow.rate(),
        hybrid.rate() / plain.rate()
    );
}

fn main() {
    let asked = Asked::of(std::env::args().skip(1));
    engine::add();
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = asked.folder.as_deref().unwrap_or_else(|| temporary.path());
    let total = if asked.is_full { Duration::from_secs(asked.seconds) } else { SMOKE };
    println!(
        "{:<17} {:>7} {:>7} {:>6} {:>9} {:>9} {:>10} {:>9} {:>7}",
        "store", "puts/s", "MiB/s", "silent", "p50 us", "p99 us", "p99.9 us", "longest ms", "redir %"
    );
    let device_cpus = asked.cpus.as_ref().map_or(String::new(), |(device, others)| {
        saker_runtime::cpus::pin(others).expect("they are there");
        println!("the device has processor {device}, all others have {others:?}");
        format!("&device_cpus={device}")
    });
    let mut runs = Vec::new();
    for which in asked.stores {
        let path = folder.join("stalls.img");
        let flash = if asked.is_full { FLASH_BYTES } else { LITTLE_FLASH };
        let run = Run::of(which, which.open(&path, flash, &device_cpus), total);
        std::fs::remove_file(&path).expect("it is there");
        run.tell();
        runs.push(run);
    }
    if asked.is_full && runs.len() == ALL.len() {
        let of = |at: usize| [&runs[at], &runs[at + 1], &runs[at + 2]];
        judge("RocksDB", of(0));
        judge("lsm", of(3));
    }
}
