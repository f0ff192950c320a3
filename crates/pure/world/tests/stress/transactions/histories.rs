// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Histories of eight clients whose transactions are in flight together, with failing programs and cuts: they are strictly serializable.
//! A client that breaks the rules is found out, so the judge works on histories of this kind.

use super::{Entry, RETRIEVE, STORE, VERSIONS, marked, pack, told};
use crate::stress::groups::{Ended, small_with};
use crate::stress::rig::{Machine, Rig, power_on};
use crate::stress::tier;
use saker_assembly::Build;
use saker_engine::EngineKind;
use saker_flash::{FaultPlan, PowerCut};
use saker_host::{Driver, Ticket};
use saker_isolation::{Attempt, Plans, Recorder, Step, parsed, written};
use saker_nvme::Status;
use saker_nvme::group::{Ask, PairVersion};
use saker_segment_store::PowerHistory;
use saker_sim::{Chance, Rng, Seed};
use saker_world::Clocked;
use std::collections::BTreeMap;

type Timed = Rig<Clocked>;

const CLIENTS: usize = 8;
const COMMITTED: u64 = 150;

/// Every third key is too long for the engine.
fn key(list: u64) -> Vec<u8> {
    let mut key = format!("list {list:04}").into_bytes();
    key.resize(if list % 3 == 1 { 40 } else { 9 }, b'.');
    if list % 3 == 2 { marked(list) } else { key }
}

/// How a client breaks the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cheats {
    Never,
    /// It does not say what it has read.
    ReadsUnsaid,
    /// It says what it has read of those lists only that it writes.
    ReadsOfOthersUnsaid,
    /// It sends a commit in two halves.
    Halves,
}

/// What a client waits for.
enum Doing {
    Read(Ticket, u64),
    /// All lists of a plan that only reads, in one transaction.
    Look(Ticket, Vec<u64>),
    Commit(Ticket),
    /// The first half of a commit, and the other.
    Half(Ticket, Vec<Entry>),
}

impl Doing {
    const fn ticket(&self) -> Ticket {
        match self {
            Self::Read(ticket, _) | Self::Look(ticket, _) | Self::Commit(ticket) | Self::Half(ticket, _) => {
                *ticket
            }
        }
    }
}

struct Client {
    attempt: Attempt,
    versions: BTreeMap<u64, PairVersion>,
    doing: Option<Doing>,
}

struct Campaign {
    build: Build,
    rig: Timed,
    rng: Rng,
    plans: Plans,
    recorder: Recorder,
    clients: Vec<Option<Client>>,
    cheats: Cheats,
    conflicts: u64,
    cuts: u64,
}

fn send(rig: &mut Timed, entries: &[Entry]) -> Ticket {
    let (form, payload) = pack(entries);
    rig.kv.group_both_ways_in_mode(form, VERSIONS, &payload, 8 << 10).expect("the queue is not full")
}

impl Campaign {
    fn new(engine: EngineKind, capacitor: bool, cheats: Cheats, seed: u64) -> Self {
        let mut build = small_with(engine, capacitor, seed);
        build.faults = FaultPlan { seed, program: Chance::one_in(60), ..FaultPlan::default() };
        Self {
            rig: Timed::new(&build),
            build,
            rng: Seed(seed).child("steps").rng(),
            plans: Plans::new(Seed(seed).child("plans").rng()),
            recorder: Recorder::new(CLIENTS),
            clients: (0..CLIENTS).map(|_| None).collect(),
            cheats,
            conflicts: 0,
            cuts: 0,
        }
    }

    /// A client goes on with its transaction, or begins one.
    fn go_on(&mut self, n: usize) {
        let Some(client) = &mut self.clients[n] else {
            let plan = self.plans.next_plan();
            self.recorder.invoke(n, &plan);
            let attempt = Attempt::new(plan);
            self.clients[n] = Some(Client { attempt, versions: BTreeMap::new(), doing: None });
            return;
        };
        if client.doing.is_some() {
            return;
        }
        if let Some(list) = client.attempt.advance() {
            let lists = client.looks_at(list, &mut self.rng);
            let entries: Vec<Entry> = lists.iter().map(|list| (RETRIEVE, key(*list), vec![])).collect();
            let ticket = send(&mut self.rig, &entries);
            let doing = if lists.len() == 1 { Doing::Read(ticket, list) } else { Doing::Look(ticket, lists) };
            client.doing = Some(doing);
            return;
        }
        let mut entries = client.commit(self.cheats);
        if self.cheats == Cheats::Halves && entries.len() > 1 {
            let rest = entries.split_off(entries.len() / 2);
            client.doing = Some(Doing::Half(send(&mut self.rig, &entries), rest));
        } else if entries.len() > 1 || client.attempt.writes().next().is_some() {
            client.doing = Some(Doing::Commit(send(&mut self.rig, &entries)));
        } else {
            // One read is as good as a transaction.
            self.end(n, Ok(()));
        }
    }

    /// A client's transaction ends.
    fn end(&mut self, n: usize, outcome: Result<(), Status>) {
        let client = self.clients[n].take().expect("it has a transaction");
        match outcome {
            Ok(()) => self.recorder.commit(n, &client.attempt),
            Err(status) => {
                assert!(status.is(Status::PRECONDITION_FAILED), "{status}");
                self.conflicts += 1;
                self.recorder.refuse(n, client.attempt.plan());
            }
        }
    }

    fn poll(&mut self) {
        while let Some(polled) =
            self.rig.kv.poll(|d| (d.ticket, (d.status, d.result, d.result_high, d.into_vec())))
        {
            let (ticket, ended) = polled.expect("an answer to a command");
            let waits = |client: &Option<Client>| {
                client
                    .as_ref()
                    .and_then(|client| client.doing.as_ref())
                    .is_some_and(|doing| doing.ticket() == ticket)
            };
            let n = self.clients.iter().position(waits).expect("in flight");
            self.answered(n, ended);
        }
    }

    fn answered(&mut self, n: usize, ended: Ended) {
        let client = self.clients[n].as_mut().expect("it waits");
        match client.doing.take().expect("it waits") {
            Doing::Read(_, list) => client.has_read(&[list], ended),
            Doing::Look(_, lists) => {
                client.has_read(&lists, ended);
                assert_eq!(client.attempt.advance(), None, "it only reads");
                self.end(n, Ok(()));
            }
            Doing::Commit(_) => self.end(n, told(ended).map(drop).map_err(|(status, _)| status)),
            Doing::Half(_, rest) => match told(ended) {
                Ok(_) => client.doing = Some(Doing::Commit(send(&mut self.rig, &rest))),
                Err((status, _)) => self.end(n, Err(status)),
            },
        }
    }

    /// Power goes, or the process is killed, and comes back: nobody knows how what is in flight ended.
    fn cut(&mut self, capacitor: bool) {
        self.cuts += 1;
        let seed = self.rng.next_u64();
        let is_cut = capacitor && self.rng.below(2) == 0;
        let (mut media, ring) = self.rig.machine.0.flash().cut(PowerCut { seed, ring_kept: true });
        media.set_history(if is_cut { PowerHistory::Cut { ring_kept: true } } else { PowerHistory::Killed });
        self.rig = power_on(&self.build, media, &ring, |_| {});
        for n in 0..CLIENTS {
            if let Some(client) = self.clients[n].take() {
                self.recorder.lose(n, client.attempt.plan());
            }
        }
    }

    fn run(mut self, capacitor: bool) -> (Vec<String>, u64, u64) {
        while self.recorder.committed() < COMMITTED {
            let n = self.rng.below(CLIENTS as u64) as usize;
            self.go_on(n);
            if self.rng.below(3) == 0 {
                self.rig.kv.ring();
            }
            self.rig.machine.drive();
            self.poll();
            match self.rng.below(600) {
                0 => self.cut(capacitor),
                1 => self.rig.machine.rest(),
                _ => {}
            }
        }
        (self.recorder.anomalies(), self.cuts, self.conflicts)
    }
}

impl Client {
    /// The lists that it asks for: the one it needs, or now and then all that its plan reads, if it only reads.
    fn looks_at(&self, list: u64, rng: &mut Rng) -> Vec<u64> {
        let steps = &self.attempt.plan().0;
        let reads = steps.iter().map(|step| match step {
            Step::Read(list) => Some(*list),
            Step::Append(..) => None,
        });
        match reads.collect::<Option<Vec<u64>>>() {
            Some(mut all) if self.versions.is_empty() && rng.below(2) == 0 => {
                all.sort_unstable();
                all.dedup();
                all
            }
            _ => vec![list],
        }
    }

    fn has_read(&mut self, lists: &[u64], ended: Ended) {
        let answers = told(ended).expect("reads are never refused");
        for (list, (_, version, value)) in lists.iter().zip(answers) {
            self.versions.insert(*list, version);
            self.attempt.give(*list, parsed(&value));
        }
    }

    fn commit(&self, cheats: Cheats) -> Vec<Entry> {
        let is_said = |list: &u64| match cheats {
            Cheats::ReadsUnsaid => false,
            Cheats::ReadsOfOthersUnsaid => self.attempt.writes().any(|(written, _)| written == *list),
            Cheats::Never | Cheats::Halves => true,
        };
        let reads = self.versions.iter().filter(|(list, _)| is_said(list));
        let reads = reads.map(|(list, version)| (Ask::Version, key(*list), version.0.to_vec()));
        reads.chain(self.attempt.writes().map(|(list, value)| (STORE, key(list), written(value)))).collect()
    }
}

/// How many histories, commits without an answer, and cuts there were.
fn campaign(engine: EngineKind, capacitor: bool, histories: u64) {
    let (mut cuts, mut conflicts) = (0, 0);
    for seed in saker_testing::seeds(histories) {
        let (found, cut, refused) = Campaign::new(engine, capacitor, Cheats::Never, seed).run(capacitor);
        assert_eq!(found, Vec::<String>::new(), "{engine:?}, seed {seed}");
        cuts += cut;
        conflicts += refused;
    }
    println!("{engine:?}: {histories} histories, {cuts} cuts, {conflicts} conflicts");
    assert!(conflicts > 0, "{engine:?}: nobody met");
}

#[test]
fn histories_with_a_capacitor() {
    for engine in super::ENGINES {
        campaign(*engine, true, tier(4, 1500));
    }
}

#[test]
fn histories_without_a_capacitor_when_killed() {
    for engine in super::ENGINES {
        campaign(*engine, false, tier(2, 700));
    }
}

#[test]
fn clients_that_cheat_are_found_out() {
    for cheats in [Cheats::ReadsUnsaid, Cheats::ReadsOfOthersUnsaid, Cheats::Halves] {
        for engine in super::ENGINES {
            let (found, ..) = Campaign::new(*engine, true, cheats, 5).run(true);
            assert!(!found.is_empty(), "{engine:?}, {cheats:?}");
        }
    }
}
