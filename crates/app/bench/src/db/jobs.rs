// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a thread does next.

use super::DbOptions;
use saker_lab::error::LabError;
use saker_sim::{Rng, Seed};
use saker_workload::{KeyForm, KeySpace, Permutation, ValueSource};

/// An operation; its key and value are in buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Put,
    Get,
    Delete,
    Exist,
    /// To the key, and on from there.
    Seek(Sought),
}

/// Pairs that a seek goes over, besides the one of its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sought {
    pub pairs: u32,
    /// Those before it, in falling order.
    pub backwards: bool,
}

impl Sought {
    pub fn behind(pairs: u32) -> Self {
        Self { pairs, backwards: false }
    }
}

/// Operations of a thread, in order.
pub(super) trait Job: Send {
    /// The next one fills the buffers. The second part: when it is meant to begin, in nanoseconds, if the job says so.
    fn next(
        &mut self,
        key: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<Option<(Act, Option<u64>)>, LabError>;
}

/// Keys and values by number.
#[derive(Clone, Debug)]
pub(super) struct Picks {
    keys: KeySpace,
    values: ValueSource,
    pub(super) num: u64,
    value_size: u32,
    seed: Seed,
}

impl Picks {
    pub(super) fn new(options: &DbOptions) -> Result<Self, LabError> {
        let seed = Seed(options.seed);
        let keys = KeySpace::new(seed.child("keys").0, options.key_size, KeyForm::Ordered)?;
        let (num, most) = (options.num.max(1), keys.capacity());
        if num > most {
            let key_bytes = options.key_size;
            return Err(saker_workload::WorkloadError::Keys { keys: num, key_bytes, most }.into());
        }
        let values = ValueSource::new(seed.child("values").0);
        Ok(Self { keys, values, num, value_size: options.value_size, seed })
    }

    pub(super) fn rng(&self, thread: u64) -> Rng {
        self.seed.child("threads").index(thread).rng()
    }

    pub(super) fn key(&self, number: u64, key: &mut Vec<u8>) {
        key.resize(self.keys.key_bytes(), 0);
        self.keys.fill(number, key);
    }

    pub(super) fn value(&self, number: u64, version: u64, bytes: u32, value: &mut Vec<u8>) {
        value.resize(bytes as usize, 0);
        self.values.fill(number, version, value);
    }

    /// Every key once, in random order.
    pub(super) fn preload(&self) -> Box<dyn Job> {
        self.fill(u64::MAX >> 1, self.num, true)
    }

    /// Keys in order, or each once in random order, and again.
    pub(super) fn fill(&self, thread: u64, writes: u64, shuffled: bool) -> Box<dyn Job> {
        let order = Permutation::new(self.seed.child("order").index(thread).0, self.num);
        Box::new(Fill { picks: self.clone(), done: 0, writes, order: shuffled.then_some(order) })
    }

    /// Random keys.
    pub(super) fn random(&self, thread: u64, operations: u64, act: Act) -> Box<dyn Job> {
        Box::new(Random { picks: self.clone(), rng: self.rng(thread), left: operations, act })
    }

    /// The thread that writes while others read.
    pub(super) fn writer(&self, options: &DbOptions) -> Box<dyn Job> {
        let pair = u64::from(options.value_size) + options.key_size as u64;
        let ns = (options.benchmark_write_rate_limit > 0)
            .then(|| pair as f64 * 1e9 / options.benchmark_write_rate_limit as f64);
        Box::new(Limited { job: self.random(u64::MAX, u64::MAX, Act::Put), ns, done: 0 })
    }
}

struct Fill {
    picks: Picks,
    done: u64,
    writes: u64,
    order: Option<Permutation>,
}

impl Job for Fill {
    fn next(
        &mut self,
        key: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<Option<(Act, Option<u64>)>, LabError> {
        if self.done == self.writes {
            return Ok(None);
        }
        let place = self.done % self.picks.num;
        let number = self.order.as_ref().map_or(place, |order| order.map(place));
        self.picks.key(number, key);
        self.picks.value(number, self.done, self.picks.value_size, value);
        self.done += 1;
        Ok(Some((Act::Put, None)))
    }
}

struct Random {
    picks: Picks,
    rng: Rng,
    left: u64,
    act: Act,
}

impl Job for Random {
    fn next(
        &mut self,
        key: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<Option<(Act, Option<u64>)>, LabError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let number = self.rng.below(self.picks.num);
        self.picks.key(number, key);
        if self.act == Act::Put {
            self.picks.value(number, self.left, self.picks.value_size, value);
        }
        Ok(Some((self.act, None)))
    }
}

/// A job that begins an operation every so many nanoseconds at most.
struct Limited {
    job: Box<dyn Job>,
    ns: Option<f64>,
    done: u64,
}

impl Job for Limited {
    fn next(
        &mut self,
        key: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<Option<(Act, Option<u64>)>, LabError> {
        let next = self.job.next(key, value)?;
        let due = self.ns.map(|ns| (self.done as f64 * ns) as u64);
        self.done += 1;
        Ok(next.map(|(act, _)| (act, due)))
    }
}
