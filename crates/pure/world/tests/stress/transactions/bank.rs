// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A bank: transfers that compete for accounts, several in flight at once, on a device that is cut at its events. The sum of all
//! accounts is the same whenever anybody looks, and what was acknowledged counts.

use super::{Entry, RETRIEVE, STORE, VERSIONS, marked, pack, told, transact};
use crate::stress::groups::{Ended, small_with};
use crate::stress::rig::{KV, Machine, Rig, power_on};
use crate::stress::tier;
use saker_assembly::Build;
use saker_engine::EngineKind;
use saker_flash::{FaultPlan, PowerCut};
use saker_host::{Driver, RawData, Ticket};
use saker_long_keys::envelope::Directory;
use saker_long_keys::is_marked;
use saker_nvme::group::{Ask, Form, Op, PairVersion, parse};
use saker_nvme::vendor_specific::{IteratorRange, NextAnswer};
use saker_nvme::{Sqe, Status};
use saker_segment_store::PowerHistory;
use saker_sim::{Chance, Rng, Seed};
use saker_world::Clocked;

type Timed = Rig<Clocked>;

const ACCOUNTS: u64 = 12;
const EACH: u64 = 1000;
/// Of what a client with nothing to do begins, one in so many looks at all accounts at once.
const LOOKS_IN: u64 = 16;

/// Every fourth key is too long for the engine.
fn account(n: u64) -> Vec<u8> {
    let mut key = format!("account {n:02}").into_bytes();
    key.resize(if n % 4 == 1 { 30 } else { 10 }, b'.');
    if n % 4 == 3 { marked(n) } else { key }
}

/// An amount in a value of a length that changes.
fn value(amount: u64) -> Vec<u8> {
    let mut value = amount.to_le_bytes().to_vec();
    value.resize(8 + (amount % 200) as usize, 7);
    value
}

fn amount(value: &[u8]) -> u64 {
    value.first_chunk().map_or(0, |amount| u64::from_le_bytes(*amount))
}

/// What a client does next.
enum Doing {
    Nothing,
    /// All accounts, in a transaction that only reads.
    Looks(Ticket),
    /// All accounts as of one moment, a few at a time, while others move money: an iterator is opened, read and closed.
    Opens(Ticket),
    Walks(Ticket, Moment),
    Closes(Ticket),
    Reads(Ticket, [u64; 2]),
    Transfers(Ticket, [u64; 2], [u64; 2]),
}

/// What was seen of a moment.
#[derive(Clone, Copy)]
struct Moment {
    iterator: u32,
    accounts: u64,
    sum: u64,
}

impl Moment {
    /// The next pairs.
    fn walk(self, rig: &mut Timed) -> Doing {
        Doing::Walks(rig.kv.iterator_next(self.iterator, (4096, 3), false, None).expect("room"), self)
    }

    /// Adds the pairs of a batch; those with long keys are in envelopes.
    fn add(&mut self, payload: &[u8]) {
        if payload.is_empty() {
            return;
        }
        let part = |r: &std::ops::Range<u32>| &payload[r.start as usize..r.end as usize];
        parse(Form::All(Op::Store), payload, |pair| {
            let (key, value) = (part(&pair.key), part(&pair.value));
            if !is_marked(key) {
                (self.accounts, self.sum) = (self.accounts + 1, self.sum + amount(value));
                return;
            }
            let Ok(Directory::Complete(entries)) = Directory::parse(value, value.len()) else {
                panic!("no envelope")
            };
            for entry in entries {
                (self.accounts, self.sum) = (self.accounts + 1, self.sum + amount(&value[entry.value]));
            }
        })
        .expect("a good payload");
    }
}

struct Bank {
    seed: u64,
    rng: Rng,
    /// Whether the engine shows moments.
    has_moments: bool,
    clients: Vec<Doing>,
    /// As acknowledged.
    amounts: Vec<u64>,
    done: u64,
    conflicts: u64,
    looks: u64,
    moments: u64,
    given_up: u64,
}

impl Bank {
    fn open(rig: &mut Timed, engine: EngineKind, clients: usize, seed: u64) -> Self {
        let entries: Vec<_> = (0..ACCOUNTS).map(|n| (STORE, account(n), value(EACH))).collect();
        transact(rig, &entries).expect("room");
        Self {
            seed,
            rng: Seed(seed).child("bank").rng(),
            has_moments: [EngineKind::LSM, EngineKind::TREE].contains(&engine),
            clients: (0..clients).map(|_| Doing::Nothing).collect(),
            amounts: vec![EACH; ACCOUNTS as usize],
            done: 0,
            conflicts: 0,
            looks: 0,
            moments: 0,
            given_up: 0,
        }
    }

    fn send(rig: &mut Timed, entries: &[Entry]) -> Ticket {
        let (form, payload) = pack(entries);
        rig.kv.group_both_ways_in_mode(form, VERSIONS, &payload, 8 << 10).expect("the queue is not full")
    }

    /// Clients with nothing to do read two accounts, or now and then all.
    fn begin(&mut self, rig: &mut Timed) {
        for n in 0..self.clients.len() {
            if matches!(self.clients[n], Doing::Nothing) && self.rng.below(LOOKS_IN) == 0 {
                self.clients[n] = if self.has_moments && self.rng.below(2) == 0 {
                    let all = IteratorRange::new(b"", b"", b"").expect("no bounds");
                    Doing::Opens(rig.kv.iterator_open(&all, false, None).expect("room"))
                } else {
                    Doing::Looks(Self::send(rig, &Self::all()))
                };
            } else if matches!(self.clients[n], Doing::Nothing) {
                let from = self.rng.below(ACCOUNTS);
                let of = [from, (from + 1 + self.rng.below(ACCOUNTS - 1)) % ACCOUNTS];
                let reads = of.map(|n| (RETRIEVE, account(n), vec![]));
                self.clients[n] = Doing::Reads(Self::send(rig, &reads), of);
            }
        }
    }

    /// A client has read: it moves some money if nothing has changed since.
    fn transfer(&mut self, rig: &mut Timed, of: [u64; 2], read: &[(Status, PairVersion, Vec<u8>)]) -> Doing {
        let now = [amount(&read[0].2), amount(&read[1].2)];
        let moved = self.rng.below(now[0].min(100) + 1);
        let then = [now[0] - moved, now[1] + moved];
        let mut entries = Vec::new();
        for n in 0..2 {
            entries.push((Ask::Version, account(of[n]), read[n].1.0.to_vec()));
            entries.push((STORE, account(of[n]), value(then[n])));
        }
        Doing::Transfers(Self::send(rig, &entries), of, then)
    }

    fn poll(&mut self, rig: &mut Timed) {
        while let Some(polled) =
            rig.kv.poll(|d| (d.ticket, (d.status, d.result, d.result_high, d.into_vec())))
        {
            let (ticket, ended) = polled.expect("an answer to a command");
            let is_it = |doing: &Doing| match doing {
                Doing::Nothing => false,
                Doing::Looks(t)
                | Doing::Reads(t, _)
                | Doing::Transfers(t, ..)
                | Doing::Opens(t)
                | Doing::Walks(t, _)
                | Doing::Closes(t) => *t == ticket,
            };
            let n = self.clients.iter().position(is_it).expect("in flight");
            self.clients[n] = match std::mem::replace(&mut self.clients[n], Doing::Nothing) {
                Doing::Looks(_) => {
                    let found = told(ended).expect("reads are never refused");
                    let sum: u64 = found.iter().map(|(.., value)| amount(value)).sum();
                    assert_eq!(sum, ACCOUNTS * EACH, "amid transfers");
                    self.looks += 1;
                    Doing::Nothing
                }
                Doing::Opens(_) => {
                    assert!(ended.0.is_success(), "{}", ended.0);
                    Moment { iterator: ended.1, accounts: 0, sum: 0 }.walk(rig)
                }
                Doing::Walks(_, moment) => self.walked(rig, moment, &ended),
                Doing::Closes(_) => Doing::Nothing,
                Doing::Reads(_, of) => {
                    let read = told(ended).expect("reads are never refused");
                    self.transfer(rig, of, &read)
                }
                Doing::Transfers(_, of, then) => {
                    match told(ended) {
                        Ok(_) => {
                            self.done += 1;
                            of.iter().zip(then).for_each(|(n, amount)| self.amounts[*n as usize] = amount);
                        }
                        Err((status, _)) => {
                            assert!(status.is(Status::PRECONDITION_FAILED), "{status}");
                            self.conflicts += 1;
                        }
                    }
                    Doing::Nothing
                }
                Doing::Nothing => Doing::Nothing,
            };
        }
    }

    /// A batch of a moment has come. One that was given up, because so much was written since, is not known any more.
    fn walked(&mut self, rig: &mut Timed, mut moment: Moment, (status, bytes, high, data): &Ended) -> Doing {
        if status.is(Status::KEY_DOES_NOT_EXIST) {
            self.given_up += 1;
            return Doing::Nothing;
        }
        assert!(status.is_success(), "{status}");
        moment.add(&data[..*bytes as usize]);
        if !NextAnswer(*high).ended() {
            return moment.walk(rig);
        }
        assert_eq!((moment.accounts, moment.sum), (ACCOUNTS, ACCOUNTS * EACH), "of one moment");
        self.moments += 1;
        Doing::Closes(rig.kv.iterator_close(moment.iterator).expect("room"))
    }

    /// Reads of all accounts.
    fn all() -> Vec<Entry> {
        (0..ACCOUNTS).map(|n| (RETRIEVE, account(n), vec![])).collect()
    }

    /// All accounts, in one transaction.
    fn look(rig: &mut Timed) -> Vec<u64> {
        transact(rig, &Self::all()).expect("a read").iter().map(|(.., value)| amount(value)).collect()
    }

    /// What a cut left that takes what no Flush has covered: transfers to some point in their order. One that is there without another that
    /// it has read from would change the sum.
    fn check_sum(rig: &mut Timed, at: u64) {
        let found = Self::look(rig);
        assert_eq!(found.iter().sum::<u64>(), ACCOUNTS * EACH, "event {at}: {found:?}");
    }

    /// What a cut left: what was acknowledged, and each transfer in flight wholly or not at all.
    fn check(&self, rig: &mut Timed, at: u64) {
        let found = Self::look(rig);
        assert_eq!(found.iter().sum::<u64>(), ACCOUNTS * EACH, "event {at}: {found:?}");
        let mut expected = self.amounts.clone();
        for doing in &self.clients {
            let Doing::Transfers(_, of, then) = doing else { continue };
            if of.iter().zip(then).all(|(n, amount)| found[*n as usize] == *amount) {
                of.iter().zip(then).for_each(|(n, amount)| expected[*n as usize] = *amount);
            }
        }
        assert_eq!(found, expected, "event {at}");
    }
}

/// How power goes.
#[derive(Clone, Copy, PartialEq)]
enum Ends {
    /// With a capacitor; every other time the process is killed.
    Kept,
    /// The process is killed, without a capacitor.
    Killed,
    /// The page buffer is lost.
    Lost,
}

/// How much is done.
#[derive(Clone, Copy)]
struct Much {
    clients: usize,
    transfers: u64,
    /// Events from cut to cut.
    cut_every: u64,
    /// Programs fail.
    faults: bool,
}

/// Few accounts, and a cut at nearly every event.
fn often() -> Much {
    Much { clients: 3, transfers: tier(700, 10_000), cut_every: tier(23, 3), faults: false }
}

fn campaign(engine: EngineKind, ends: Ends, much: Much, seed: u64) {
    let capacitor = ends == Ends::Kept;
    let mut build = small_with(engine, capacitor, seed);
    if much.faults {
        build.faults = FaultPlan { seed, program: Chance::one_in(400), ..FaultPlan::default() };
    }
    let mut rig = Timed::new(&build);
    let mut bank = Bank::open(&mut rig, engine, much.clients, seed);
    let flushed = rig.call(KV, Sqe::new(0, KV), RawData::Untouched);
    assert!(flushed.status.is_success());
    let (mut events, mut cuts) = (0_u64, 0);
    while bank.done < much.transfers {
        bank.begin(&mut rig);
        rig.kv.ring();
        rig.machine.drive();
        events += 1;
        bank.poll(&mut rig);
        if events % 400 == 0 {
            bank.rests(&mut rig);
        }
        if events.is_multiple_of(much.cut_every) {
            cuts += 1;
            bank.cut(&build, &rig, ends, cuts, events);
        }
    }
    println!(
        "{engine:?}: {} transfers, {} looks, {} moments ({} given up), {cuts} cuts, {} conflicts",
        bank.done, bank.looks, bank.moments, bank.given_up, bank.conflicts
    );
    assert!(!bank.has_moments || bank.moments > 10, "{engine:?}: {} moments", bank.moments);
    assert!(cuts > 50 && bank.conflicts > 10 && bank.looks > 10, "{engine:?}: {cuts} cuts");
    rig.machine.rest();
    assert_eq!(rig.machine.stats().namespaces[0].damage, None);
}

impl Bank {
    /// Background work has its turn when nobody asks for anything.
    fn rests(&mut self, rig: &mut Timed) {
        while self.clients.iter().any(|doing| !matches!(doing, Doing::Nothing)) {
            rig.kv.ring();
            rig.machine.drive();
            self.poll(rig);
        }
        rig.machine.rest();
    }

    /// What a cut leaves now, or a kill; the machine goes on.
    fn cut(&self, build: &Build, rig: &Timed, ends: Ends, cuts: u64, events: u64) {
        let history = match ends {
            Ends::Kept if cuts.is_multiple_of(2) => PowerHistory::Cut { ring_kept: true },
            Ends::Kept | Ends::Killed => PowerHistory::Killed,
            Ends::Lost => PowerHistory::Cut { ring_kept: false },
        };
        let cut = PowerCut { seed: Seed(self.seed).index(events).0, ring_kept: ends != Ends::Lost };
        let (mut media, ring) = rig.machine.0.flash().cut(cut);
        media.set_history(history);
        let mut left = power_on(build, media, &ring, |_| {});
        if ends == Ends::Lost {
            Self::check_sum(&mut left, events);
        } else {
            self.check(&mut left, events);
        }
    }
}

#[test]
fn with_a_capacitor() {
    for engine in super::ENGINES.iter().copied() {
        campaign(engine, Ends::Kept, often(), 1);
    }
}

#[test]
fn without_a_capacitor_when_killed() {
    for engine in super::ENGINES.iter().copied() {
        campaign(engine, Ends::Killed, often(), 2);
    }
}

#[test]
fn without_a_capacitor_when_power_is_cut() {
    for engine in super::ENGINES.iter().copied() {
        campaign(engine, Ends::Lost, often(), 3);
    }
}

/// Over all engines a million transfers of eight clients in the soak tier, while programs fail and power goes now and then.
#[test]
fn a_million_transfers() {
    for engine in super::ENGINES.iter().copied() {
        let transfers = tier(600, 1_000_000 / super::ENGINES.len() as u64 + 1);
        let much = Much { clients: 8, transfers, cut_every: tier(50, 2000), faults: true };
        campaign(engine, Ends::Kept, much, 4);
    }
}
