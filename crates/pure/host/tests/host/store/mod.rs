// SPDX-License-Identifier: Apache-2.0 OR MIT
//! HostKV over a block device that is cut, full, or looked at while it is written.

mod cuts;
mod disk;
mod expected;
mod flushes;
mod full;
mod views;

use disk::{BLOCK_BYTES, Disk};
use expected::{Expected, KeyNumber, Seen, value, writer};
use saker_engine::settings::Typed;
use saker_engine::{EngineConfig, EngineKind, KvError};
use saker_host::WriteBatch;
use saker_host::host_kv::{Answer, Batch, BlockSegments, HostKv, Op, Outcome, Ticket, Work};
use saker_log::recover::Damage;
use saker_nvme::group::{Form, Op as GroupOp, parse};
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of a page: eight blocks, of which a cut can leave some.
const PAGE_BYTES: u32 = 8 * BLOCK_BYTES;
/// Pages of a segment.
const SEGMENT_PAGES: u64 = 16;
/// Turns without an answer after which an operation is stuck.
const TURNS_MAX: u32 = 100_000;
/// Pairs of a scan: more than there are.
const ALL: u32 = 10_000;

/// An engine, and what is asked of it.
#[derive(Clone, Copy, Debug)]
struct Subject {
    kind: EngineKind,
    settings: &'static [(&'static str, &'static str)],
    /// Counters of what it does beside collections and checkpoints.
    moves: &'static [&'static str],
    segments: u64,
    /// Who does background work side by side.
    workers: u32,
}

/// A memtable, or buffer, that a few writes fill.
const SMALL: (&str, &str) = ("write_buffer_size", "2048");

/// Every engine as it is over blocks, and the LSM store with values in its tree: none of them, short ones, all but the longest, all, and what it
/// decides.
fn subjects() -> Vec<Subject> {
    let mut kinds: Vec<EngineKind> = Vec::new();
    for kind in EngineKind::ALL.iter().map(|kind| kind.over_blocks()) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.into_iter().flat_map(Subject::all_of).collect()
}

/// `min_blob_size` of 0, 64, 4096, unlimited and auto.
const LSM_SETTINGS: [&[(&str, &str)]; 5] = [
    &[SMALL, ("min_blob_size", "0")],
    &[SMALL, ("min_blob_size", "64")],
    &[SMALL, ("min_blob_size", "4096")],
    &[SMALL, ("min_blob_size", "unlimited")],
    &[SMALL, ("min_blob_size", "auto")],
];
const LSM_MOVES: &[&str] = &["flushes", "compactions"];
/// The same with jobs side by side, some values inside and all apart; and all inside, with compactions that read ahead.
const SIDE_BY_SIDE: [&[(&str, &str)]; 3] = [
    &[SMALL, ("min_blob_size", "64"), ("compaction_threads", "3"), ("max_write_buffer_number", "4")],
    &[SMALL, ("min_blob_size", "0"), ("compaction_threads", "2")],
    &[SMALL, ("min_blob_size", "unlimited"), ("compaction_threads", "2"), AHEAD],
];
/// Two pages.
const AHEAD: (&str, &str) = ("compaction_readahead_size", "8192");
/// Workers of those.
const WORKERS: u32 = 4;

impl Subject {
    fn all_of(kind: EngineKind) -> Vec<Self> {
        let usual = Self { kind, settings: &[], moves: &[], segments: 20, workers: 1 };
        match kind.name() {
            "lsm" => {
                let alone = LSM_SETTINGS.iter().map(|settings| (settings, 1));
                let all = alone.chain(SIDE_BY_SIDE.iter().map(|settings| (settings, WORKERS)));
                all.map(|(settings, workers)| Self { settings, moves: LSM_MOVES, workers, ..usual }).collect()
            }
            "tree" => vec![Self { settings: &[SMALL], moves: &["merges", "roots"], ..usual }],
            _ => vec![usual],
        }
    }

    fn config(&self) -> EngineConfig {
        let mut typed = Typed::default();
        self.settings.iter().for_each(|(name, text)| typed.push(name, text));
        let settings = typed.of(self.kind.settings(), |text| text.parse().ok()).expect("it takes them");
        EngineConfig { settings, ..EngineConfig::new(1, false) }
    }

    /// Those with jobs side by side have a block cache, of a few blocks.
    fn medium(&self, disk: &Disk) -> BlockSegments {
        medium(disk).with_block_cache(if self.workers > 1 { 24 * u64::from(BLOCK_BYTES) } else { 0 })
    }

    fn disk(&self, is_volatile: bool, seed: u64) -> Disk {
        let pages = self.segments * SEGMENT_PAGES;
        Disk::new(pages * u64::from(PAGE_BYTES / BLOCK_BYTES), is_volatile, seed)
    }
}

/// Who looks at the device before and after each command that changes it.
type Watch<'w> = &'w mut dyn FnMut(&Disk);

fn nobody(_: &Disk) {}

/// A store and its device.
struct Rig {
    disk: Disk,
    store: HostKv,
    workers: u32,
    /// Workers whose quanta take their time, of those that do jobs side by side.
    busy: Vec<usize>,
    turns: usize,
}

fn medium(disk: &Disk) -> BlockSegments {
    BlockSegments::with_pages(disk.clone(), SEGMENT_PAGES * u64::from(PAGE_BYTES), PAGE_BYTES)
}

/// Carries out a command under the eyes of `watch`. False: there was none.
fn step(disk: &Disk, watch: Watch<'_>) -> bool {
    let is_changing = disk.is_changing();
    if is_changing {
        watch(disk);
    }
    let stepped = disk.step();
    if is_changing {
        watch(disk);
    }
    stepped
}

/// A key of 2 to 16 bytes.
fn key(n: KeyNumber) -> Vec<u8> {
    let mut key = format!("k{n}").into_bytes();
    key.resize(key.len().max(n as usize % 17), b'-');
    key
}

impl Rig {
    /// A new store.
    fn new(subject: Subject, disk: Disk) -> Self {
        let mut medium = subject.medium(&disk);
        medium.take_empty();
        Self::of(subject, disk, HostKv::over_tuned(subject.kind, &subject.config(), medium))
    }

    /// What is on the device.
    fn open(subject: Subject, disk: Disk, watch: Watch<'_>) -> Result<Self, Damage> {
        let medium = subject.medium(&disk);
        let mut waits = 0;
        let store = HostKv::open_tuned(subject.kind, &subject.config(), medium, || {
            waits = if step(&disk, watch) { 0 } else { waits + 1 };
            assert!(waits < 10, "opening waits for nothing");
        })?;
        Ok(Self::of(subject, disk, store))
    }

    fn of(subject: Subject, disk: Disk, store: HostKv) -> Self {
        let workers = subject.workers;
        Self { disk, store: store.with_workers(workers), workers, busy: Vec::new(), turns: 0 }
    }

    /// Background work goes on: a quantum, or one of each job that can go on. The time of one of those that were begun earlier is over,
    /// in another order than they began.
    fn work(&mut self) {
        if self.workers == 1 {
            return self.store.background(1, Work::Free);
        }
        self.turns += 1;
        if !self.busy.is_empty() {
            self.store.rest(self.busy.swap_remove(self.turns % self.busy.len()));
        }
        let mut begun = Vec::new();
        self.store.begin_jobs(&mut |worker, _| begun.push(worker));
        if self.turns.is_multiple_of(3) {
            begun.reverse();
        }
        for worker in begun {
            if self.store.quantum_of(worker, Work::Free) {
                self.busy.push(worker);
            }
        }
    }

    /// The store goes on as far as it can, and then the device by one command. Calls `done` with what has ended.
    fn turn(&mut self, watch: Watch<'_>, done: &mut dyn FnMut(Ticket, Outcome)) -> bool {
        self.work();
        self.store.ring();
        let stepped = step(&self.disk, watch);
        self.store.advance(Work::Free, done)
            || stepped
            || self.store.has_background()
            || !self.busy.is_empty()
    }

    /// An operation from its beginning to its end.
    fn run(&mut self, op: Op, watch: Watch<'_>) -> Outcome {
        let name = format!("{op:?}").chars().take(60).collect::<String>();
        match self.store.submit(op, Work::Free) {
            Ok(outcome) => outcome,
            Err(ticket) => self.until(ticket, watch).unwrap_or_else(|| panic!("{name}... never ends")),
        }
    }

    fn until(&mut self, ticket: Ticket, watch: Watch<'_>) -> Option<Outcome> {
        let mut ended = None;
        for _ in 0..TURNS_MAX {
            self.turn(watch, &mut |done, outcome| {
                ended = (done == ticket).then_some(outcome).or(ended.take())
            });
            if ended.is_some() {
                break;
            }
        }
        ended
    }

    fn get(&mut self, of: KeyNumber) -> Option<Vec<u8>> {
        match self.run(Op::Get(key(of)), &mut nobody) {
            Ok(Answer::Value(value)) => Some(value),
            Err(KvError::NotFound) => None,
            other => panic!("get of key {of}: {other:?}"),
        }
    }

    /// All pairs, by a scan.
    fn scan(&mut self, snapshot: Option<u32>) -> BTreeMap<Vec<u8>, Vec<u8>> {
        pairs(&self.run(Op::Scan { from: Vec::new(), backwards: false, entries: ALL, snapshot }, &mut nobody))
    }

    /// What there is of the keys that were written.
    fn seen(&mut self, expected: &Expected) -> Seen {
        let found: Vec<_> = expected.keys().filter_map(|of| Some((of, self.get(of)?))).collect();
        if self.store.takes_scans() {
            let by_key: BTreeMap<_, _> = found.iter().map(|(of, value)| (key(*of), value.clone())).collect();
            assert!(self.scan(None) == by_key, "a scan shows what gets find, and nothing else");
        }
        found.into_iter().map(|(of, value)| (of, writer(of, &value))).collect()
    }

    fn counter(&self, name: &str) -> u64 {
        let counters = self.store.counters();
        counters.iter().find(|(known, _)| *known == name).map_or(0, |(_, n)| *n)
    }
}

/// What a scan has found.
fn pairs(outcome: &Outcome) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let Ok(Answer::Pairs(payload)) = outcome else { panic!("a scan ended with {outcome:?}") };
    let mut all = BTreeMap::new();
    if payload.iter().all(|byte| *byte == 0) {
        return all;
    }
    let parsed = parse(Form::All(GroupOp::Store), payload, |entry| {
        let bytes = |range: Range<u32>| payload[range.start as usize..range.end as usize].to_vec();
        assert!(all.last_key_value().is_none_or(|(last, _)| *last < bytes(entry.key.clone())), "sorted");
        all.insert(bytes(entry.key), bytes(entry.value));
    });
    parsed.expect("what a scan finds is well formed");
    all
}

/// Writes of one operation: each key, and whether it stores something.
fn writes(expected: &mut Expected, keys: &[(KeyNumber, bool)]) -> Op {
    let n = expected.writes(keys);
    match keys {
        [(of, true)] => Op::Put(key(*of), value(n, *of)),
        [(of, false)] => Op::Delete(key(*of)),
        many => {
            let mut batch = WriteBatch::new();
            for (of, stores) in many {
                if *stores {
                    batch.put(&key(*of), &value(n, *of))
                } else {
                    batch.delete(&key(*of))
                };
            }
            Op::Batch(Batch::new(batch).expect("keys are short"))
        }
    }
}
