// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions against the same model: all or nothing, whatever happens between, and conditions that hold when they should.
//! Engines without them refuse by name.

mod order;
mod sets;

pub use order::{
    what_survives_is_a_prefix_without_a_capacitor, what_survives_is_all_with_a_capacitor_or_when_killed,
};
pub use sets::{
    a_full_store_refuses_a_transaction_as_a_whole, a_snapshot_sees_a_transaction_whole,
    kills_leave_transactions_whole, power_cuts_leave_transactions_whole,
    power_cuts_that_take_the_ring_leave_transactions_whole,
};

use crate::bench::changes_nothing;
use crate::contract::{self, Model, check, has_collected, key, power_cycle};
use crate::{Bench, OWNER, Setup, Subject, scale};
use saker_engine::transaction::{Ask, Found, OfEngine, Part, State};
use saker_engine::{
    Capability, Condition, Context, Engine, EngineKind, Groups, KvError, NotDone, PairVersion, Unsupported,
    transact,
};
use saker_flash::FaultPlan;
use saker_segment_store::{Reads, Step};
use saker_sim::{Chance, Class, Free, Rng, Seed};
use std::collections::BTreeMap;

/// What became of a transaction.
pub type Outcome = Result<Vec<Found>, NotDone>;

impl Bench {
    /// As a driver does.
    ///
    /// # Errors
    /// The engine's.
    pub fn transact(&mut self, parts: &[Part<'_>]) -> Outcome {
        let (digests, mut pages) = (self.setup.digests, Reads::new());
        let done = self.until_done(|s, f| {
            let (mut view, mut meter) = (f.view(OWNER, Class::Foreground), Free);
            let before = digests.then(|| s.digest());
            let step = changes_nothing(digests, s, |engine| {
                let cx = Context::new(&mut view, &mut meter);
                transact(parts, &mut pages, &mut OfEngine { engine, cx })
            });
            if digests && matches!(step, Step::Done(Err(_))) {
                assert_eq!(before, Some(s.digest()), "a transaction that is refused changes nothing");
            }
            step
        });
        let outcome = done.expect("power is on");
        for part in parts {
            match part.ask {
                Ask::Store(value) => self.note(part.key, Some(value), outcome.is_ok()),
                Ask::Delete => self.note(part.key, None, outcome.is_ok()),
                _ => {}
            }
        }
        self.after();
        outcome
    }

    /// The version of a pair.
    ///
    /// # Errors
    /// The engine's.
    pub fn version(&mut self, key: &[u8]) -> Result<Option<PairVersion>, KvError> {
        self.run(|engine, f| {
            let (mut view, mut meter) = (f.view(OWNER, Class::Foreground), Free);
            OfEngine { engine, cx: Context::new(&mut view, &mut meter) }.version(key)
        })
    }
}

fn part<'p>(key: &'p [u8], ask: Ask<'p>) -> Part<'p> {
    Part { key, ask }
}

/// What a part asks for, in memory of its own.
#[derive(Clone, Debug)]
enum Asked {
    Store(Vec<u8>),
    Delete,
    Retrieve,
    Exist,
    Absent,
    Present,
    Version(Option<PairVersion>),
    Value(Vec<u8>),
    Range(u32, Option<Vec<u8>>),
}

impl Asked {
    fn lent(&self) -> Ask<'_> {
        match self {
            Self::Store(value) => Ask::Store(value),
            Self::Delete => Ask::Delete,
            Self::Retrieve => Ask::Retrieve,
            Self::Exist => Ask::Exist,
            Self::Absent => Ask::Absent,
            Self::Present => Ask::Present,
            Self::Version(version) => Ask::Version(*version),
            Self::Value(value) => Ask::Value(value),
            Self::Range(count, to) => Ask::Range(*count, to.as_deref()),
        }
    }
}

/// The pairs, and what versions each key was seen with: of each write one, and no two writes have the same.
#[derive(Default)]
struct Known {
    model: Model,
    writes: u64,
    /// The write that a key has its value from.
    of: BTreeMap<Vec<u8>, u64>,
    versions: BTreeMap<(Vec<u8>, PairVersion), u64>,
}

impl Known {
    fn apply(&mut self, key: &[u8], value: Option<&[u8]>) {
        self.writes += 1;
        match value {
            Some(value) => {
                self.model.insert(key.to_vec(), value.to_vec());
                self.of.insert(key.to_vec(), self.writes);
            }
            None => _ = (self.model.remove(key), self.of.remove(key)),
        }
    }

    /// Ranges have no version.
    fn saw_beside(&mut self, key: &[u8], ask: &Asked, version: Option<PairVersion>) {
        if !matches!(ask, Asked::Range(..)) {
            self.saw(key, version);
        }
    }

    /// A version was seen.
    fn saw(&mut self, key: &[u8], version: Option<PairVersion>) {
        let write = self.of.get(key).copied();
        assert_eq!(version.is_some(), write.is_some(), "{key:?}: a pair has a version, and nothing else has");
        if let (Some(version), Some(write)) = (version, write) {
            let first = *self.versions.entry((key.to_vec(), version)).or_insert(write);
            assert_eq!(first, write, "{key:?}: {version:?} was that of an earlier write");
        }
    }

    fn in_range(&self, from: &[u8], to: Option<&[u8]>) -> u32 {
        self.model
            .keys()
            .filter(|key| key.as_slice() >= from && to.is_none_or(|to| key.as_slice() < to))
            .count() as u32
    }

    /// The place of the first part that refuses the transaction, and whether it is a condition.
    fn refusal(&self, parts: &[(Vec<u8>, Asked)], now: &mut Bench) -> Option<NotDone> {
        (0..).zip(parts).find_map(|(place, (key, ask))| {
            let there = self.model.get(key);
            let holds = match ask {
                Asked::Store(_) | Asked::Retrieve | Asked::Exist => true,
                Asked::Delete if there.is_none() => return Some(NotDone::Member(place, KvError::NotFound)),
                Asked::Delete => true,
                Asked::Absent => there.is_none(),
                Asked::Present => there.is_some(),
                Asked::Version(wanted) => now.version(key) == Ok(*wanted),
                Asked::Value(wanted) => there == Some(wanted),
                Asked::Range(count, to) => *count == self.in_range(key, to.as_deref()),
            };
            (!holds).then_some(NotDone::Condition(place))
        })
    }
}

fn random_parts(bench: &mut Bench, known: &Known, rng: &mut Rng, most: u64) -> Vec<(Vec<u8>, Asked)> {
    let (mut parts, mut written) = (Vec::new(), std::collections::BTreeSet::new());
    for _ in 0..rng.below(most) + 1 {
        let key = key(rng, 60);
        let there = known.model.get(&key).cloned();
        let ask = match rng.below(100) {
            0..45 => Asked::Store(vec![rng.below(256) as u8; rng.below(150) as usize]),
            45..60 if there.is_some() || rng.below(20) == 0 => Asked::Delete,
            60..70 => Asked::Retrieve,
            70..75 => Asked::Exist,
            75..80 if there.is_none() || rng.below(20) == 0 => Asked::Absent,
            80..85 if there.is_some() || rng.below(20) == 0 => Asked::Present,
            85..88 if bench.has(Capability::Scan) => {
                let to = (rng.below(4) > 0).then(|| contract::key(rng, 60));
                let wrong = u32::from(rng.below(20) == 0);
                Asked::Range(known.in_range(&key, to.as_deref()) + wrong, to)
            }
            85..93 => match rng.below(20) {
                0 => Asked::Version(Some(PairVersion::NEVER)),
                _ => Asked::Version(bench.version(&key).expect("it can be told")),
            },
            _ => Asked::Value(there.filter(|_| rng.below(20) > 0).unwrap_or_default()),
        };
        let writes = ask.lent().is_write();
        if !writes || written.insert(key.clone()) {
            parts.push((key, ask));
        }
    }
    parts
}

/// Whether a condition on a version has failed because the pair was moved while the transaction waited for room: the version that was
/// asked for is not the pair's any more. Versions of `hash_store` alone are places.
fn has_moved(bench: &mut Bench, parts: &[(Vec<u8>, Asked)], why: &NotDone) -> bool {
    let NotDone::Condition(place) = why else { return false };
    let (key, Asked::Version(wanted)) = &parts[*place as usize] else { return false };
    let is_place = bench.kind() == EngineKind::HASH_STORE;
    is_place && wanted.is_some() && bench.version(key).is_ok_and(|now| now.is_some() && now != *wanted)
}

fn step(bench: &mut Bench, known: &mut Known, rng: &mut Rng, most: u64) {
    let parts = random_parts(bench, known, rng, most);
    let refusal = known.refusal(&parts, bench);
    let lent: Vec<_> = parts.iter().map(|(key, ask)| part(key, ask.lent())).collect();
    let outcome = bench.transact(&lent);
    if let Some(refusal) = refusal {
        return assert_eq!(outcome, Err(refusal), "{parts:?}");
    }
    let writes = lent.iter().filter(|part| part.ask.is_write()).count();
    if outcome == Err(NotDone::TooLong) && writes > 6 && !bench.has(Capability::Groups) {
        // Each takes a grain, and all of them together at most what a record may.
        return;
    }
    if outcome.as_ref().is_err_and(|why| has_moved(bench, &parts, why)) {
        return;
    }
    let found = outcome.unwrap_or_else(|e| panic!("{e:?} of {parts:?}"));
    assert_eq!(found.len(), parts.len());
    for ((key, ask), found) in parts.iter().zip(&found) {
        if !matches!(ask, Asked::Store(_)) {
            known.saw_beside(key, ask, found.version);
        }
        if matches!(ask, Asked::Retrieve) {
            assert_eq!(found.value.as_ref(), known.model.get(key), "as it was before the transaction");
        }
    }
    for (key, ask) in &parts {
        match ask {
            Asked::Store(value) => known.apply(key, Some(value)),
            Asked::Delete => known.apply(key, None),
            _ => {}
        }
    }
}

/// Transactions, single operations and power cycles in any order.
fn history(subject: Subject, seed: u64, ring_lasts: bool, faults: FaultPlan) {
    let mut rng = Seed(seed).rng();
    let mut bench = Setup::small(subject, ring_lasts).start(faults);
    if !bench.has(Capability::Transactions) {
        return;
    }
    let mut known = Known::default();
    for n in 0..4000 {
        match rng.below(100) {
            0..85 => step(&mut bench, &mut known, &mut rng, if n % 10 == 0 { 30 } else { 8 }),
            85..97 => {
                let (k, value) = (key(&mut rng, 60), vec![n as u8; rng.below(200) as usize]);
                assert_eq!(bench.put(&k, &value, Condition::Always), Ok(()));
                known.apply(&k, Some(&value));
            }
            _ => {
                power_cycle(&mut bench, &mut rng);
                // Versions are told apart by their life from here on.
                known.versions.clear();
                check(&mut bench, &known.model);
            }
        }
    }
    check(&mut bench, &known.model);
    has_collected(&bench);
}

/// Transactions on a device with a capacitor.
pub fn transactions_with_a_capacitor(subject: Subject) {
    for seed in saker_testing::seeds(scale(2)) {
        history(subject, 300 + seed, true, FaultPlan::default());
    }
}

/// Transactions on a device that loses its page buffer with power.
pub fn transactions_without_a_capacitor(subject: Subject) {
    for seed in saker_testing::seeds(scale(2)) {
        history(subject, 310 + seed, false, FaultPlan::default());
    }
}

/// Transactions on flash of which one program in sixty fails.
pub fn transactions_with_failing_programs(subject: Subject) {
    for seed in saker_testing::seeds(scale(2)) {
        let seed = 320 + seed;
        history(subject, seed, true, FaultPlan { seed, program: Chance::one_in(60), ..FaultPlan::default() });
    }
}

/// How a wrong count is refused.
fn in_order(bench: &Bench) -> NotDone {
    if bench.has(Capability::Scan) { NotDone::Condition(1) } else { NotDone::NoOrder(1) }
}

/// Every way to refuse a transaction leaves everything as it was.
pub fn a_refused_transaction_changes_nothing(subject: Subject) {
    let mut bench = Setup::small(subject, true).start(FaultPlan::default());
    bench.put(b"a", b"1", Condition::Always).expect("room");
    let digest = bench.store.digest();
    let lacks = NotDone::Unsupported(Unsupported(Capability::Transactions));
    if !bench.has(Capability::Transactions) {
        assert_eq!(bench.transact(&[part(b"b", Ask::Store(b"2"))]), Err(lacks));
        let asked = bench.transact(&[part(b"a", Ask::Exist)]);
        assert!(matches!(asked, Err(NotDone::Member(0, KvError::Unsupported(_)))), "{asked:?}");
        return assert_eq!((bench.store.digest(), bench.get(b"b")), (digest, Err(KvError::NotFound)));
    }
    let most = bench.setup.size.segment_bytes() as u32;
    let (too_long, store) = (vec![1; bench.longest_value(most) as usize + 1], Ask::Store(b"2"));
    let big = vec![2; 2 * most as usize];
    let refused = [
        (part(b"a", Ask::Absent), NotDone::Condition(1)),
        (part(b"c", Ask::Present), NotDone::Condition(1)),
        (part(b"a", Ask::Value(b"")), NotDone::Condition(1)),
        (part(b"c", Ask::Value(b"")), NotDone::Condition(1)),
        (part(b"a", Ask::Version(None)), NotDone::Condition(1)),
        (part(b"a", Ask::Version(Some(PairVersion::NEVER))), NotDone::Condition(1)),
        (part(b"c", Ask::Version(Some(PairVersion::NEVER))), NotDone::Condition(1)),
        (part(b"c", Ask::Delete), NotDone::Member(1, KvError::NotFound)),
        (part(&[b'k'; 17], Ask::Store(b"3")), NotDone::Member(1, KvError::KeySize)),
        (part(&[b'k'; 17], Ask::Exist), NotDone::Member(1, KvError::KeySize)),
        (part(b"c", Ask::Store(&too_long)), NotDone::Member(1, KvError::ValueSize)),
        (part(b"c", Ask::Store(&big)), NotDone::TooLong),
        (part(b"b", Ask::Store(b"3")), NotDone::WrittenTwice(1)),
        (part(b"a", Ask::Range(2, None)), in_order(&bench)),
        (part(b"a", Ask::Range(1, Some(b"a"))), in_order(&bench)),
        (part(b"b", Ask::Delete), NotDone::WrittenTwice(1)),
    ];
    for (other, refusal) in refused {
        let outcome = bench.transact(&[part(b"b", store), other, part(b"d", store)]);
        let is_right = outcome == Err(refusal)
            || refusal == NotDone::Member(1, KvError::ValueSize) && outcome == Err(NotDone::TooLong);
        assert!(is_right, "{outcome:?}, not {refusal:?}");
        assert_eq!(bench.store.digest(), digest, "{refusal:?}");
        // Of stores alone, which land otherwise.
        if other.ask.is_write() && refusal != NotDone::Member(1, KvError::NotFound) {
            assert_eq!(bench.transact(&[part(b"b", store), other]), outcome);
        }
    }
    assert_eq!((bench.store.digest(), bench.get(b"b")), (digest, Err(KvError::NotFound)));
    let first = [part(b"c", Ask::Present), part(b"a", Ask::Absent), part(b"e", Ask::Delete)];
    assert_eq!(bench.transact(&first), Err(NotDone::Condition(0)), "the first of them tells");
    let before = [part(b"c", store), part(b"a", Ask::Absent), part(b"c", store)];
    assert_eq!(
        bench.transact(&before),
        Err(NotDone::Condition(1)),
        "also before a key that is written twice"
    );
    let behind = [part(b"c", store), part(b"c", store), part(b"a", Ask::Absent)];
    assert_eq!(bench.transact(&behind), Err(NotDone::WrittenTwice(1)), "and not one behind it");
}

/// A key may be read and asked for beside its write: all see what was before.
pub fn conditions_and_reads_see_what_was_before(subject: Subject) {
    let mut bench = Setup::small(subject, true).start(FaultPlan::default());
    if !bench.has(Capability::Transactions) {
        return;
    }
    let new = [part(b"a", Ask::Store(b"1")), part(b"a", Ask::Absent), part(b"a", Ask::Retrieve)];
    assert_eq!(bench.transact(&new), Ok(vec![Found::default(); 3]));
    let version = bench.version(b"a").expect("it is there");
    let parts = [
        part(b"a", Ask::Version(version)),
        part(b"a", Ask::Store(b"2")),
        part(b"a", Ask::Value(b"1")),
        part(b"a", Ask::Retrieve),
    ];
    let found = bench.transact(&parts).expect("nobody has changed it");
    assert_eq!(found[3], Found { version, value: Some(b"1".to_vec()), count: 0 });
    assert_eq!((bench.transact(&parts), bench.get(b"a")), (Err(NotDone::Condition(0)), Ok(b"2".to_vec())));
    let gone = [part(b"a", Ask::Delete), part(b"a", Ask::Value(b"2"))];
    assert!(bench.transact(&gone).is_ok());
    assert_eq!((bench.get(b"a"), bench.version(b"a")), (Err(KvError::NotFound), Ok(None)));
}

/// No two writes of a key have one version, also after its place in the log was erased and written again.
pub fn versions_never_come_again(subject: Subject) {
    let mut bench = Setup::small(subject, true).start(FaultPlan::default());
    if !bench.has(Capability::Transactions) {
        return;
    }
    let mut seen = std::collections::BTreeSet::new();
    for n in 0..4000_u32 {
        assert_eq!(bench.put(b"key", &[n as u8; 100], Condition::Always), Ok(()));
        let version = bench.version(b"key").expect("it can be told").expect("it is there");
        assert!(seen.insert(version), "write {n}: {version:?} was that of an earlier write");
    }
    has_collected(&bench);
}

/// A transaction behind a trait object is the same.
pub fn transactions_behind_a_trait_object_are_the_same(subject: Subject) {
    let mut bench = Setup::small(subject, true).start(FaultPlan::default()).outside();
    let mut known = Known::default();
    let mut rng = Seed(78).rng();
    if !bench.has(Capability::Transactions) {
        let unsupported = KvError::Unsupported(Unsupported(Capability::Transactions));
        let mut view = bench.flash.view(OWNER, Class::Foreground);
        let asked = bench.store.version(b"a", &mut Context::new(&mut view, &mut Free));
        return assert!(matches!(asked, Step::Done(Err(e)) if e == unsupported), "{asked:?}");
    }
    (0..200).for_each(|_| step(&mut bench, &mut known, &mut rng, 8));
    check(&mut bench, &known.model);
}
