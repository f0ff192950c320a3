// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A history at the engine alone, over flash that keeps no time: as the contract suites drive it. Its work is metered by unit.

use super::HistoryError;
use super::payload::{Answered, Payload};
use super::script::{Step, Subject};
use super::small::Setup;
use super::tale::{Counters, MediaOps, Outcomes, Tale};
use saker_assembly::Build;
use saker_engine::{
    AnyEngine, AnyRecovery, Condition, Engine, KvError, Pairs, Progress, Recover, Scan, Snapshot,
};
use saker_engine::{Capability, Context, Groups, Hints, Inspect, Job, List, Scans, Singly};
use saker_flash::{Flash, NamespaceSegments};
use saker_segment_store::Step as Driver;
use saker_sim::{Class, CpuMeter, CpuPrices, Digest, Instant};
use std::collections::BTreeSet;
use std::ops::Bound;

const OWNER: u16 = 1;
/// Tries of an operation after which it counts as stuck.
const TRIES_MAX: u32 = 100_000;
/// Operations between two digests of the engine's state.
const LOOK_EVERY: u64 = 256;
/// Pairs of a step of a scan.
const SCANNED: usize = 12;

/// The engine and its flash.
pub(super) struct Bare {
    pub flash: Flash,
    store: AnyEngine,
    meter: CpuMeter,
    outcomes: Outcomes,
    taken: u64,
    blocked: u64,
    scan: Option<(Snapshot, Vec<u8>)>,
}

impl Bare {
    /// A new engine on new flash.
    pub fn new(build: &Build) -> Self {
        let mut flash = build.flash_untimed();
        flash.pool_mut().set_quota(OWNER, build.shape.geometry.segments);
        let config = Setup::engine_config(build);
        let store = AnyEngine::new(build.engine, &config, &flash.view(OWNER, Class::Foreground));
        Self::with(flash, store, build)
    }

    fn with(flash: Flash, store: AnyEngine, build: &Build) -> Self {
        let meter = CpuMeter::new(CpuPrices::from_picos(build.profile.host.cpu.picos()));
        let (outcomes, taken, blocked, scan) = (Outcomes::default(), 0, 0, None);
        Self { flash, store, meter, outcomes, taken, blocked, scan }
    }

    /// The engine that recovers from what is on the flash.
    pub fn recover(mut flash: Flash, build: &Build) -> Result<Self, HistoryError> {
        flash.pool_mut().set_quota(OWNER, build.shape.geometry.segments);
        let config = Setup::engine_config(build);
        let mut recovery = AnyRecovery::new(build.engine, &config, &flash.view(OWNER, Class::Foreground));
        for _ in 0..TRIES_MAX {
            match recovery.step(&mut flash.view(OWNER, Class::Foreground)) {
                Driver::Done(Ok(Progress::Finished)) => {
                    let mut bare = Self::with(flash, recovery.finish(), build);
                    bare.take_completions();
                    return Ok(bare);
                }
                Driver::Done(Ok(Progress::More)) => {}
                Driver::Done(Err(damage)) => return Err(HistoryError::Damaged(damage.to_string())),
                Driver::Need(_) | Driver::Blocked(_) => {
                    while let Some((_, done)) = flash.take_completion() {
                        recovery.completed(&done, &mut flash.view(OWNER, Class::Background));
                    }
                }
            }
        }
        Err(HistoryError::Stuck(0))
    }

    pub fn outcomes(&self) -> &Outcomes {
        &self.outcomes
    }

    /// What came of it.
    pub fn tale(&mut self, missing: BTreeSet<&'static str>) -> Result<Tale, HistoryError> {
        let (operations, outcomes) = self.outcomes.told()?;
        self.store.settle();
        let mut counters = Counters::default();
        counters.add_flash(&self.flash.stats());
        counters.add_store(&self.store.stats());
        counters.add_log(&self.store.log_stats());
        counters.add_all("engine", self.store.counters());
        counters.add("engine", "blocked", self.blocked);
        let (live, most) = self.fill_bytes();
        counters.add_all("store", [("live_bytes", live), ("capacity_bytes", most)]);
        Ok(Tale {
            engine: self.store.name(),
            operations,
            outcomes,
            state: self.store.digest(),
            media: MediaOps::of(&self.flash.stats()),
            units: Some(self.meter.units()),
            counters: counters.0,
            end_ns: 0,
            missing,
        })
    }

    fn take_completions(&mut self) {
        while let Some((_, done)) = self.flash.take_completion() {
            self.store.completed(&done, &mut self.flash.view(OWNER, Class::Background));
        }
    }

    /// One quantum of background work.
    fn background(&mut self) {
        let finished = self.flash.finished();
        let mut view = self.flash.view(OWNER, Class::Background);
        let did = self.store.background(Job::UPKEEP, finished, &mut Context::new(&mut view, &mut self.meter));
        let told = match did {
            Driver::Done(did) => did as u64,
            Driver::Need(_) => 10,
            Driver::Blocked(_) => 11,
        };
        self.outcomes.mark(told);
        self.take_completions();
    }

    /// Executes an operation until it is done; nothing if power goes meanwhile.
    fn run<T>(
        &mut self,
        mut op: impl FnMut(&mut AnyEngine, &mut NamespaceSegments<'_>, &mut CpuMeter) -> Driver<T>,
    ) -> Option<T> {
        for _ in 0..TRIES_MAX {
            let Self { store, flash, meter, .. } = self;
            let step = op(store, &mut flash.view(OWNER, Class::Foreground), meter);
            self.take_completions();
            if !self.flash.is_powered() {
                return None;
            }
            match step {
                Driver::Done(done) => {
                    if self.store.job(&self.flash.view(OWNER, Class::Foreground)).is_some() {
                        self.background();
                    }
                    return Some(done);
                }
                Driver::Need(_) | Driver::Blocked(_) => {
                    self.blocked += 1;
                    self.background();
                }
            }
        }
        self.outcomes.is_stuck(self.taken);
        None
    }

    fn note<T: std::fmt::Debug>(&mut self, result: Option<Result<T, KvError>>, data: &[u8]) {
        let Some(result) = result else { return };
        let mut digest = Digest::default();
        digest.bytes(format!("{result:?}").as_bytes());
        self.outcomes.note(self.taken, Instant::ZERO, &[digest.value()], data);
    }

    fn store(&mut self, key: &[u8], value: &[u8], condition: Condition) {
        let done = self.run(|store, m, w| {
            store
                .store(key, &mut &*value, condition, &mut Context::new(m, w))
                .map(|put| put.map(|put| _ = put.ended()))
        });
        self.note(done, &[]);
    }

    fn get(&mut self, key: &[u8]) {
        let mut value = Vec::new();
        let done = self.run(|store, m, w| {
            value.clear();
            store.retrieve(key, &mut value, &mut Context::new(m, w))
        });
        self.note(done, &value);
    }

    /// All keys from one on, as long as the list is short; the first ones otherwise.
    pub fn keys_from(&mut self, from: &[u8], most: usize) -> Vec<Vec<u8>> {
        let mut keys = Vec::new();
        let done = self.run(|store, m, w| {
            keys.clear();
            let visit = |key: &[u8]| {
                keys.push(key.to_vec());
                keys.len() < most
            };
            store.list(from, visit, &mut Context::new(m, w))
        });
        self.note(done, &keys.concat());
        keys
    }

    fn flush(&mut self) {
        let tag = self.store.flush(&mut self.flash.view(OWNER, Class::Foreground));
        self.take_completions();
        let is_flushed = self.store.is_flushed(tag, self.flash.finished());
        self.outcomes.note(self.taken, Instant::ZERO, &[tag.0, u64::from(is_flushed)], &[]);
    }

    fn scan_on(&mut self) {
        let Some((snapshot, last)) = self.scan.clone() else { return };
        let from = if last.is_empty() { Bound::Unbounded } else { Bound::Excluded(&last[..]) };
        let scan = Scan { snapshot, from, backwards: false, values: true };
        let mut found = Found::default();
        let done = self.run(|store, m, w| {
            found = Found::default();
            store.scan(&scan, &mut found, &mut Context::new(m, w))
        });
        self.note(done, &found.bytes);
        if !found.last.is_empty() {
            self.scan = Some((snapshot, found.last));
        }
    }

    fn group(&mut self, mut payload: Payload) {
        if !self.store.capabilities().has(Capability::Groups) {
            return self.singly(&payload);
        }
        let mut answers = Answered::default();
        let done = self.run(|store, m, w| {
            answers = Answered::default();
            store.group(&mut payload, &mut answers, &mut Context::new(m, w))
        });
        let told = format!("{done:?}");
        self.outcomes.note(self.taken, Instant::ZERO, &[answers.0.value()], told.as_bytes());
    }

    /// A group at an engine that has none, as the device carries it out.
    fn singly(&mut self, payload: &Payload) {
        let mut answers = Answered::default();
        let told = match Singly::new(payload, &payload.bytes, &mut self.meter) {
            Err(refused) => format!("{refused:?}"),
            Ok(mut group) => {
                let done = self.run(|store, m, w| {
                    group.step(&payload.bytes, &mut answers, |single, found| {
                        single.execute(found, store, &mut Context::new(m, w))
                    })
                });
                format!("{done:?}")
            }
        };
        self.outcomes.note(self.taken, Instant::ZERO, &[answers.0.value()], told.as_bytes());
    }
}

/// Pairs of a scan.
#[derive(Debug, Default)]
struct Found {
    count: usize,
    last: Vec<u8>,
    bytes: Vec<u8>,
}

impl Pairs for Found {
    fn wants(&mut self, _: &[u8], _: u32) -> bool {
        self.count += 1;
        self.count <= SCANNED
    }

    fn pair(&mut self, key: &[u8], value_bytes: u32) {
        self.last = key.to_vec();
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(&value_bytes.to_le_bytes());
    }

    fn value(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }
}

impl Subject for Bare {
    fn offers(&self, what: &str) -> bool {
        match what {
            "scans under a snapshot" => self.store.capabilities().has(Capability::Scan),
            // They are the device's, or the host's.
            "long keys" => false,
            _ => true,
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Put(key, value) => self.store(&key, &value, Condition::Always),
            Step::PutNew(key, value) => self.store(&key, &value, Condition::MustNotExist),
            Step::Get(key) => self.get(&key),
            Step::Delete(key) => {
                let done = self.run(|store, m, w| {
                    store.delete(&key, &mut Context::new(m, w)).map(|deleted| deleted.map(|_| ()))
                });
                self.note(done, &[]);
            }
            Step::Exists(key) => {
                let done = self.run(|store, m, w| store.exists(&key, &mut Context::new(m, w)));
                self.note(done, &[]);
            }
            Step::Flush => self.flush(),
            Step::List(from) => {
                self.keys_from(&from, 64);
            }
            Step::OpenScan => self.scan = self.store.snapshot().ok().map(|snapshot| (snapshot, Vec::new())),
            Step::ScanOn => self.scan_on(),
            Step::CloseScan => {
                if let Some((snapshot, _)) = self.scan.take() {
                    self.store.release(snapshot);
                }
            }
            Step::Group(members) => self.group(Payload::of(&members)),
            Step::Bind(keys) => {
                // A hint, which the device ignores where the engine has no use for it.
                let binds = self.store.capabilities().has(Capability::Bind);
                let mut keys = keys.iter().map(|key| &key[..]);
                let bound = if binds { self.store.bind(b"bound", &mut keys) } else { Ok(()) };
                self.note(Some(bound), &[]);
            }
            Step::PutLong(..) | Step::GetLong(_) | Step::DeleteLong(_) => unreachable!("it is not offered"),
        }
        self.taken += 1;
        if self.taken.is_multiple_of(LOOK_EVERY) {
            self.outcomes.mark(self.store.digest());
        }
    }

    fn settle(&mut self) {}

    fn fill_bytes(&mut self) -> (u64, u64) {
        self.store.settle();
        let view = self.flash.view(OWNER, Class::Foreground);
        (self.store.live_bytes(), self.store.capacity_bytes(&view))
    }

    fn is_over(&self) -> bool {
        self.outcomes.has_stuck() || !self.flash.is_powered()
    }
}
