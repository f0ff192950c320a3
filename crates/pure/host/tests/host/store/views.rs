// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Snapshots and scans of a store that is written, merged and collected meanwhile.

use super::expected::{Expected, KeyNumber};
use super::{ALL, Rig, Subject, key, nobody, pairs, subjects, writes};
use saker_engine::KvError;
use saker_host::WriteBatch;
use saker_host::host_kv::{Answer, Batch, Op, Ticket, Work};
use saker_sim::{Rng, Seed};
use saker_testing::tier;
use std::collections::BTreeMap;

/// Keys of a history.
const KEYS: u64 = 120;
/// Operations of a history.
const OPERATIONS: u64 = 2500;
/// Snapshots at a time.
const SNAPSHOTS_MAX: usize = 4;

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

/// A scan on its way, and what it must show.
struct Scanning {
    ticket: Ticket,
    pairs: Pairs,
}

struct Views {
    rig: Rig,
    expected: Expected,
    rng: Rng,
    snapshots: Vec<(u32, Pairs)>,
    scanning: Vec<Scanning>,
    /// Scans that ended in a later turn than they began in.
    waited: u64,
}

impl Views {
    fn new(subject: Subject, seed: u64) -> Self {
        Self {
            rig: Rig::new(subject, subject.disk(true, seed)),
            expected: Expected::default(),
            rng: Seed(seed).child("views").rng(),
            snapshots: Vec::new(),
            scanning: Vec::new(),
            waited: 0,
        }
    }

    fn now(&self) -> Pairs {
        let all = self.expected.keys().filter_map(|of| Some((key(of), self.expected.value_now(of)?)));
        all.collect()
    }

    fn step(&mut self) {
        self.write();
        match self.rng.below(24) {
            0 if self.snapshots.len() < SNAPSHOTS_MAX => self.take(),
            1 | 2 if !self.snapshots.is_empty() => self.release(),
            3..6 => self.scan(),
            _ => {}
        }
        for _ in 0..self.rng.below(4) {
            self.turn();
        }
    }

    fn write(&mut self) {
        let of = self.rng.below(KEYS) as KeyNumber;
        let stores = self.rng.below(5) > 0;
        let is_there = self.expected.value_now(of).is_some();
        let op = writes(&mut self.expected, &[(of, stores)]);
        let ended = self.run(op);
        let wanted = if stores || is_there { Ok(Answer::Done) } else { Err(KvError::NotFound) };
        assert_eq!(ended, wanted, "key {of}");
    }

    /// Runs an operation beside the scans on their way.
    fn run(&mut self, op: Op) -> Result<Answer, KvError> {
        match self.rig.store.submit(op, Work::Free) {
            Ok(outcome) => outcome,
            Err(ticket) => loop {
                let mut ended = self.turn();
                if let Some(at) = ended.iter().position(|(done, _)| *done == ticket) {
                    break ended.swap_remove(at).1;
                }
            },
        }
    }

    fn take(&mut self) {
        let Ok(Answer::Snapshot(number)) = self.run(Op::Snapshot) else { panic!("a snapshot is taken") };
        self.snapshots.push((number, self.now()));
    }

    /// A snapshot that is released serves the scans that began before.
    fn release(&mut self) {
        let which = self.rng.below(self.snapshots.len() as u64) as usize;
        let (number, _) = self.snapshots.swap_remove(which);
        assert_eq!(self.run(Op::Release(number)), Ok(Answer::Done));
        assert_eq!(self.run(Op::Release(number)), Ok(Answer::NoSnapshot));
        let gone = Op::Scan { from: Vec::new(), backwards: false, entries: 1, snapshot: Some(number) };
        assert_eq!(self.run(gone), Ok(Answer::NoSnapshot));
    }

    fn scan(&mut self) {
        let which = self.rng.below(1 + self.snapshots.len() as u64) as usize;
        let (snapshot, all) = match self.snapshots.get(which) {
            Some((number, pairs)) => (Some(*number), pairs.clone()),
            None => (None, self.now()),
        };
        let from = if self.rng.below(2) == 0 { Vec::new() } else { key(self.rng.below(KEYS) as KeyNumber) };
        let entries = if self.rng.below(2) == 0 { ALL } else { self.rng.below(20) as u32 };
        let wanted: Pairs =
            all.range(from.clone()..).take(entries as usize).map(|(k, v)| (k.clone(), v.clone())).collect();
        match self.rig.store.submit(Op::Scan { from, backwards: false, entries, snapshot }, Work::Free) {
            Ok(outcome) => assert!(pairs(&outcome) == wanted, "a scan under {snapshot:?}"),
            Err(ticket) => self.scanning.push(Scanning { ticket, pairs: wanted }),
        }
    }

    /// What has ended beside scans.
    fn turn(&mut self) -> Vec<(Ticket, Result<Answer, KvError>)> {
        let mut ended = Vec::new();
        self.rig.turn(&mut nobody, &mut |ticket, outcome| ended.push((ticket, outcome)));
        let scanning = &mut self.scanning;
        ended.retain(|(ticket, outcome)| {
            let Some(at) = scanning.iter().position(|scan| scan.ticket == *ticket) else { return true };
            assert!(pairs(outcome) == scanning.swap_remove(at).pairs, "a scan that waited");
            self.waited += 1;
            false
        });
        ended
    }
}

fn shows_moments(subject: Subject, seed: u64) {
    let mut views = Views::new(subject, seed);
    (0..OPERATIONS).for_each(|_| views.step());
    while !views.scanning.is_empty() {
        views.turn();
    }
    let stats = views.rig.store.stats();
    assert!(views.waited > 20 && stats.gc_segments > 10, "{subject:?}: {} {stats:?}", views.waited);
    for name in subject.moves {
        assert!(views.rig.counter(name) > 2, "{subject:?}: {name}");
    }
    let (snapshots, is_there) = (std::mem::take(&mut views.snapshots), views.now());
    for (number, wanted) in snapshots {
        assert!(views.rig.scan(Some(number)) == wanted, "{subject:?}: at the end");
    }
    assert!(views.rig.scan(None) == is_there);
}

#[test]
fn snapshots_and_scans_show_one_moment_whatever_is_written_and_moved() {
    for subject in subjects() {
        if Rig::new(subject, subject.disk(true, 0)).store.takes_scans() {
            saker_testing::seeds(tier(1, 20)).for_each(|seed| shows_moments(subject, seed));
        }
    }
}

/// Histories in which so many scans are on their way at once that what they see fills the store.
const FULL_OF_SCANS: [u64; 3] = [7, 13, 14];

/// What a scan sees that is on its way is no reason to refuse a write: the write waits for it.
#[test]
fn no_write_is_refused_for_what_scans_on_their_way_see() {
    let subjects =
        subjects().into_iter().filter(|subject| subject.settings.contains(&("min_blob_size", "4096")));
    for (subject, seed) in subjects.flat_map(|subject| FULL_OF_SCANS.map(|seed| (subject, seed))) {
        shows_moments(subject, seed);
    }
}

/// Nobody knows when a user releases a snapshot, so a write is refused for what it sees, scans on their way or not.
#[test]
fn a_write_is_refused_for_what_snapshots_see() {
    for subject in subjects() {
        if !Rig::new(subject, subject.disk(true, 3)).store.takes_scans() {
            continue;
        }
        let mut views = Views::new(subject, 3);
        let refused = (0..OPERATIONS).any(|n| {
            if n % 40 == 0 {
                views.take();
                let scan = Op::Scan { from: Vec::new(), backwards: false, entries: ALL, snapshot: None };
                _ = views.rig.store.submit(scan, Work::Free);
            }
            let put = writes(&mut views.expected, &[(views.rng.below(KEYS) as KeyNumber, true)]);
            let ended = views.rig.run(put, &mut nobody);
            if ended.is_err() {
                views.expected.undo();
            }
            ended == Err(KvError::CapacityExceeded)
        });
        assert!(refused, "{subject:?}: what snapshots see takes room");
        for (number, _) in std::mem::take(&mut views.snapshots) {
            assert_eq!(views.rig.run(Op::Release(number), &mut nobody), Ok(Answer::Done));
        }
        let put = writes(&mut views.expected, &[(0, true)]);
        assert_eq!(views.rig.run(put, &mut nobody), Ok(Answer::Done), "{subject:?}");
    }
}

/// What a group writes is seen together.
#[test]
fn a_scan_sees_all_of_a_group_or_nothing() {
    for subject in subjects() {
        let mut rig = Rig::new(subject, subject.disk(true, 0));
        if !rig.store.takes_scans() || !rig.store.takes_batches() {
            continue;
        }
        for round in 0..200_u32 {
            let mut batch = WriteBatch::new();
            (0..12).for_each(|n| _ = batch.put(&key(n * 9), &round.to_le_bytes().repeat(60)));
            let batch = rig.run(Op::Batch(Batch::new(batch).expect("short keys")), &mut nobody);
            assert_eq!(batch, Ok(Answer::Done));
            let seen = rig.scan(None);
            assert!(
                seen.len() == 12 && seen.values().all(|v| *v == round.to_le_bytes().repeat(60)),
                "{subject:?}"
            );
        }
    }
}

#[test]
fn engines_without_an_order_refuse_scans_and_snapshots() {
    for subject in subjects() {
        let mut rig = Rig::new(subject, subject.disk(true, 0));
        if rig.store.takes_scans() {
            continue;
        }
        for op in [Op::Scan { from: Vec::new(), backwards: false, entries: 1, snapshot: None }, Op::Snapshot]
        {
            let ended = rig.run(op, &mut nobody);
            assert!(matches!(ended, Err(KvError::Unsupported(_))), "{subject:?}: {ended:?}");
        }
    }
}
