//! Groups against the same model, alone and among single operations.

pub mod layout;

use super::*;
use layout::{Answered, Entry, Payload, Refusal, Told};
use saker_engine::GroupOp::{self, Delete, Exist, Retrieve, Store};
use saker_engine::Singly;
use saker_engine::{Context, GroupError, Groups};
use saker_engine::{GROUP_BYTES_MAX, KeyCost};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;
type Outcome = Result<Vec<Told>, GroupError<Refusal>>;

impl Bench {
    /// As a driver does: by the engine's own groups, or one by one.
    pub fn group(&mut self, payload: &Payload) -> Outcome {
        if self.store.group_bytes_max() == 0 { self.group_singly(payload) } else { self.group_whole(payload) }
    }

    fn group_singly(&mut self, payload: &Payload) -> Outcome {
        if payload.unreadable {
            return Err(GroupError::Transfer);
        }
        let mut group = Singly::new(payload, &payload.bytes, &mut Free)?;
        let mut answers = Answered::default();
        self.run_in_parts(|s, f| {
            group.step(&payload.bytes, &mut answers, |member, found| {
                let view = &mut f.view(OWNER, Class::Foreground);
                blocked_changes_nothing(s, |s| member.execute(found, s, &mut Context::new(view, &mut Free)))
            })
        });
        Ok(answers.0)
    }

    fn group_whole(&mut self, payload: &Payload) -> Outcome {
        self.run(|s, f| {
            let (mut source, mut answers) = (payload.clone(), Answered::default());
            let view = &mut f.view(OWNER, Class::Foreground);
            s.group(&mut source, &mut answers, &mut Context::new(view, &mut Free))
                .map(|r| r.map(|()| answers.0))
        })
    }
}

/// What each entry must answer, and what becomes of the model.
fn expected(model: &mut Model, entries: &[Entry]) -> Vec<Told> {
    let missing = || Told::Done(Err(KvError::NotFound));
    let old = model.clone();
    let one = |e: &Entry| match e.op {
        Store => {
            model.insert(e.key.clone(), e.value.clone());
            Told::Done(Ok(()))
        }
        Delete => model.remove(&e.key).map_or_else(missing, |_| Told::Done(Ok(()))),
        Retrieve => old.get(&e.key).map_or_else(missing, |v| Told::Value(v.clone())),
        Exist => old.get(&e.key).map_or_else(missing, |_| Told::Done(Ok(()))),
    };
    entries.iter().map(one).collect()
}

fn random_entries(rng: &mut Rng, ops: &[GroupOp], most: u64) -> Vec<Entry> {
    let mut keys = std::collections::BTreeSet::new();
    let mut entries = Vec::new();
    for _ in 0..rng.below(most) + 1 {
        let op = ops[rng.below(ops.len() as u64) as usize];
        let key = key(rng, 60);
        if !keys.insert(key.clone()) {
            continue;
        }
        let mut value = vec![0; if op == Store { rng.below(120) as usize } else { 0 }];
        rng.fill(&mut value);
        entries.push(Entry { op, key, value });
    }
    entries
}

/// Carries the entries out one by one.
fn singly(bench: &mut Bench, entries: &[Entry]) -> Vec<Told> {
    let old: Vec<_> = entries.iter().map(|e| bench.get(&e.key)).collect();
    let one = |(e, old): (&Entry, Result<Vec<u8>, KvError>)| match e.op {
        Store => Told::Done(bench.put(&e.key, &e.value, Condition::Always)),
        Delete => Told::Done(bench.delete(&e.key)),
        Retrieve => old.map_or_else(|e| Told::Done(Err(e)), Told::Value),
        Exist => Told::Done(old.map(|_| ())),
    };
    entries.iter().zip(old).map(one).collect()
}

fn power_cycle(bench: &mut Bench, rng: &mut Rng, ring_lasts: bool) {
    let history = match rng.below(3) {
        0 => PowerHistory::Killed,
        _ if ring_lasts => PowerHistory::Cut { ring_kept: true },
        _ => {
            bench.flush();
            PowerHistory::Cut { ring_kept: false }
        }
    };
    bench.restart(history, rng.next_u64());
}

/// Out of a hundred groups, how many are carried out as such and not by commands of their own, and how many of those by
/// single operations though the engine has groups.
#[derive(Clone, Copy)]
struct Share {
    grouped: u64,
    singly: u64,
}

fn group_history(kind: EngineKind, seed: u64, ring_lasts: bool, faults: FaultPlan, share: Share) -> Model {
    let mut rng = Seed(seed).rng();
    let mut bench = Bench::new(kind, ring_lasts, faults);
    let (mut model, mut groups) = (Model::new(), Seed(seed).child("how").rng());
    for step in 0..1500 {
        let forms: [&[GroupOp]; 5] =
            [&[Store], &[Store], &[Delete], &[Retrieve], &[Store, Delete, Retrieve, Exist]];
        let ops = forms[rng.below(5) as usize];
        let entries = random_entries(&mut rng, ops, if step % 10 == 0 { 30 } else { 8 });
        let expected = expected(&mut model, &entries);
        let payload = Payload::new(&entries, ops.len() > 1);
        let told = if groups.below(100) < share.grouped {
            let singly = groups.below(100) < share.singly;
            let told = if singly { bench.group_singly(&payload) } else { bench.group(&payload) };
            told.expect("a good group")
        } else {
            singly(&mut bench, &entries)
        };
        assert_eq!(told, expected, "step {step}");
        if rng.below(40) == 0 {
            power_cycle(&mut bench, &mut rng, ring_lasts);
            check(&mut bench, &model);
        }
    }
    check(&mut bench, &model);
    let erased: u32 =
        (0..shape(kind).geometry.segments).map(|n| bench.flash.media().epoch(SegmentId(n))).sum();
    assert!(erased > 10, "the history must have collected segments: {erased}");
    model
}

#[test]
fn grouped_mixed_and_single_execution_leave_the_same_pairs() {
    each_engine(|kind| {
        for seed in saker_testing::seeds(scale(2)) {
            let [all, singly, some, none] =
                [(100, 0), (100, 100), (50, 50), (0, 0)].map(|(grouped, singly)| {
                    group_history(kind, seed, true, FaultPlan::default(), Share { grouped, singly })
                });
            assert!(all == singly && singly == some && some == none);
        }
    });
}

const MOST: Share = Share { grouped: 75, singly: 20 };

#[test]
fn groups_without_a_capacitor() {
    each_engine(|kind| {
        (10..10 + scale(2)).for_each(|seed| {
            group_history(kind, seed, false, FaultPlan::default(), MOST);
        });
    });
}

#[test]
fn groups_with_failing_programs() {
    each_engine(|kind| {
        for seed in 20..20 + scale(2) {
            let plan = FaultPlan { seed, program: Chance::one_in(60), ..FaultPlan::default() };
            group_history(kind, seed, true, plan, MOST);
        }
    });
}

fn entry(op: GroupOp, key: &[u8], value: &[u8]) -> Entry {
    Entry { op, key: key.to_vec(), value: value.to_vec() }
}

#[test]
fn a_refused_group_changes_nothing() {
    each_engine(refused_groups);
}

fn refused_groups(kind: EngineKind) {
    let mut bench = Bench::new(kind, true, FaultPlan::default());
    bench.put(b"a", b"1", Condition::Always).expect("room");
    let digest = bench.store.digest();
    let twice = [entry(Store, b"b", b"2"), entry(Delete, b"a", b""), entry(Store, b"b", b"3")];
    // Count, type, length, key, length, value: 24 bytes; type, length, key: 12.
    assert_eq!(bench.group(&Payload::new(&twice, true)), Err(GroupError::Duplicate(4 + 20 + 12 + 4)));
    let read_and_written = [entry(Retrieve, b"a", b""), entry(Delete, b"a", b"")];
    let refused = bench.group(&Payload::new(&read_and_written, true));
    assert_eq!(refused, Err(GroupError::Duplicate(4 + 12 + 4)));
    let only_writes = [entry(Store, b"b", b"2"), entry(Store, b"b", b"3")];
    let refused = bench.group(&Payload::new(&only_writes, false));
    assert_eq!(refused, Err(GroupError::Duplicate(4 + 16)));
    let mut broken = Payload::new(&only_writes[..1], false);
    broken.bytes.truncate(18);
    assert_eq!(bench.group(&broken), Err(GroupError::Malformed(Refusal)));
    let mut lost = Payload::new(&only_writes[..1], false);
    lost.unreadable = true;
    assert_eq!(bench.group(&lost), Err(GroupError::Transfer));
    let long = [entry(Store, b"b", &vec![0; GROUP_BYTES_MAX as usize])];
    assert_eq!(bench.group(&Payload::new(&long, false)), Err(GroupError::TooLong));
    assert_eq!((bench.store.digest(), bench.get(b"b")), (digest, Err(KvError::NotFound)));
    // Keys that are only read may be read twice.
    let reads = [entry(Retrieve, b"a", b""), entry(Retrieve, b"a", b"")];
    let told = bench.group(&Payload::new(&reads, false)).expect("reads");
    assert_eq!(told, vec![Told::Value(b"1".to_vec()); 2]);
}

#[test]
fn members_fail_alone() {
    each_engine(failing_members);
}

fn failing_members(kind: EngineKind) {
    let mut bench = Bench::new(kind, true, FaultPlan::default());
    bench.config.value_bytes_max = 100;
    bench.restart(PowerHistory::Killed, 1);
    let long_key = [b'k'; 17];
    let entries = [
        entry(Store, b"good", b"1"),
        entry(Store, &long_key, b"2"),
        entry(Store, b"also good", b"3"),
        entry(Delete, b"never was", b""),
        entry(Exist, &long_key, b""),
    ];
    let told = bench.group(&Payload::new(&entries[..3], true)).expect("a good group");
    let expected = [Ok(()), Err(KvError::KeySize), Ok(())].map(Told::Done);
    assert_eq!(told, expected);
    let told = bench.group(&Payload::new(&entries[3..], true)).expect("a good group");
    assert_eq!(told, [Err(KvError::NotFound), Err(KvError::KeySize)].map(Told::Done));
    bench.restart(PowerHistory::Killed, 2);
    assert_eq!((bench.get(b"good"), bench.get(b"also good")), (Ok(b"1".to_vec()), Ok(b"3".to_vec())));
    assert_eq!(bench.keys().len(), 2);
}

/// What does not fit is refused by itself where groups are carried out one by one, and nothing else is.
#[test]
fn a_store_without_groups_of_its_own_is_filled_pair_by_pair() {
    each_engine(|kind| {
        let mut bench = Bench::new(kind, true, FaultPlan::default());
        let of = |n: u32| -> Vec<Entry> {
            (0..16).map(|i| entry(Store, format!("{:07}", n * 16 + i).as_bytes(), &[7; 100])).collect()
        };
        let mut stored = 0;
        for n in 0.. {
            let told = bench.group_singly(&Payload::new(&of(n), false)).expect("a good group");
            let good = told.iter().filter(|t| **t == Told::Done(Ok(()))).count();
            stored += good;
            if good < told.len() {
                assert!(told.contains(&Told::Done(Err(KvError::CapacityExceeded))), "{told:?}");
                break;
            }
        }
        assert!(stored > 200, "{stored}");
        assert_eq!(bench.keys().len(), stored);
        assert_eq!(bench.get(b"0000000"), Ok(vec![7; 100]));
    });
}

/// The engines whose groups are records.
const WHOLE: [EngineKind; 3] = [EngineKind::HASH_STORE, EngineKind::LSM, EngineKind::TREE];

#[test]
fn engines_with_a_log_have_whole_groups() {
    each_engine(|kind| {
        let bench = Bench::new(kind, true, FaultPlan::default());
        assert_eq!(bench.store.group_bytes_max() > 0, WHOLE.contains(&kind), "{}", kind.name());
    });
}

#[test]
fn a_store_filled_by_groups() {
    WHOLE.into_iter().for_each(filled_by_groups);
}

/// Whatever fills the store, a group is refused as a whole, and what was there can be replaced and deleted by groups.
fn filled_by_groups(kind: EngineKind) {
    // Others than the hash store find out what was replaced later, so what they count is at most so much.
    let counts = kind == EngineKind::HASH_STORE;
    let mut bench = Bench::new(kind, true, FaultPlan::default());
    let of = |n: u32, fill: u8| -> Vec<Entry> {
        (0..16).map(|i| entry(Store, format!("{:07}", n * 16 + i).as_bytes(), &[fill; 20])).collect()
    };
    let mut groups = 0;
    while bench.group(&Payload::new(&of(groups, 1), false)) != Err(GroupError::CapacityExceeded) {
        groups += 1;
    }
    assert!(!counts || bench.store.stats().pairs == u64::from(groups) * 16);
    assert_eq!(bench.keys().len(), groups as usize * 16);
    assert!(groups > 40, "most of what the segments that are not kept back hold: {groups}");
    for round in 2..5 {
        for n in 0..groups {
            let told = bench.group(&Payload::new(&of(n, round), false));
            assert_eq!(told, Ok(vec![Told::Done(Ok(())); 16]), "round {round}, group {n} of {groups}");
        }
    }
    bench.restart(PowerHistory::Killed, 3);
    assert_eq!(bench.get(b"0000000"), Ok(vec![4; 20]));
    for n in 0..groups {
        let keys: Vec<_> = of(n, 0).into_iter().map(|e| entry(Delete, &e.key, b"")).collect();
        assert_eq!(bench.group(&Payload::of(&keys)), Ok(vec![Told::Done(Ok(())); 16]));
    }
    let stats = bench.store.stats();
    assert!(!counts || (stats.pairs, stats.pair_bytes) == (0, 0));
    assert_eq!(bench.keys().len(), 0);
}

/// A long record lets segments end earlier. One that was refused must not count: a full store would be more than full,
/// and could not even collect. A group of deletes is taken, however long.
#[test]
fn a_long_group_that_is_refused_leaves_the_capacity_alone() {
    for (op, bytes) in [(Store, 3000), (Store, 700), (Delete, 0), (Store, 0)] {
        let mut bench = Bench::new(EngineKind::HASH_STORE, true, FaultPlan::default());
        let name = |n: u32| format!("{n:07}").into_bytes();
        let mut pairs = 0;
        while bench.put(&name(pairs), &[1; 20], Condition::Always).is_ok() {
            pairs += 1;
        }
        let capacity = |b: &mut Bench| b.store.capacity_bytes(&b.flash.view(OWNER, Class::Foreground));
        let before = capacity(&mut bench);
        // One long value, or many pairs that are there.
        let many = (0..200).map(|n| entry(op, &name(n), if op == Store { &[1; 20] } else { b"" })).collect();
        let long = if bytes > 0 { vec![entry(Store, b"new", &vec![9; bytes])] } else { many };
        let mut broken = Payload::new(&long, false);
        broken.bytes.pop();
        for group in [broken, Payload::new(&long, false)] {
            let is_whole = group.bytes.len() == Payload::new(&long, false).bytes.len();
            let is_done = bench.group(&group).is_ok();
            assert_eq!(is_done, is_whole && op == Delete, "{op:?} of {bytes} bytes into a full store");
            assert!(is_done || capacity(&mut bench) == before, "{op:?} of {bytes} bytes");
        }
        for round in 2..6 {
            for n in 0..pairs {
                assert_eq!(
                    bench.put(&name(n), &[round; 20], Condition::Always),
                    Ok(()),
                    "round {round}, {n}"
                );
            }
        }
        (0..pairs).for_each(|n| assert_eq!(bench.delete(&name(n)), Ok(()), "{n} of {pairs}"));
    }
}

#[test]
fn a_flipped_bit_is_never_a_value() {
    WHOLE.into_iter().for_each(flipped_bit);
}

fn flipped_bit(kind: EngineKind) {
    let mut bench = Bench::new(kind, true, FaultPlan::default());
    let entries = [entry(Store, b"one", &[7; 40]), entry(Store, b"two", &[8; 31])];
    bench.group(&Payload::new(&entries, false)).expect("room");
    let (media, ring) = bench.flash.cut(PowerCut { seed: 1, ring_kept: true });
    let memory = ring.memory().to_vec();
    let start = memory.windows(31).position(|w| w == [8; 31]).expect("it is in the ring");
    let mut refused = 0;
    for at in start - 12..start + 32 {
        let mut bytes = memory.clone();
        bytes[at] ^= 4;
        let ring = Ring::new(saker_medium::RingMemory::from_bytes(&bytes), 24, 512, 64);
        let mut flash = Flash::power_on(media.clone(), ring, None, FaultPlan::default());
        flash.pool_mut().set_quota(OWNER, shape(kind).geometry.segments);
        // Damage under a running store: the index knows the pair already.
        std::mem::swap(&mut bench.flash, &mut flash);
        refused += u32::from(bench.get(b"two") == Err(KvError::Corrupt));
        std::mem::swap(&mut bench.flash, &mut flash);
    }
    // All but the zeros behind the value count; those are part of the member, too.
    assert_eq!(refused, 44);
    assert_eq!(bench.get(b"two"), Ok(vec![8; 31]));
}

#[test]
fn keys_cost_as_the_profile_says() {
    use saker_sim::{CpuMeter, CpuPrices, Unit};
    let mut picos = [0; Unit::COUNT];
    (picos[Unit::Probe as usize], picos[Unit::Move as usize]) = (100_000, 1000);
    let entries: Vec<_> = (0..10).map(|n| entry(Store, &[n, 1], b"v")).collect();
    for (cost, nanos) in [(KeyCost::PerPair, 2000), (KeyCost::Batched, 210)] {
        let mut bench = Bench::new(EngineKind::HASH_STORE, true, FaultPlan::default());
        bench.config.group_keys = cost;
        bench.restart(PowerHistory::Killed, 1);
        let mut meter = CpuMeter::new(CpuPrices::from_picos(picos));
        let (mut source, mut answers) = (Payload::new(&entries, false), Answered::default());
        let view = &mut bench.flash.view(OWNER, Class::Foreground);
        let step = bench.store.group(&mut source, &mut answers, &mut Context::new(view, &mut meter));
        assert!(matches!(step, Step::Done(Ok(()))));
        assert_eq!(meter.take(), saker_sim::Duration::from_nanos(nanos));
    }
}
