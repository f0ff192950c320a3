// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Power goes at any event of a history, while the store is opened again, and while it goes on.

use super::disk::{Disk, Loss};
use super::expected::{Expected, KeyNumber, Seen};
use super::{Rig, Subject, key, nobody, subjects, writes};
use saker_engine::{EngineKind, KvError};
use saker_host::host_kv::{Answer, Op, Outcome, Ticket};
use saker_sim::{Rng, Seed};
use saker_testing::tier;

/// Keys of a history, and those of most writes.
const KEYS: u64 = 260;
const HOT_KEYS: u64 = 30;
/// Operations of a history.
const OPERATIONS: u64 = 2400;
/// Events at most between the moment when a cut is wanted and that when it comes.
const PASSES_MAX: u64 = 12;
/// Puts behind an opening, which are cut too.
const PUTS_BEHIND: u64 = 20;
/// Turns of background work behind an opening, before anything is read.
const TURNS_BEHIND: u64 = 30;

/// How much is done at a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    /// The store is opened.
    Once,
    /// Beside that power goes again at one event of the opening and at one of what follows.
    Twice,
    /// At all of them.
    All,
}

/// Looks at a device, and cuts it at some of the events that it sees.
struct Cutter {
    subject: Subject,
    rng: Rng,
    /// Events that are let pass before the next one is cut.
    passes: u64,
    /// So many events that follow each other are cut then.
    left: u64,
    cuts: u64,
}

impl Cutter {
    /// Soon so many events that follow each other are cut.
    fn arm(&mut self, events: u64) {
        (self.passes, self.left) = (self.rng.below(PASSES_MAX), events);
    }

    fn seen(&mut self, disk: &Disk, expected: &Expected) {
        if self.passes > 0 || self.left == 0 {
            self.passes = self.passes.saturating_sub(1);
            return;
        }
        self.left -= 1;
        self.cuts += 1;
        let depth = match self.rng.below(40) {
            0 => Depth::All,
            1..8 => Depth::Twice,
            _ => Depth::Once,
        };
        survives(self.subject, disk, expected, (self.rng.next_u64(), depth));
    }
}

/// Copies of a device that were cut at events.
struct Forks {
    depth: Depth,
    seed: u64,
    rng: Rng,
    left: u64,
    /// Each with what may be found.
    all: Vec<(Disk, Expected)>,
}

impl Forks {
    fn new(depth: Depth, seed: Seed) -> Self {
        let mut rng = seed.child("forks").rng();
        let left = rng.below(12);
        Self { depth, seed: seed.0, rng, left, all: Vec::new() }
    }

    fn seen(&mut self, disk: &Disk, expected: &Expected) {
        let is_cut = match self.depth {
            Depth::Once => false,
            Depth::Twice => self.left == 0,
            Depth::All => true,
        };
        self.left = self.left.wrapping_sub(1);
        if is_cut {
            self.all.push((disk.cut(any_loss(&mut self.rng), self.seed), expected.clone()));
        }
    }
}

fn any_loss(rng: &mut Rng) -> Loss {
    Loss::ALL[rng.below(Loss::ALL.len() as u64) as usize]
}

fn opened(subject: Subject, disk: Disk, watch: super::Watch<'_>, what: &str) -> Rig {
    Rig::open(subject, disk, watch).unwrap_or_else(|damage| panic!("{subject:?}, {what}: {damage}"))
}

/// Asserts that a device which is cut now has what it must have, and goes on.
fn survives(subject: Subject, disk: &Disk, expected: &Expected, (seed, depth): (u64, Depth)) {
    let mut rng = Seed(seed).rng();
    let loss = any_loss(&mut rng);
    let what = format!("{loss:?} lost, seed {seed}");
    let mut forks = Forks::new(depth, Seed(seed).child("opening"));
    let mut rig = opened(subject, disk.cut(loss, seed), &mut |disk| forks.seen(disk, expected), &what);
    for _ in 0..rng.below(TURNS_BEHIND) {
        rig.turn(&mut |disk| forks.seen(disk, expected), &mut |_, _| {});
    }
    let seen = rig.seen(expected);
    expected.assert_allows(&seen, &what);
    for (cut, _) in forks.all {
        let mut again = opened(subject, cut, &mut nobody, &format!("{what}, and cut while it was opened"));
        assert_eq!(again.seen(expected), seen, "{what}: opened twice it shows the same");
    }
    let mut expected = expected.clone();
    expected.settle(&seen);
    let forks = goes_on(&mut rig, &mut expected, Forks::new(depth, Seed(seed).child("behind")));
    for (cut, expected) in forks.all {
        let mut again = opened(subject, cut, &mut nobody, &format!("{what}, and cut behind it"));
        expected.assert_allows(&again.seen(&expected), &format!("{what}, and cut behind it"));
    }
}

/// Writes and a Flush behind an opening.
fn goes_on(rig: &mut Rig, expected: &mut Expected, mut forks: Forks) -> Forks {
    for n in 0..PUTS_BEHIND {
        let op = writes(expected, &[((n * 7 % KEYS) as KeyNumber, true)]);
        let put = rig.run(op, &mut |disk| forks.seen(disk, expected));
        assert_eq!(put, Ok(Answer::Done));
        rig.turn(&mut |disk| forks.seen(disk, expected), &mut |_, _| {});
    }
    let mark = expected.next();
    let flushed = rig.run(Op::Flush, &mut |disk| forks.seen(disk, expected));
    assert_eq!(flushed, Ok(Answer::Done));
    expected.flushed(mark);
    forks.seen(&rig.disk, expected);
    forks
}

/// A history of writes that is cut at its events.
struct History {
    rig: Rig,
    expected: Expected,
    cutter: Cutter,
    rng: Rng,
    /// One operation in so many is followed by a Flush.
    flush_one_in: u64,
    /// A Flush on its way, and the number of the first write that it need not cover.
    flush: Option<(Ticket, u64)>,
}

impl History {
    fn new(subject: Subject, is_volatile: bool, seed: u64) -> Self {
        let rng = |label| Seed(seed).child(label).rng();
        Self {
            rig: Rig::new(subject, subject.disk(is_volatile, seed)),
            expected: Expected::default(),
            cutter: Cutter { subject, rng: rng("cuts"), passes: 0, left: 0, cuts: 0 },
            rng: rng("history"),
            flush_one_in: if seed.is_multiple_of(2) { 25 } else { 200 },
            flush: None,
        }
    }

    fn key(&mut self) -> KeyNumber {
        let keys = if self.rng.below(4) == 0 { KEYS } else { HOT_KEYS };
        self.rng.below(keys) as KeyNumber
    }

    fn keys(&mut self) -> Vec<(KeyNumber, bool)> {
        let takes_groups = self.rig.store.takes_batches();
        let many = if takes_groups && self.rng.below(6) == 0 { 2 + self.rng.below(4) } else { 1 };
        let mut keys: Vec<(KeyNumber, bool)> = Vec::new();
        while (keys.len() as u64) < many {
            let of = self.key();
            if keys.iter().all(|(known, _)| *known != of) {
                keys.push((of, self.rng.below(5) > 0));
            }
        }
        keys
    }

    fn step(&mut self) {
        let keys = self.keys();
        let is_there = self.expected.value_now(keys[0].0).is_some();
        let op = writes(&mut self.expected, &keys);
        match self.run(op) {
            Ok(Answer::Done) => {}
            Err(KvError::NotFound) if keys.len() == 1 && !keys[0].1 && !is_there => {}
            other => panic!("{keys:?}: {other:?}"),
        }
        if self.rng.below(self.flush_one_in) == 0 {
            self.begin_flush();
        }
        let turns = self.rng.below(4);
        (0..turns).for_each(|_| self.turn());
        if self.rng.below(7) == 0 {
            let of = self.key();
            let found = match self.run(Op::Get(key(of))) {
                Ok(Answer::Value(value)) => Some(value),
                other => {
                    other.err().filter(|why| *why != KvError::NotFound).map(|why| panic!("key {of}: {why}"))
                }
            };
            assert_eq!(found, self.expected.value_now(of), "key {of}");
        }
    }

    /// Until it ends; a Flush on its way may end meanwhile.
    fn run(&mut self, op: Op) -> Outcome {
        match self.rig.store.submit(op, saker_host::host_kv::Work::Free) {
            Ok(outcome) => outcome,
            Err(ticket) => self.wait_for(ticket),
        }
    }

    fn wait_for(&mut self, ticket: Ticket) -> Outcome {
        for _ in 0..super::TURNS_MAX {
            let mut ended = self.turn_ended();
            if let Some(at) = ended.iter().position(|(done, _)| *done == ticket) {
                return ended.swap_remove(at).1;
            }
        }
        panic!("an operation never ends");
    }

    fn begin_flush(&mut self) {
        if let Some((ticket, _)) = self.flush {
            self.wait_for(ticket).expect("it is flushed");
        }
        let mark = self.expected.next();
        match self.rig.store.submit(Op::Flush, saker_host::host_kv::Work::Free) {
            Ok(_) => self.expected.flushed(mark),
            Err(ticket) => self.flush = Some((ticket, mark)),
        }
    }

    fn turn(&mut self) {
        self.turn_ended();
    }

    fn turn_ended(&mut self) -> Vec<(Ticket, Outcome)> {
        let mut ended = Vec::new();
        let Self { rig, expected, cutter, .. } = self;
        rig.turn(&mut |disk| cutter.seen(disk, expected), &mut |ticket, outcome| {
            ended.push((ticket, outcome))
        });
        if let Some((_, mark)) =
            self.flush.take_if(|(ticket, _)| ended.iter().any(|(done, _)| done == ticket))
        {
            self.expected.flushed(mark);
        }
        ended
    }
}

/// A history that is cut once in `gap` operations, and at the end at each of some events that follow each other.
fn history(subject: Subject, is_volatile: bool, seed: u64, gap: u64) -> History {
    let mut history = History::new(subject, is_volatile, seed);
    for n in 0..OPERATIONS {
        history.step();
        if n % gap == 0 {
            history.cutter.arm(tier(1, 12));
        }
    }
    history.cutter.arm(tier(40, 1000));
    while history.cutter.left > 0 {
        history.step();
    }
    if let Some((ticket, _)) = history.flush {
        history.wait_for(ticket).expect("it is flushed");
    }
    let seen: Seen = history.rig.seen(&history.expected);
    assert_eq!(seen, history.expected.now());
    history
}

/// Asserts that a store survives cuts, and that it has done all that stores do.
fn is_cut(subject: Subject) {
    for seed in saker_testing::seeds(tier(1, 6)) {
        for (is_volatile, gap) in [(true, tier(48, 12)), (false, tier(96, 24))] {
            let history = history(subject, is_volatile, seed, gap);
            let (store, cuts) = (&history.rig.store, history.cutter.cuts);
            let stats = store.stats();
            assert!(stats.gc_segments > 10 && stats.checkpoints > 3, "{stats:?}");
            // Values in the tree pass through the log.
            let copies = subject.settings.iter().all(|setting| *setting != ("min_blob_size", "unlimited"));
            assert_eq!(stats.gc_records_copied > 10, copies, "{stats:?}");
            for name in subject.moves {
                assert!(history.rig.counter(name) > 2, "{name}: {:?}", store.counters());
            }
            assert!(cuts >= OPERATIONS / gap, "{cuts} cuts");
        }
    }
}

/// Each has a test, and so a thread.
fn lsm_is_cut(which: usize) {
    is_cut(Subject::all_of(EngineKind::LSM)[which]);
}

#[test]
fn lsm_with_all_values_apart_survives() {
    lsm_is_cut(0);
}

#[test]
fn lsm_with_values_of_64_bytes_apart_survives() {
    lsm_is_cut(1);
}

#[test]
fn lsm_with_values_of_4096_bytes_apart_survives() {
    lsm_is_cut(2);
}

#[test]
fn lsm_with_no_value_apart_survives() {
    lsm_is_cut(3);
}

#[test]
fn lsm_that_decides_where_values_go_survives() {
    lsm_is_cut(4);
}

#[test]
fn lsm_with_jobs_side_by_side_survives() {
    lsm_is_cut(5);
}

#[test]
fn lsm_with_jobs_side_by_side_and_all_values_apart_survives() {
    lsm_is_cut(6);
}

#[test]
fn every_other_engine_survives() {
    subjects().into_iter().filter(|subject| subject.kind != EngineKind::LSM).for_each(is_cut);
}
