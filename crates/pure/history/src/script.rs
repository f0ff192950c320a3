// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The script: what is asked for, in which order. It depends on the seed, and on when the store is nine tenths full.

use super::Setup;
use saker_sim::{Rng, Seed};
use std::collections::BTreeSet;

/// One step of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Put(Vec<u8>, Vec<u8>),
    /// Stored only if there is no such pair.
    PutNew(Vec<u8>, Vec<u8>),
    Get(Vec<u8>),
    Delete(Vec<u8>),
    Exists(Vec<u8>),
    Flush,
    /// Keys in the store's order, from one on.
    List(Vec<u8>),
    /// A snapshot is taken, and scanned from its first key on.
    OpenScan,
    /// The next pairs of the scan.
    ScanOn,
    CloseScan,
    /// Operations in one command. All of one kind, or mixed.
    Group(Vec<Member>),
    /// These keys belong together.
    Bind(Vec<Vec<u8>>),
    /// The same with a key of 17 bytes or more.
    PutLong(Vec<u8>, Vec<u8>),
    GetLong(Vec<u8>),
    DeleteLong(Vec<u8>),
}

/// An operation of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Member {
    Store(Vec<u8>, Vec<u8>),
    Retrieve(Vec<u8>),
    Delete(Vec<u8>),
    Exist(Vec<u8>),
}

impl Step {
    /// What a side must offer for it; nothing for what all sides do.
    pub fn needs(&self) -> Option<&'static str> {
        match self {
            Self::PutNew(..) => Some("conditional stores"),
            Self::List(_) => Some("lists"),
            Self::OpenScan | Self::ScanOn | Self::CloseScan => Some("scans under a snapshot"),
            Self::Group(_) => Some("groups"),
            Self::Bind(_) => Some("keys bound together"),
            Self::PutLong(..) | Self::GetLong(_) | Self::DeleteLong(_) => Some("long keys"),
            _ => None,
        }
    }
}

/// What a script runs on.
pub(super) trait Subject {
    /// Whether it can do what [`Step::needs`] names.
    fn offers(&self, what: &str) -> bool;
    /// Takes a step, and may go on before it has ended.
    fn take(&mut self, step: Step);
    /// Waits until all steps have ended.
    fn settle(&mut self);
    /// Bytes that live, and that may live at once.
    fn fill_bytes(&mut self) -> (u64, u64);
    /// Nothing more comes of it: power is gone, or an operation never ends.
    fn is_over(&self) -> bool;
}

/// Stores between two looks at how full it is.
const LOOK_EVERY: u64 = 16;
/// Keys of a history at most.
const KEYS_MAX: u64 = 40_000;

/// Plays the whole script; what the subject does not offer, by name.
pub(super) fn play(subject: &mut impl Subject, setup: &Setup) -> BTreeSet<&'static str> {
    let rng = Seed(setup.seed).child("history").rng();
    let mut script =
        Script { subject, rng, value_bytes_max: setup.value_bytes_max(), missing: BTreeSet::new() };
    let keys = script.fill();
    script.overwrite(keys);
    script.delete(keys);
    script.scan(keys);
    script.groups(keys);
    script.long_keys();
    script.close(keys);
    script.missing
}

struct Script<'s, S> {
    subject: &'s mut S,
    rng: Rng,
    value_bytes_max: u64,
    missing: BTreeSet<&'static str>,
}

/// Keys of 6 to 16 bytes.
pub(super) fn key(n: u64) -> Vec<u8> {
    let mut key = format!("k{n:05}").into_bytes();
    key.resize(6 + (n % 11) as usize, b'.');
    key
}

impl<S: Subject> Script<'_, S> {
    /// Takes a step if it is offered; whether it is.
    fn take(&mut self, step: Step) -> bool {
        if self.subject.is_over() {
            return true;
        }
        match step.needs().filter(|what| !self.subject.offers(what)) {
            Some(what) => {
                self.missing.insert(what);
                false
            }
            None => {
                self.subject.take(step);
                true
            }
        }
    }

    /// Mostly short values, some long ones.
    fn value(&mut self) -> Vec<u8> {
        let most = match self.rng.below(20) {
            0..12 => self.value_bytes_max / 12,
            12..18 => self.value_bytes_max / 3,
            _ => self.value_bytes_max,
        };
        let mut value = vec![0; self.rng.below(most + 1) as usize];
        self.rng.fill(&mut value);
        value
    }

    fn put(&mut self, n: u64) {
        let value = self.value();
        self.take(Step::Put(key(n), value));
    }

    fn any_key(&mut self, keys: u64) -> Vec<u8> {
        key(self.rng.below(keys))
    }

    /// New pairs until nine tenths of what may live do.
    fn fill(&mut self) -> u64 {
        for n in 0..KEYS_MAX {
            if n % LOOK_EVERY == 0 {
                let (live, most) = self.subject.fill_bytes();
                if live * 10 >= most * 9 || self.subject.is_over() {
                    return n.max(1);
                }
            }
            self.put(n);
        }
        KEYS_MAX
    }

    /// As many operations as there are keys: stores over pairs, and what is asked between them.
    fn overwrite(&mut self, keys: u64) {
        for step in 0..keys + keys / 4 {
            match self.rng.below(20) {
                0..13 => {
                    let n = self.rng.below(keys);
                    self.put(n);
                }
                13..16 => {
                    let key = self.any_key(keys + 20);
                    self.take(Step::Get(key));
                }
                16 => {
                    let key = self.any_key(keys + 20);
                    self.take(Step::Exists(key));
                }
                17 => {
                    let (key, value) = (self.any_key(keys + 20), self.value());
                    self.take(Step::PutNew(key, value));
                }
                _ => {
                    let key = self.any_key(keys);
                    self.take(Step::Delete(key));
                }
            }
            if step % 97 == 96 {
                self.take(Step::Flush);
            }
        }
    }

    /// A third of the pairs go.
    fn delete(&mut self, keys: u64) {
        for n in (0..keys).filter(|n| n % 3 == 1) {
            self.take(Step::Delete(key(n)));
            if n % 5 == 0 {
                self.take(Step::Get(key(n)));
            }
        }
        self.take(Step::Flush);
    }

    /// What there was is scanned while it is written over; a List where there are no snapshots.
    fn scan(&mut self, keys: u64) {
        for _ in 0..2 {
            let is_offered = self.take(Step::OpenScan);
            for round in 0..12 {
                for _ in 0..12 {
                    let n = self.rng.below(keys + keys / 20);
                    self.put(n);
                }
                let gone = self.any_key(keys);
                self.take(Step::Delete(gone));
                let at = self.any_key(keys);
                self.take(if is_offered { Step::ScanOn } else { Step::List(at) });
                if round == 6 {
                    self.take(Step::Flush);
                }
            }
            if is_offered {
                self.take(Step::CloseScan);
            }
        }
    }

    /// Groups of stores, of reads, and mixed ones; no key is written twice in one.
    fn groups(&mut self, keys: u64) {
        for round in 0..30 {
            let first = self.rng.below(keys);
            let count = 2 + self.rng.below(14);
            let near = |n: u64| key((first + n * 7) % (keys + 32));
            let mut members = Vec::new();
            for n in 0..count.min((keys + 32) / 7) {
                let key = near(n);
                members.push(match (round % 3, n % 4) {
                    (0, _) | (2, 0 | 1) => Member::Store(key, self.value_of_group()),
                    (1, _) | (2, 2) => Member::Retrieve(key),
                    _ if n % 8 == 3 => Member::Delete(key),
                    _ => Member::Exist(key),
                });
            }
            if round % 10 == 1 {
                self.take(Step::Bind((0..count).map(near).collect()));
            }
            self.take(Step::Group(members));
        }
    }

    fn value_of_group(&mut self) -> Vec<u8> {
        let mut value = vec![0; self.rng.below(self.value_bytes_max / 12 + 1) as usize];
        self.rng.fill(&mut value);
        value
    }

    /// Pairs under long keys come, change, are read and go.
    fn long_keys(&mut self) {
        for _ in 0..120 {
            let (n, value) = (self.rng.below(40), self.value_of_group());
            let key = format!("a long key, number {n}, ").repeat(1 + n as usize % 9).into_bytes();
            let step = match self.rng.below(10) {
                0..5 => Step::PutLong(key, value),
                5..8 => Step::GetLong(key),
                _ => Step::DeleteLong(key),
            };
            self.take(step);
        }
    }

    /// Everything is read once more.
    fn close(&mut self, keys: u64) {
        self.take(Step::Flush);
        self.subject.settle();
        for n in 0..keys + keys / 20 {
            self.take(Step::Get(key(n)));
        }
        self.take(Step::List(Vec::new()));
        self.subject.settle();
    }
}
