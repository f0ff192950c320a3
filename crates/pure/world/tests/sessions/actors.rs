// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Clients on threads of their own, of which one runs at a time: a seed decides which goes on whenever one waits, so that
//! the real blocking calls meet in an order that can be repeated.

use crate::sessions::checker::Act;
use crate::sessions::log::{KEYS, Log, Written};
use saker_host::session::{Hub, Pump, Session, SyncError, Wire};
use saker_host::{Driver, KeyRange, Patience};
use saker_nvme::Key;
use saker_sim::{Free, Rng, Seed};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Turns of one call after which it counts as stuck.
const TURNS_MAX: u64 = 50_000;

/// Longest value of a history in bytes: does not fit a container.
const VALUE_BYTES_MAX: u32 = 6000;

/// What a client is told.
enum Go {
    On,
    /// Power is gone: never return from this call.
    Cut,
}

/// Thrown through a client at a cut.
struct Gone;

/// A client's side of the baton.
pub struct Baton {
    go: Receiver<Go>,
    back: Sender<bool>,
}

impl Baton {
    fn wait(&self) {
        match self.go.recv() {
            Ok(Go::On) => {}
            Ok(Go::Cut) | Err(_) => resume_unwind(Box::new(Gone)),
        }
    }
}

impl Driver for Baton {
    fn drive(&mut self) {
        if self.back.send(false).is_ok() {
            self.wait();
        }
    }
}

/// What is asked of a history.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub seed: u64,
    pub clients: usize,
    pub operations: u32,
    /// Ends with a cut at about this step, or when all clients are through.
    pub cut_at: Option<u32>,
}

/// The scheduler: runs clients, the device and the pump in a random order. True if it ended with a cut.
pub fn run<W: Wire + Send>(plan: Plan, hub: &Arc<Hub<W>>, log: &Log, mut device: impl FnMut()) -> bool {
    let mut rng = Seed(plan.seed).child("scheduler").rng();
    std::thread::scope(|scope| {
        let mut clients = Vec::new();
        for n in 0..plan.clients {
            let ((go, on), (back, said)) = (channel(), channel());
            let (hub, baton) = (Arc::clone(hub), Baton { go: on, back });
            scope.spawn(move || client(n, plan, hub, baton, log));
            clients.push((go, said));
        }
        let mut pump = Pump::default();
        let mut steps = 0;
        while !clients.is_empty() {
            steps += 1;
            if plan.cut_at.is_some_and(|at| steps >= at) {
                clients.iter().for_each(|(go, _)| drop(go.send(Go::Cut)));
                return true;
            }
            match rng.below(100) {
                0..45 => device(),
                45..47 => hub.pump(&mut pump, &mut Free),
                _ => {
                    let n = rng.below(clients.len() as u64) as usize;
                    let (go, said) = &clients[n];
                    let is_over = go.send(Go::On).is_err() || said.recv().unwrap_or(true);
                    if is_over {
                        clients.swap_remove(n);
                    }
                }
            }
        }
        false
    })
}

fn client<W: Wire>(n: usize, plan: Plan, hub: Arc<Hub<W>>, baton: Baton, log: &Log) {
    let back = baton.back.clone();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        baton.wait();
        let commit = hub.lanes() - 1;
        let patience = Patience { polls_max: TURNS_MAX };
        let session = Session::new(hub, (n, commit), baton, VALUE_BYTES_MAX, patience);
        let rng = Seed(plan.seed).child("client").index(n as u64).rng();
        let mut client = Client { session, log, rng, unsynced: Vec::new() };
        for _ in 0..plan.operations / plan.clients as u32 {
            client.operation();
            client.session.driver_mut().drive();
        }
        client.sync();
    }));
    match outcome {
        Ok(()) => drop(back.send(true)),
        Err(thrown) if thrown.is::<Gone>() => {}
        Err(panic) => resume_unwind(panic),
    }
}

struct Client<'l, W: Wire> {
    session: Session<W, Baton>,
    log: &'l Log,
    rng: Rng,
    unsynced: Vec<Written>,
}

impl<W: Wire> Client<'_, W> {
    fn operation(&mut self) {
        let key = self.key();
        match self.rng.below(100) {
            0..36 => self.put(key),
            36..46 => self.delete(key),
            46..62 => self.get(key),
            62..66 => self.multi_get(),
            66..68 => self.multi_exist(),
            68..71 => self.exists(key),
            71..75 => self.put_if_absent(key),
            75..77 => self.multi_put_if_absent(),
            77..79 => self.scan(),
            79..82 => self.range(),
            82..90 => self.sync(),
            _ => self.durable(key),
        }
    }

    /// Some keys are met more often than others.
    fn key(&mut self) -> usize {
        let bound = if self.rng.below(2) == 0 { 2 } else { KEYS as u64 };
        self.rng.below(bound) as usize
    }

    fn value(&mut self, number: u16) -> Vec<u8> {
        let bytes = match self.rng.below(20) {
            0 => 2 + self.rng.below(u64::from(VALUE_BYTES_MAX) - 2),
            1..4 => 2 + self.rng.below(900),
            _ => 2 + self.rng.below(30),
        };
        let mut value = vec![key_byte(number); bytes as usize];
        value[..2].copy_from_slice(&number.to_le_bytes());
        value
    }

    fn put(&mut self, key: usize) {
        let number = self.log.number();
        let value = self.value(number);
        let event = self.log.begin(key, Act::Put(number));
        self.session.put(&name(key), &value).expect("a put is buffered");
        self.log.end(event);
        self.unsynced.push(event);
    }

    fn delete(&mut self, key: usize) {
        let event = self.log.begin(key, Act::Delete(self.log.number()));
        self.session.delete(&name(key)).expect("a delete is buffered");
        self.log.end(event);
        self.unsynced.push(event);
    }

    fn get(&mut self, key: usize) {
        let from = self.log.now();
        let found = self.session.get(&name(key)).expect("a get is answered");
        self.log.read(key, from, Act::Read(found.map(|value| number_of(&value))));
    }

    fn multi_get(&mut self) {
        let keys = [self.key(), self.key(), self.key()];
        let names = keys.map(name);
        let from = self.log.now();
        let found = self.session.multi_get(&names).expect("gets are answered");
        for (key, value) in keys.into_iter().zip(found) {
            self.log.read(key, from, Act::Read(value.map(|value| number_of(&value))));
        }
    }

    fn exists(&mut self, key: usize) {
        let from = self.log.now();
        let found = self.session.exists(&name(key)).expect("the question is answered");
        self.log.read(key, from, Act::Exists(found));
    }

    fn put_if_absent(&mut self, key: usize) {
        let number = self.log.number();
        let value = self.value(number);
        let event = self.log.begin(key, Act::PutIfAbsent(number));
        let stored = self.session.put_if_absent(&name(key), &value).expect("the pair is stored or not");
        self.log.end(event);
        if stored {
            self.unsynced.push(event);
        } else {
            self.log.becomes(event, Act::Exists(true));
        }
    }

    fn multi_exist(&mut self) {
        let keys = [self.key(), self.key(), self.key(), self.key()];
        let from = self.log.now();
        let found = self.session.multi_exist(&keys.map(name)).expect("the questions are answered");
        keys.into_iter().zip(found).for_each(|(key, found)| self.log.read(key, from, Act::Exists(found)));
    }

    /// The same key can be among them twice.
    fn multi_put_if_absent(&mut self) {
        let keys = [self.key(), self.key(), self.key(), self.key()];
        let begun = keys.map(|key| {
            let number = self.log.number();
            (self.value(number), self.log.begin(key, Act::PutIfAbsent(number)))
        });
        let pairs: Vec<_> =
            keys.iter().zip(&begun).map(|(key, (value, _))| (name(*key), &value[..])).collect();
        let stored = self.session.multi_put_if_absent(&pairs).expect("each pair is stored or not");
        for ((_, event), stored) in begun.into_iter().zip(stored) {
            self.log.end(event);
            if stored {
                self.unsynced.push(event);
            } else {
                self.log.becomes(event, Act::Exists(true));
            }
        }
    }

    fn scan(&mut self) {
        let from = self.log.now();
        let mut found = [None; KEYS];
        let visit = |key: Key, value: Vec<u8>| {
            let n = (0..KEYS).find(|n| name(*n) == key).expect("a key of this history");
            assert_eq!(found[n], None, "a scan shows a pair once");
            found[n] = Some(number_of(&value));
        };
        self.session.scan(|_| true, visit).expect("a scan comes to its end");
        for (key, number) in found.into_iter().enumerate() {
            self.log.read(key, from, Act::Read(number));
        }
    }

    /// Keys from one on, or all, in order, and not more than so many.
    fn range(&mut self) {
        let (from, most) = (self.log.now(), 1 + self.rng.below(2 * KEYS as u64) as usize);
        let least = name(self.key());
        let least = if self.rng.below(2) == 0 { least.as_bytes() } else { &[] };
        let range = KeyRange { from: least, ..KeyRange::default() };
        let mut found: Vec<(Key, u16)> = Vec::new();
        let visit = |key: &Key, value: &[u8]| {
            found.push((*key, number_of(value)));
            found.len() < most
        };
        self.session.scan_range(&range, visit).expect("a scan comes to its end");
        assert!(found.is_sorted_by(|(a, _), (b, _)| a < b), "in order, each once");
        assert!(found.iter().all(|(key, _)| range.contains(key.as_bytes())));
        let last = found.last().filter(|_| found.len() == most).map(|(key, _)| *key);
        for key in 0..KEYS {
            let is_seen = range.contains(name(key).as_bytes()) && last.is_none_or(|last| name(key) <= last);
            if is_seen {
                let number = found.iter().find(|(at, _)| *at == name(key)).map(|(_, number)| *number);
                self.log.read(key, from, Act::Read(number));
            }
        }
    }

    fn sync(&mut self) {
        let covered = std::mem::take(&mut self.unsynced);
        let outcome = self.session.sync();
        self.settle(covered, outcome);
    }

    fn durable(&mut self, key: usize) {
        let number = self.log.number();
        let (event, outcome) = if self.rng.below(4) == 0 {
            let event = self.log.begin(key, Act::Delete(number));
            (event, self.session.delete_durable(&name(key)))
        } else {
            let value = self.value(number);
            let event = self.log.begin(key, Act::Put(number));
            (event, self.session.put_durable(&name(key), &value))
        };
        self.log.end(event);
        self.settle(vec![event], outcome);
    }

    /// Those that did not fail are durable. After an error of another kind nothing is known.
    fn settle(&mut self, covered: Vec<Written>, outcome: Result<(), SyncError>) {
        let failed = match outcome {
            Ok(()) => Vec::new(),
            Err(SyncError::Failed(failed)) => failed,
            Err(SyncError::Unknown(error)) => {
                assert!(!matches!(error, saker_host::HostError::Timeout { .. }), "a sync is stuck");
                return;
            }
        };
        for event in covered {
            if failed.iter().any(|(key, _)| *key == name(event.0)) {
                self.log.failed(event);
            } else {
                self.log.acknowledge(event);
            }
        }
    }
}

/// Reads everything, as the only client.
pub fn read_all<W: Wire, T: Driver>(session: &mut Session<W, T>, log: &Log) {
    for key in 0..KEYS {
        let from = log.now();
        let found = session.get(&name(key)).expect("a get is answered");
        log.read(key, from, Act::Read(found.map(|value| number_of(&value))));
    }
}

/// Key `n`: of various lengths.
pub fn name(n: usize) -> Key {
    Key::new(&[n as u8; 16][..1 + 2 * n]).expect("1 to 15 bytes")
}

const fn key_byte(number: u16) -> u8 {
    (number % 251) as u8
}

/// The number of the write that stored a value; the value must be whole.
pub fn number_of(value: &[u8]) -> u16 {
    let number = u16::from_le_bytes([value[0], value[1]]);
    assert!(value[2..].iter().all(|b| *b == key_byte(number)), "a value is of one write");
    number
}
