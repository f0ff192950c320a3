// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Engines as trait objects answer, count and write what they do when they are called directly. What an engine lacks it refuses
//! by name.

use crate::contract::key;
use crate::layout::{Answered, Entry, Payload, Refusal};
use crate::{Bench, OWNER, Setup, Subject, scale};
use saker_engine::{
    AnyEngine, Capabilities, Capability, Condition, Context, Engine, GroupError, GroupOp, Groups, Hints,
    Inspect, KvError, List, Pairs, Scan, Scanned, Scans, Settings, Snapshot, Unsupported,
};
use saker_flash::FaultPlan;
use saker_segment_store::{PowerHistory, Step};
use saker_sim::{Class, CpuMeter, CpuPrices, Free, Seed};
use std::ops::Bound;

impl Bench {
    /// The same bench with its engine, and what recovers it, behind trait objects.
    pub(crate) fn outside(mut self) -> Self {
        self.setup.is_outside = true;
        self.store = AnyEngine::other(self.store);
        self
    }

    /// All that it tells of itself.
    fn told(&mut self) -> impl PartialEq + std::fmt::Debug + use<> {
        let view = self.flash.view(OWNER, Class::Foreground);
        let store = &mut self.store;
        store.settle();
        let room = (store.live_bytes(), store.capacity_bytes(&view), store.pairs_that_fit(8, 100, &view));
        let work = (store.job(&view), store.capabilities(), store.group_bytes_max());
        (store.digest(), store.stats(), store.log_stats(), store.memory(), store.counters(), room, work)
    }

    /// Where a key's record lies, and what looking for the key costs, in the order of the meter's units.
    fn looked(&mut self, key: &[u8]) -> (Option<(u64, u32)>, [u64; saker_sim::Unit::COUNT]) {
        let mut meter = CpuMeter::new(CpuPrices::default());
        let mut view = self.flash.view(OWNER, Class::Foreground);
        self.store.prefetch_hint(key, &mut meter);
        let found = self.store.exists(key, &mut Context::new(&mut view, &mut meter));
        assert!(matches!(found, Step::Done(_)), "{found:?}");
        (self.store.place_of(key, &mut view), meter.units())
    }

    /// Keys and values of a snapshot, or why there is none.
    fn scanned(&mut self) -> Result<(Scanned, Vec<u8>), Unsupported> {
        let snapshot = self.store.snapshot()?;
        self.store.share(snapshot);
        self.store.release(snapshot);
        let (mut shown, from) = (Shown(Vec::new()), Bound::Excluded(&b"k00"[..]));
        let scan = Scan { snapshot, from, backwards: false, values: true };
        let mut view = self.flash.view(OWNER, Class::Foreground);
        let step = self.store.scan(&scan, &mut shown, &mut Context::new(&mut view, &mut Free));
        self.store.release(snapshot);
        let Step::Done(Ok(scanned)) = step else { panic!("{step:?}") };
        Ok((scanned, shown.0))
    }
}

/// All bytes of a scan.
struct Shown(Vec<u8>);

impl Pairs for Shown {
    fn wants(&mut self, _: &[u8], _: u32) -> bool {
        true
    }

    fn pair(&mut self, key: &[u8], _: u32) {
        self.0.extend_from_slice(key);
    }

    fn value(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

/// An engine behind a trait object answers as it does directly.
pub fn an_engine_behind_a_trait_object_is_the_same_engine(subject: Subject) {
    for seed in saker_testing::seeds(scale(2)) {
        same_history(subject, seed, seed % 2 == 0);
    }
}

fn same_history(subject: Subject, seed: u64, ring_lasts: bool) {
    let new = || Setup::small(subject, ring_lasts).start(FaultPlan::default());
    let (kind, mut direct, mut outside) = (subject.kind, new(), new().outside());
    assert_eq!((direct.store.kind().is_none_or(|it| it == kind), outside.store.name()), (true, "other"));
    let direct_lists = direct.has(Capability::List);
    let mut both = |what: &str, step: &mut dyn FnMut(&mut Bench) -> String| {
        let (one, other) = (step(&mut direct), step(&mut outside));
        assert_eq!(one, other, "{} of seed {seed}, {what}", kind.name());
        assert_eq!(direct.told(), outside.told(), "{} of seed {seed}, after {what}", kind.name());
    };
    let mut rng = Seed(seed).rng();
    for n in 0..2500 {
        let (k, length, choice) = (key(&mut rng, 60), rng.below(400) as usize, rng.below(100));
        let value = vec![n as u8; length];
        match choice {
            0..55 => both("put", &mut |b| format!("{:?}", b.put(&k, &value, Condition::MustNotExist))),
            55..65 => both("get", &mut |b| format!("{:?}", b.get(&k))),
            65..80 => both("delete", &mut |b| format!("{:?}", b.delete(&k))),
            80..88 => {
                let mut entries = vec![of(GroupOp::Store, &k, &value), of(GroupOp::Retrieve, b"k001", &[])];
                entries.truncate(1 + (n % 2) as usize);
                both("group", &mut |b| format!("{:?}", b.group(&Payload::of(&entries))));
            }
            88..92 => both("look", &mut |b| format!("{:?}", b.looked(&k))),
            92..95 => both("scan", &mut |b| format!("{:?}", b.scanned())),
            95..98 if direct_lists => both("list", &mut |b| format!("{:?}", b.keys_from(&k))),
            95..99 => both("fork", &mut |b| {
                b.store = b.store.clone();
                String::new()
            }),
            _ => {
                let seed = rng.next_u64();
                both("restart", &mut |b| {
                    b.restart(PowerHistory::Killed, seed);
                    String::new()
                });
            }
        }
    }
}

fn of(op: GroupOp, key: &[u8], value: &[u8]) -> Entry {
    Entry { op, key: key.to_vec(), value: value.to_vec() }
}

/// What is wrong with a payload is said behind trait objects, too.
pub fn a_source_behind_a_trait_object_says_what_is_wrong_with_its_payload(subject: Subject) {
    let mut bench = Setup::small(subject, true).start(FaultPlan::default()).outside();
    let mut broken = Payload::of(&[of(GroupOp::Store, b"key", b"value")]);
    broken.bytes.truncate(8);
    assert_eq!(bench.group(&broken), Err(GroupError::Malformed(Refusal)));
}

/// What an engine refuses by that name.
fn refused(bench: &mut Bench) -> Vec<Capability> {
    let mut refused = Vec::new();
    let mut view = bench.flash.view(OWNER, Class::Foreground);
    let (store, mut meter) = (&mut bench.store, Free);
    let cx = &mut Context::new(&mut view, &mut meter);
    let listed = store.list(&[], |_| true, cx);
    refused.extend(unsupported(&listed));
    let snapshot = store.snapshot();
    refused.extend(snapshot.err().map(|Unsupported(what)| what));
    let snapshot = snapshot.unwrap_or(Snapshot::at(0));
    let scan = Scan { snapshot, from: Bound::Unbounded, backwards: false, values: false };
    refused.extend(unsupported(&store.scan(&scan, &mut Shown(Vec::new()), cx)));
    let mut group = Payload::of(&[of(GroupOp::Store, b"key", b"value")]);
    if let Step::Done(Err(GroupError::Unsupported(Unsupported(what)))) =
        store.group(&mut group, &mut Answered::default(), cx)
    {
        refused.push(what);
    }
    let bound = store.bind(b"name", &mut [&b"key"[..], b"other"].into_iter());
    refused.extend(unsupported(&Step::Done(bound)));
    let empty = store.reset(cx.medium);
    refused.extend(empty.err().map(|Unsupported(what)| what));
    let retuned = store.retune(&Settings::NONE, cx.medium);
    refused.extend(retuned.err().map(|Unsupported(what)| what));
    refused.extend(unsupported(&store.version(b"key", cx)));
    refused
}

fn unsupported<T>(step: &Step<Result<T, KvError>>) -> Option<Capability> {
    match step {
        Step::Done(Err(KvError::Unsupported(Unsupported(what)))) => Some(*what),
        _ => None,
    }
}

/// Hints that are ignored and places that are not known are not refused, and an engine without threads of its own is asked for no outcome.
const SILENT: Capabilities = Capabilities::of(&[
    Capability::PrefetchHint,
    Capability::Reserve,
    Capability::Places,
    Capability::Workers,
]);

/// What an engine lacks it refuses by name, directly and behind a trait object.
pub fn what_an_engine_lacks_it_refuses_by_name(subject: Subject) {
    for is_outside in [false, true] {
        let bench = Setup::small(subject, true).start(FaultPlan::default());
        let mut bench = if is_outside { bench.outside() } else { bench };
        let has = bench.store.capabilities();
        assert_eq!(has, subject.kind.capabilities(), "{}: what its factory says", subject.kind.name());
        let lacks = Capability::ALL.into_iter().filter(|c| !has.has(*c) && !SILENT.has(*c));
        assert_eq!(refused(&mut bench), lacks.collect::<Vec<_>>(), "{} has {has:?}", subject.kind.name());
    }
}
