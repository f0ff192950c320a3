// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An engine over flash, and a driver that does what every driver must: it brings pages and holds them, hands completions over,
//! does background work, and calls again.

pub mod side_by_side;

use crate::Expected;
use crate::setup::{OWNER, Setup};
use saker_engine::{
    AnyEngine, AnyRecovery, Background, Capability, Condition, Context, Engine, EngineKind, Job, KvError,
    List, OutsideRecovery, Progress, Put, Recover, Scans, Snapshot,
};
use saker_flash::{FaultPlan, Flash, MemCells, Pinned, PowerCut};
use saker_segment_store::{PageAddr, PageBuffer, PageBufferMemory, PowerHistory, Step};
use saker_sim::{Class, Free};
use side_by_side::Together;

/// Calls after which an operation counts as stuck.
pub(crate) const TRIES_MAX: u32 = 1_000_000;
/// Of a bench that is watched, one event in so many is seen.
const SEEN_EVERY: u64 = 5;
/// Events between two looks at all that an engine remembers, which take the longer the more pairs it has.
const EVENTS_MIN: u64 = 61;
/// More events than any history has.
const NEVER: u64 = 1 << 40;

impl Setup {
    /// An empty engine over erased flash.
    pub fn start(self, faults: FaultPlan) -> Bench {
        let g = self.shape().geometry;
        let page_buffer = PageBuffer::heap(self.slots, g.page_bytes, g.oob_bytes);
        let mut flash = Flash::power_on(MemCells::new(self.shape()), page_buffer, self.timings, faults);
        flash.pool_mut().set_quota(OWNER, g.segments);
        let store = AnyEngine::new(self.kind, &self.config, &flash.view(OWNER, Class::Foreground));
        let (expected, watch, together) = (Expected::default(), None, Together::default());
        Bench { flash, store, setup: self, expected, watch, together, events: 0, checked_at: 0 }
    }
}

/// An engine over flash.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The flash.
    pub flash: Flash,
    /// The engine.
    pub store: AnyEngine,
    /// What it was made of.
    pub setup: Setup,
    /// What there should be.
    pub expected: Expected,
    /// Called after events: programs, erases and reads that ended, quanta of background work, operations.
    pub watch: Option<fn(&Self)>,
    /// What goes on side by side.
    pub together: Together,
    events: u64,
    checked_at: u64,
}

impl Bench {
    /// The engine's kind.
    pub fn kind(&self) -> EngineKind {
        self.setup.kind
    }

    /// Whether the engine has that.
    pub fn has(&self, capability: Capability) -> bool {
        self.store.capabilities().has(capability)
    }

    pub(crate) fn seen(&mut self) {
        self.events += 1;
        if let Some(watch) = self.watch.filter(|_| self.events.is_multiple_of(SEEN_EVERY)) {
            watch(self);
        }
        if self.events >= self.checked_at + EVENTS_MIN.max(self.store.stats().pairs / 4) {
            self.assert_sound();
        }
    }

    /// Asserts that what the engine remembers agrees with itself ([`Engine::check`]), while there is power: a cut takes what it
    /// remembers, and the page buffer without being asked.
    ///
    /// # Panics
    /// If it does not.
    pub fn assert_sound(&mut self) {
        self.checked_at = self.events;
        if !self.flash.is_powered() {
            return;
        }
        let checked = self.store.check(&self.flash.view(OWNER, Class::Foreground));
        checked.unwrap_or_else(|e| panic!("{:?}, after {} events: {e}", self.setup.kind, self.events));
    }

    /// Hands over what has completed.
    pub fn settle(&mut self) {
        while let Some((_, done)) = self.flash.take_completion() {
            self.store.completed(&done, &mut self.flash.view(OWNER, Class::Background));
            self.seen();
        }
    }

    /// Lets the next thing happen that takes time. False: nothing does, or power is off.
    pub(crate) fn pass_time(&mut self) -> bool {
        let Some(at) = self.flash.next_at() else { return false };
        self.flash.step(at).is_some()
    }

    /// Brings pages, which are held until they are let go. `None`: power went.
    fn bring(&mut self, pages: &[PageAddr]) -> Option<Pinned> {
        let pinned = self.flash.bring(pages, Class::Foreground).expect("flash without time has all pages");
        while self.flash.take_ready() != Some(pinned.batch()) {
            if !self.flash.is_powered() {
                self.flash.unpin(pinned);
                return None;
            }
            assert!(self.pass_time(), "pages never come");
            self.seen();
        }
        Some(pinned)
    }

    /// Events so far.
    pub(crate) fn events_so_far(&self) -> u64 {
        self.events
    }

    /// One quantum of background work, due or not; with several workers, of each. Whether there is more.
    pub fn background(&mut self) -> bool {
        let others = if self.setup.workers > 1 { self.quanta_side_by_side() } else { None };
        others.unwrap_or_else(|| self.upkeep())
    }

    fn upkeep(&mut self) -> bool {
        let mut held: Option<Pinned> = None;
        for _ in 0..TRIES_MAX {
            let finished = self.flash.finished();
            let view = &mut self.flash.view(OWNER, Class::Background);
            let step = self.store.background(Job::UPKEEP, finished, &mut Context::new(view, &mut Free));
            held.take().into_iter().for_each(|pinned| self.flash.unpin(pinned));
            match step {
                Step::Done(did) => {
                    self.seen();
                    self.settle();
                    return did == Background::Worked;
                }
                Step::Need(pages) => match self.bring(&pages) {
                    Some(batch) => held = Some(batch),
                    None => return false,
                },
                Step::Blocked(stall) => {
                    assert!(!self.setup.digests || self.flash.is_timed(), "background blocked: {stall:?}");
                    self.settle();
                    return self.pass_time();
                }
            }
        }
        panic!("background work never ends");
    }

    /// Calls until it is done. `None`: power went.
    pub(crate) fn until_done<T>(
        &mut self,
        mut op: impl FnMut(&mut AnyEngine, &mut Flash) -> Step<T>,
    ) -> Option<T> {
        let mut held: Option<Pinned> = None;
        for _ in 0..TRIES_MAX {
            let step = op(&mut self.store, &mut self.flash);
            held.take().into_iter().for_each(|pinned| self.flash.unpin(pinned));
            if !self.flash.is_powered() {
                return None;
            }
            match step {
                Step::Done(done) => return Some(done),
                Step::Need(pages) => held = Some(self.bring(&pages)?),
                Step::Blocked(_) => {
                    self.settle();
                    self.background();
                    self.pass_time();
                }
            }
        }
        panic!("{:?} {:?}: no progress", self.setup.kind, self.setup.size);
    }

    /// After an operation: what has completed, and background work that is due.
    pub(crate) fn after(&mut self) {
        self.seen();
        self.settle();
        if self.store.job(&self.flash.view(OWNER, Class::Foreground)).is_some() {
            self.background();
        }
    }

    /// An operation that is done as a whole, and changes nothing until then.
    ///
    /// # Panics
    /// If it does, or never ends.
    pub fn run<T>(&mut self, mut op: impl FnMut(&mut AnyEngine, &mut Flash) -> Step<T>) -> T {
        let digests = self.setup.digests;
        let done = self.until_done(|s, f| changes_nothing(digests, s, |s| op(s, f)));
        self.after();
        done.expect("power is on")
    }

    /// The same for one that may be done in part when it is blocked.
    ///
    /// # Panics
    /// If it never ends.
    pub fn run_in_parts<T>(&mut self, op: impl FnMut(&mut AnyEngine, &mut Flash) -> Step<T>) -> T {
        let done = self.until_done(op);
        self.after();
        done.expect("power is on")
    }

    pub(crate) fn note(&mut self, key: &[u8], value: Option<&[u8]>, is_done: bool) {
        if is_done && self.setup.remembers {
            self.expected.wrote(key, value, self.setup.config.ring_lasts);
        }
    }

    /// Stores a pair.
    ///
    /// # Errors
    /// The engine's.
    pub fn put(&mut self, key: &[u8], value: &[u8], condition: Condition) -> Result<(), KvError> {
        let digests = self.setup.digests;
        let done = self.until_done(|s, f| {
            let (mut view, mut meter) = (f.view(OWNER, Class::Foreground), Free);
            let cx = &mut Context::new(&mut view, &mut meter);
            changes_nothing(digests, s, |s| s.store(key, &mut &value[..], condition, cx))
        });
        let stored = done.expect("power is on").and_then(|put: Put| put.wait(&mut self.store).map(|_| ()));
        self.note(key, Some(value), stored.is_ok());
        self.after();
        stored
    }

    /// Deletes a pair.
    ///
    /// # Errors
    /// The engine's.
    pub fn delete(&mut self, key: &[u8]) -> Result<(), KvError> {
        let digests = self.setup.digests;
        let done = self.until_done(|s, f| {
            let (mut view, mut meter) = (f.view(OWNER, Class::Foreground), Free);
            let cx = &mut Context::new(&mut view, &mut meter);
            changes_nothing(digests, s, |s| s.delete(key, cx))
        });
        let deleted = done.expect("power is on").map(|_| ());
        self.note(key, None, deleted.is_ok());
        self.after();
        deleted
    }

    /// A pair's value.
    ///
    /// # Errors
    /// The engine's.
    pub fn get(&mut self, key: &[u8]) -> Result<Vec<u8>, KvError> {
        let mut out = Vec::new();
        let len = self.run(|s, f| {
            out.clear();
            s.retrieve(key, &mut out, &mut Context::new(&mut f.view(OWNER, Class::Foreground), &mut Free))
        })?;
        assert_eq!(len as usize, out.len());
        Ok(out)
    }

    /// Makes durable what was acknowledged. What a program fails to write is safe once background work has copied it.
    pub fn flush(&mut self) {
        let tag = self.store.flush(&mut self.flash.view(OWNER, Class::Foreground));
        self.settle();
        for _ in 0..TRIES_MAX {
            if self.store.is_flushed(tag, self.flash.finished()) {
                return self.expected.flushed();
            }
            self.background();
            self.pass_time();
            self.settle();
        }
        panic!("a flush never ends");
    }

    /// All keys: as the engine lists them, or those of all that were ever stored which it finds.
    pub fn keys(&mut self) -> Vec<Vec<u8>> {
        if self.has(Capability::List) {
            return self.keys_from(&[]);
        }
        let all: Vec<_> = self.expected.keys().cloned().collect();
        all.into_iter().filter(|key| self.get(key) != Err(KvError::NotFound)).collect()
    }

    /// Keys from one on, as the engine lists them.
    pub fn keys_from(&mut self, from: &[u8]) -> Vec<Vec<u8>> {
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

    /// A snapshot, if the engine has them.
    pub fn snapshot(&mut self) -> Option<Snapshot> {
        self.store.snapshot().ok()
    }

    /// Gives a snapshot back.
    pub fn release(&mut self, snapshot: Snapshot) {
        self.store.release(snapshot);
    }

    /// Bytes that may live at once.
    pub fn capacity(&mut self) -> u64 {
        self.store.capacity_bytes(&self.flash.view(OWNER, Class::Foreground))
    }

    /// Pairs that fit, as the engine says.
    pub fn pairs_that_fit(&mut self, key_bytes: u32, value_bytes: u32) -> u64 {
        self.store.pairs_that_fit(key_bytes, value_bytes, &self.flash.view(OWNER, Class::Foreground))
    }

    /// The longest value of up to so many bytes that the engine takes, for keys of 16 bytes.
    pub fn longest_value(&mut self, most: u32) -> u32 {
        let (mut least, mut too_long) = (0, most + 1);
        while too_long - least > 1 {
            let n = least + (too_long - least) / 2;
            if self.pairs_that_fit(16, n) > 0 { least = n } else { too_long = n }
        }
        least
    }

    /// Stores pairs from number `from` on until one is refused, whose number it returns.
    pub fn fill(&mut self, from: u64, value_bytes: usize) -> u64 {
        let value = vec![b'v'; value_bytes];
        for n in from.. {
            match self.put(&numbered(n), &value, Condition::Always) {
                Ok(()) => {}
                Err(e) => {
                    assert_eq!(e, KvError::CapacityExceeded);
                    return n;
                }
            }
        }
        unreachable!("no device holds so many")
    }

    /// Ends this power cycle in that way, and recovers.
    ///
    /// # Panics
    /// If what recovery finds counts as damage.
    pub fn restart(&mut self, history: PowerHistory, seed: u64) {
        let is_back = self.restart_with(history, seed, FaultPlan::default());
        assert!(is_back, "nobody cuts power");
    }

    /// The same on flash that has faults. False: power was cut again before the engine was there.
    ///
    /// # Panics
    /// If what recovery finds counts as damage.
    pub fn restart_with(&mut self, history: PowerHistory, seed: u64, faults: FaultPlan) -> bool {
        let ring_kept = !matches!(history, PowerHistory::Cut { ring_kept: false });
        let (mut media, page_buffer) = self.flash.cut(PowerCut { seed, ring_kept });
        media.set_history(history);
        let g = self.setup.shape().geometry;
        // Only bytes survive: what the page buffer knows it must find in its memory.
        let memory = PageBufferMemory::from_bytes(page_buffer.memory());
        let page_buffer = PageBuffer::new(memory, self.setup.slots, g.page_bytes, g.oob_bytes);
        self.flash = Flash::power_on(media, page_buffer, self.setup.timings, faults);
        self.flash.pool_mut().set_quota(OWNER, g.segments);
        let (kind, config) = (self.setup.kind, &self.setup.config);
        let mut recovery = AnyRecovery::new(kind, config, &self.flash.view(OWNER, Class::Foreground));
        if self.setup.is_outside {
            recovery = AnyRecovery::Other(Box::new(OutsideRecovery::new(recovery)));
        }
        // Until it is back the engine is the one that power was cut from.
        self.checked_at = NEVER;
        let watch = self.watch.take();
        let is_back = self.recover(&mut recovery);
        self.watch = watch;
        if is_back {
            self.store = recovery.finish();
            self.assert_sound();
            let watch = self.watch.take();
            self.settle();
            self.watch = watch;
        }
        is_back
    }

    fn recover(&mut self, recovery: &mut AnyRecovery) -> bool {
        let mut held: Option<Pinned> = None;
        while self.flash.is_powered() {
            let step = recovery.step(&mut self.flash.view(OWNER, Class::Foreground));
            held.take().into_iter().for_each(|pinned| self.flash.unpin(pinned));
            match step {
                Step::Done(Ok(Progress::Finished)) => return self.flash.is_powered(),
                Step::Done(Ok(Progress::More)) => {}
                Step::Done(Err(damage)) => panic!("{damage}"),
                Step::Need(pages) => held = self.bring(&pages),
                Step::Blocked(_) => _ = self.pass_time(),
            }
            if self.flash.is_timed() {
                while let Some((_, done)) = self.flash.take_completion() {
                    recovery.completed(&done, &mut self.flash.view(OWNER, Class::Background));
                }
            }
        }
        held.into_iter().for_each(|pinned| self.flash.unpin(pinned));
        false
    }
}

/// A key of ten bytes.
pub fn numbered(n: u64) -> Vec<u8> {
    format!("k{n:09}").into_bytes()
}

/// A call that is blocked or needs pages leaves what operations can observe as it was.
pub fn changes_nothing<T>(
    looks: bool,
    store: &mut AnyEngine,
    op: impl FnOnce(&mut AnyEngine) -> Step<T>,
) -> Step<T> {
    let before = looks.then(|| store.digest());
    let step = op(store);
    if !matches!(step, Step::Done(_)) && looks {
        assert_eq!(before, Some(store.digest()), "a call that is not done changes nothing");
    }
    step
}
