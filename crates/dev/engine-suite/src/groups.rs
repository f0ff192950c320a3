// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups against the same model, alone and among single operations.

use crate::bench::changes_nothing;
use crate::contract::{Model, check, has_collected, key, power_cycle};
use crate::layout::{Answered, Entry, Payload, Refusal, Told};
use crate::{Bench, OWNER, Setup, Subject, scale};
use saker_engine::GroupOp::{self, Delete, Exist, Retrieve, Store};
use saker_engine::{
    Capability, Condition, Context, Engine, GROUP_BYTES_MAX, GroupError, Groups, KvError, Singly,
};
use saker_flash::FaultPlan;
use saker_segment_store::PowerHistory;
use saker_sim::{Chance, Class, Free, Rng, Seed};

/// What became of a group.
pub type Outcome = Result<Vec<Told>, GroupError<Refusal>>;

impl Bench {
    /// As a driver does: by the engine's own groups, or one by one.
    ///
    /// # Errors
    /// The engine's.
    pub fn group(&mut self, payload: &Payload) -> Outcome {
        if self.has(Capability::Groups) { self.group_whole(payload) } else { self.group_singly(payload) }
    }

    /// One by one.
    ///
    /// # Errors
    /// As [`Bench::group`].
    pub fn group_singly(&mut self, payload: &Payload) -> Outcome {
        if payload.unreadable {
            return Err(GroupError::Transfer);
        }
        let mut group = Singly::new(payload, &payload.bytes, &mut Free)?;
        let mut answers = Answered::default();
        self.run_in_parts(|s, f| {
            group.step(&payload.bytes, &mut answers, |member, found| {
                let view = &mut f.view(OWNER, Class::Foreground);
                changes_nothing(true, s, |s| member.execute(found, s, &mut Context::new(view, &mut Free)))
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

/// Out of a hundred groups, how many are carried out as such and not by commands of their own, and how many of those by
/// single operations though the engine has groups.
#[derive(Clone, Copy)]
struct Share {
    grouped: u64,
    singly: u64,
}

fn group_history(subject: Subject, seed: u64, ring_lasts: bool, faults: FaultPlan, share: Share) -> Model {
    let mut rng = Seed(seed).rng();
    let mut bench = Setup::small(subject, ring_lasts).start(faults);
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
            power_cycle(&mut bench, &mut rng);
            check(&mut bench, &model);
        }
    }
    check(&mut bench, &model);
    has_collected(&bench);
    model
}

/// The same pairs are left whether members come in groups, one by one, or as commands of their own.
pub fn grouped_mixed_and_single_execution_leave_the_same_pairs(subject: Subject) {
    for seed in saker_testing::seeds(scale(2)) {
        let [all, singly, some, none] = [(100, 0), (100, 100), (50, 50), (0, 0)].map(|(grouped, singly)| {
            group_history(subject, seed, true, FaultPlan::default(), Share { grouped, singly })
        });
        assert!(all == singly && singly == some && some == none);
    }
}

const MOST: Share = Share { grouped: 75, singly: 20 };

/// Groups on a device that loses its page buffer with power.
pub fn groups_without_a_capacitor(subject: Subject) {
    for seed in saker_testing::seeds(scale(2)) {
        group_history(subject, 10 + seed, false, FaultPlan::default(), MOST);
    }
}

/// Groups on flash of which one program in sixty fails.
pub fn groups_with_failing_programs(subject: Subject) {
    for seed in saker_testing::seeds(scale(2)) {
        let seed = 20 + seed;
        let plan = FaultPlan { seed, program: Chance::one_in(60), ..FaultPlan::default() };
        group_history(subject, seed, true, plan, MOST);
    }
}

/// A member of a group.
pub fn entry(op: GroupOp, key: &[u8], value: &[u8]) -> Entry {
    Entry { op, key: key.to_vec(), value: value.to_vec() }
}

/// A group that is refused as a whole leaves everything as it was.
pub fn a_refused_group_changes_nothing(subject: Subject) {
    let mut bench = Setup::small(subject, true).start(FaultPlan::default());
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

/// A member that cannot be carried out does not keep the others from it.
pub fn members_fail_alone(subject: Subject) {
    let mut bench = Setup::small(subject, true).start(FaultPlan::default());
    bench.setup.config.value_bytes_max = 100;
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
    if bench.has(Capability::List) {
        assert_eq!(bench.keys().len(), 2);
    }
}

/// What does not fit is refused by itself where groups are carried out one by one, and nothing else is.
pub fn a_store_without_groups_of_its_own_is_filled_pair_by_pair(subject: Subject) {
    let mut bench = Setup::small(subject, true).start(FaultPlan::default());
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
    if bench.has(Capability::List) {
        assert_eq!(bench.keys().len(), stored);
    }
    assert_eq!(bench.get(b"0000000"), Ok(vec![7; 100]));
}

/// Whatever fills the store, a group is refused as a whole, and what was there can be replaced and deleted by groups. Of an
/// engine that has groups of its own.
pub fn a_store_filled_by_groups(subject: Subject) {
    let counts = subject.kind.counts_pairs();
    let mut bench = Setup::small(subject, true).start(FaultPlan::default());
    let has_either = bench.has(Capability::Groups) || bench.has(Capability::Transactions);
    assert_eq!(bench.store.group_bytes_max() > 0, has_either);
    if !bench.has(Capability::Groups) {
        return;
    }
    let of = |n: u32, fill: u8| -> Vec<Entry> {
        (0..16).map(|i| entry(Store, format!("{:07}", n * 16 + i).as_bytes(), &[fill; 20])).collect()
    };
    let mut groups = 0;
    while bench.group(&Payload::new(&of(groups, 1), false)) != Err(GroupError::CapacityExceeded) {
        groups += 1;
    }
    assert!(!counts || bench.store.stats().pairs == u64::from(groups) * 16);
    let lists = bench.has(Capability::List);
    assert!(!lists || bench.keys().len() == groups as usize * 16);
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
    assert!(!lists || bench.keys().is_empty());
}
