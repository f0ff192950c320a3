//! The contract of engines: each against a BTreeMap, over untimed flash so small that collections and checkpoints are
//! always near, with power cycles of every kind in between.

use saker_engine::{
    AnyEngine, AnyRecovery, Condition, Context, Engine, EngineConfig, EngineKind, Inspect, Job, KvError,
    List, Put, Recover, Settings,
};
use saker_flash::nand::Shape;
use saker_flash::{FaultPlan, Flash, Media, MemMedia, PowerCut};
use saker_medium::{Geometry, PowerHistory, Ring, SegmentId, Step};
use saker_sim::{Chance, Class, Free, Rng, Seed};
use std::collections::BTreeMap;

mod groups;
mod outside;

const OWNER: u16 = 1;

/// Histories per test: 20 times as many in the soak tier.
fn scale(n: u64) -> u64 {
    saker_testing::tier(n, n * 20)
}

struct Bench {
    flash: Flash,
    store: AnyEngine,
    kind: EngineKind,
    config: EngineConfig,
    /// The engine is behind a trait object.
    is_outside: bool,
}

/// Runs a test on every engine.
fn each_engine(test: impl Fn(EngineKind)) {
    EngineKind::ALL.iter().copied().for_each(test);
}

/// The hash FTLs keep more segments back: they write more streams.
fn shape(kind: EngineKind) -> Shape {
    let segments = if kind == EngineKind::HASH_STORE { 20 } else { 40 };
    let oob_bytes = kind.oob_bytes(512, &Settings::NONE);
    let geometry = Geometry { page_bytes: 512, oob_bytes, segment_pages: 16, segments };
    Shape { geometry, channels: 2, luns: 4 }
}

impl Bench {
    fn new(kind: EngineKind, ring_lasts: bool, faults: FaultPlan) -> Self {
        let g = shape(kind).geometry;
        let mut flash = Flash::power_on(
            MemMedia::new(shape(kind)),
            Ring::heap(24, g.page_bytes, g.oob_bytes),
            None,
            faults,
        );
        flash.pool_mut().set_quota(OWNER, g.segments);
        let config = EngineConfig::new(OWNER, ring_lasts);
        let store = AnyEngine::new(kind, &config, &flash.view(OWNER, Class::Foreground));
        Self { flash, store, kind, config, is_outside: false }
    }

    fn settle(&mut self) {
        while let Some((_, done)) = self.flash.take_completion() {
            self.store.completed(&done, &mut self.flash.view(OWNER, Class::Background));
        }
    }

    fn background(&mut self) -> bool {
        let finished = self.flash.finished();
        let step = self.store.background(
            Job::UPKEEP,
            finished,
            &mut Context::new(&mut self.flash.view(OWNER, Class::Background), &mut Free),
        );
        self.settle();
        match step {
            Step::Done(did) => did == saker_engine::Background::Worked,
            Step::Blocked(stall) => panic!("background blocked: {stall:?}"),
            Step::Need(_) => panic!("untimed flash is always resident"),
        }
    }

    fn run<T>(&mut self, mut op: impl FnMut(&mut AnyEngine, &mut Flash) -> Step<T>) -> T {
        self.run_in_parts(|s, f| blocked_changes_nothing(s, |s| op(s, f)))
    }

    /// An operation that may be done in part when it is blocked.
    fn run_in_parts<T>(&mut self, mut op: impl FnMut(&mut AnyEngine, &mut Flash) -> Step<T>) -> T {
        for _ in 0..100_000 {
            match op(&mut self.store, &mut self.flash) {
                Step::Done(t) => {
                    self.settle();
                    if self.store.job(&self.flash.view(OWNER, Class::Foreground)).is_some() {
                        self.background();
                    }
                    return t;
                }
                Step::Need(_) => panic!("untimed flash is always resident"),
                Step::Blocked(_) => {
                    self.settle();
                    self.background();
                }
            }
        }
        panic!("no progress");
    }

    fn put(&mut self, key: &[u8], value: &[u8], condition: Condition) -> Result<(), KvError> {
        self.run(|s, f| {
            s.store(
                key,
                &mut &value[..],
                condition,
                &mut Context::new(&mut f.view(OWNER, Class::Foreground), &mut Free),
            )
            .map(ended)
        })
    }

    fn get(&mut self, key: &[u8]) -> Result<Vec<u8>, KvError> {
        let mut out = Vec::new();
        let len = self.run(|s, f| {
            s.retrieve(key, &mut out, &mut Context::new(&mut f.view(OWNER, Class::Foreground), &mut Free))
        })?;
        assert_eq!(len as usize, out.len());
        Ok(out)
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), KvError> {
        self.run(|s, f| {
            s.delete(key, &mut Context::new(&mut f.view(OWNER, Class::Foreground), &mut Free))
                .map(|deleted| deleted.map(|_| ()))
        })
    }

    fn flush(&mut self) {
        let _ = self.store.flush(&mut self.flash.view(OWNER, Class::Foreground));
        self.settle();
    }

    fn keys(&mut self) -> Vec<Vec<u8>> {
        self.keys_from(&[])
    }

    fn keys_from(&mut self, from: &[u8]) -> Vec<Vec<u8>> {
        let mut keys = Vec::new();
        self.run(|s, f| {
            keys.clear();
            let visit = |k: &[u8]| {
                keys.push(k.to_vec());
                true
            };
            s.list(from, visit, &mut Context::new(&mut f.view(OWNER, Class::Foreground), &mut Free))
        })
        .expect("valid start");
        keys
    }

    fn restart(&mut self, history: PowerHistory, seed: u64) {
        let ring_kept = !matches!(history, PowerHistory::Cut { ring_kept: false });
        let (mut media, ring) = self.flash.cut(PowerCut { seed, ring_kept });
        media.set_history(history);
        let ring = Ring::new(
            saker_medium::RingMemory::from_bytes(ring.memory()),
            24,
            512,
            shape(self.kind).geometry.oob_bytes,
        );
        self.flash = Flash::power_on(media, ring, None, FaultPlan::default());
        self.flash.pool_mut().set_quota(OWNER, shape(self.kind).geometry.segments);
        let mut recovery =
            AnyRecovery::new(self.kind, &self.config, &self.flash.view(OWNER, Class::Foreground));
        if self.is_outside {
            recovery = outside::recovery(recovery);
        }
        loop {
            match recovery.step(&mut self.flash.view(OWNER, Class::Foreground)) {
                Step::Done(Ok(true)) => break,
                Step::Done(Ok(false)) => {}
                Step::Done(Err(damage)) => panic!("{damage}"),
                other => panic!("{other:?}"),
            }
        }
        self.store = recovery.finish();
        self.settle();
    }
}

fn blocked_changes_nothing<T>(store: &mut AnyEngine, op: impl FnOnce(&mut AnyEngine) -> Step<T>) -> Step<T> {
    let before = store.digest();
    let step = op(store);
    if matches!(step, Step::Blocked(_)) {
        assert_eq!(before, store.digest(), "a blocked operation changes nothing");
    }
    step
}

fn key(rng: &mut Rng, space: u64) -> Vec<u8> {
    let n = rng.below(space);
    let mut key = format!("k{n:03}").into_bytes();
    key.resize(4 + (n % 13) as usize, b'x');
    key
}

fn check(bench: &mut Bench, model: &BTreeMap<Vec<u8>, Vec<u8>>) {
    let mut keys = bench.keys();
    let in_order = keys.clone();
    keys.sort();
    let extra: Vec<_> = keys.iter().filter(|k| !model.contains_key(*k)).collect();
    let lost: Vec<_> = model.keys().filter(|k| !keys.contains(*k)).collect();
    assert!(extra.is_empty() && lost.is_empty(), "pairs that should not be there {extra:?}, lost {lost:?}");
    for (k, v) in model {
        assert_eq!(bench.get(k).as_ref(), Ok(v));
    }
    // Listing from any key, stored or not, goes on in the same order.
    for probe in in_order.iter().step_by(7) {
        let rest = bench.keys_from(probe);
        let from = in_order.iter().position(|k| k == probe).expect("listed");
        assert_eq!(rest, in_order[from..]);
    }
    bench.store.settle();
    let pairs = bench.store.stats().pairs;
    match bench.kind.name() {
        // It does not look for what a store replaces, so it knows no more than how many there can be.
        "lsm" | "tree" => {
            assert!(pairs >= model.len() as u64, "{pairs} of {}", model.len())
        }
        _ => assert_eq!(pairs, model.len() as u64),
    }
}

fn history(kind: EngineKind, seed: u64, ring_lasts: bool, faults: FaultPlan) {
    let mut rng = Seed(seed).rng();
    let mut bench = Bench::new(kind, ring_lasts, faults);
    let mut model = BTreeMap::new();
    for step in 0..8000 {
        let k = key(&mut rng, 60);
        match rng.below(100) {
            0..60 => {
                let mut value = vec![0; rng.below(if step % 50 == 0 { 2000 } else { 300 }) as usize];
                rng.fill(&mut value);
                let condition =
                    [Condition::Always, Condition::MustExist, Condition::MustNotExist][rng.below(3) as usize];
                let expected = match (condition, model.contains_key(&k)) {
                    (Condition::MustExist, false) => Err(KvError::NotFound),
                    (Condition::MustNotExist, true) => Err(KvError::Exists),
                    _ => Ok(()),
                };
                assert_eq!(bench.put(&k, &value, condition), expected);
                if expected.is_ok() {
                    model.insert(k, value);
                }
            }
            60..85 => {
                let expected = model.remove(&k).map(|_| ()).ok_or(KvError::NotFound);
                assert_eq!(bench.delete(&k), expected);
            }
            85..98 => assert_eq!(bench.get(&k), model.get(&k).cloned().ok_or(KvError::NotFound)),
            _ => {
                let history = match rng.below(3) {
                    0 => PowerHistory::Killed,
                    _ if ring_lasts => PowerHistory::Cut { ring_kept: true },
                    _ => {
                        bench.flush();
                        PowerHistory::Cut { ring_kept: false }
                    }
                };
                bench.restart(history, rng.next_u64());
                check(&mut bench, &model);
            }
        }
    }
    check(&mut bench, &model);
    let erased: u32 =
        (0..shape(kind).geometry.segments).map(|n| bench.flash.media().epoch(SegmentId(n))).sum();
    assert!(erased > 10, "the history must have collected segments: {erased}");
}

#[test]
fn random_histories_with_a_capacitor() {
    each_engine(|kind| (0..scale(6)).for_each(|seed| history(kind, seed, true, FaultPlan::default())));
}

#[test]
fn random_histories_without_a_capacitor() {
    each_engine(|kind| {
        (100..100 + scale(6)).for_each(|seed| history(kind, seed, false, FaultPlan::default()));
    });
}

#[test]
fn random_histories_with_failing_programs_and_erases() {
    each_engine(|kind| {
        for seed in 200..200 + scale(5) {
            let plan = FaultPlan { seed, program: Chance::one_in(60), ..FaultPlan::default() };
            history(kind, seed, true, plan);
        }
    });
}

#[test]
fn a_full_store_still_reads_deletes_and_then_stores() {
    each_engine(full_store);
}

fn full_store(kind: EngineKind) {
    let mut bench = Bench::new(kind, true, FaultPlan::default());
    let mut stored = Vec::new();
    for n in 0.. {
        let k = format!("key{n:06}").into_bytes();
        match bench.put(&k, &[7; 100], Condition::Always) {
            Ok(()) => stored.push(k),
            Err(e) => {
                assert_eq!(e, KvError::CapacityExceeded);
                break;
            }
        }
    }
    // Tables or nodes and the room to merge them take their share of 40 segments.
    let least = if [EngineKind::LSM, EngineKind::TREE].contains(&kind) { 250 } else { 400 };
    assert!(stored.len() > least, "{}", stored.len());
    assert_eq!(bench.get(&stored[3]), Ok(vec![7; 100]));
    // Overwriting in place of itself works while full.
    for k in &stored {
        assert_eq!(bench.put(k, &[8; 100], Condition::Always), Ok(()));
    }
    let (gone, kept) = stored.split_at(stored.len() / 2);
    for k in gone {
        assert_eq!(bench.delete(k), Ok(()));
    }
    for n in 0..gone.len() / 2 {
        assert_eq!(
            bench.put(format!("new{n:06}").as_bytes(), &[9; 100], Condition::Always),
            Ok(()),
            "{n} of {}: {} of {}",
            gone.len(),
            bench.store.live_bytes(),
            bench.store.capacity_bytes(&bench.flash.view(OWNER, Class::Foreground))
        );
    }
    assert_eq!(bench.get(&kept[0]), Ok(vec![8; 100]));
    assert!(bench.flash.media().epoch(SegmentId(0)) > 0 || bench.store.stats().gc_segments > 0);
}

/// What became of a put, without its version.
fn ended(put: Result<Put, KvError>) -> Result<(), KvError> {
    put.map(|put| _ = put.ended())
}
