// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A store over flash so small that merges, collections and manifests are always near.

use crate::ordered::Ordered;
use crate::ordered::elsewhere::Elsewhere;
use crate::ordered::layout::{Answered, Entry, Payload, Refusal, Told};
use saker_engine::{
    Background, Condition, Context, GroupError, GroupOp, Job, KvError, Pairs, Progress, Recover, Scan,
    Scanned, Snapshot, Source, SourceError,
};
use saker_flash::nand::Shape;
use saker_flash::{FaultPlan, Flash, MemCells, PowerCut};
use saker_segment_store::{Geometry, PageBuffer, PageBufferMemory, PowerHistory, SegmentStore, Stall, Step};
use saker_sim::{Class, Free};
use std::collections::BTreeMap;
use std::ops::Bound;

pub const OWNER: u16 = 1;
const SLOTS: u16 = 24;

/// A value as hosts send it: a long one comes by DMA.
pub struct Sent<'a>(pub &'a [u8]);

/// Values of so many bytes and longer ones come by DMA.
pub const DMA_BYTES_MIN: usize = 64;

impl Source for Sent<'_> {
    fn bytes(&self) -> u32 {
        self.0.len() as u32
    }

    fn bytes_held(&self) -> u32 {
        if self.0.len() < DMA_BYTES_MIN { self.bytes() } else { 0 }
    }

    fn read(&mut self, offset: u32, out: &mut [u8]) -> Result<(), SourceError> {
        (&mut &*self.0).read(offset, out)
    }
}

/// What the store should hold.
pub type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Counts: 20 times as many in the soak tier.
pub fn scale(n: u64) -> u64 {
    saker_testing::tier(n, n * 20)
}

pub fn shape() -> Shape {
    let geometry = Geometry { page_bytes: 512, oob_bytes: 64, segment_pages: 16, segments: 36 };
    Shape { geometry, channels: 2, luns: 4 }
}

#[derive(Clone)]
pub struct Bench<S: Ordered> {
    pub flash: Flash,
    pub store: S,
    pub config: S::Config,
    /// Called after every event, if the test cuts there.
    pub watch: Option<fn(&Self, &Model)>,
    pub model: Model,
    /// What earlier lives did.
    done: [u64; 4],
    /// Quanta after which the store said of a blocked operation that it would have to wait again.
    pub kept_waiting: u64,
    /// Most jobs that were under way at once.
    pub together: usize,
    /// Whether a blocked operation is seen to change nothing: that takes as long as all of the buffer.
    pub digests: bool,
    /// Segments that it is opened with; `None`: all.
    pub quota: Option<u32>,
    /// Whether somebody else's I/O is on its way whenever there is background work.
    pub is_shared: bool,
    /// Who computes what needs no flash.
    pub elsewhere: Elsewhere,
    events: u64,
    checked_at: u64,
}

/// Events between two looks at all that the store remembers, which take the longer the more pairs it has.
const EVENTS_MIN: u64 = 31;

/// What a check lists from a key in the middle: more than a block of a table has. The whole rest would take the square of
/// the pairs.
const LISTED_FROM_A_KEY: usize = 64;

impl<S: Ordered> Bench<S> {
    pub fn new(config: S::Config, faults: FaultPlan) -> Self {
        Self::shaped(shape(), config, faults)
    }

    pub fn shaped(shape: Shape, config: S::Config, faults: FaultPlan) -> Self {
        let g = shape.geometry;
        let page_buffer = PageBuffer::heap(SLOTS, g.page_bytes, g.oob_bytes);
        let mut flash = Flash::power_on(MemCells::new(shape), page_buffer, None, faults);
        flash.pool_mut().set_quota(OWNER, g.segments);
        let store = S::make(config, &flash.view(OWNER, Class::Foreground));
        Self {
            flash,
            store,
            config,
            watch: None,
            model: Model::new(),
            done: [0; 4],
            kept_waiting: 0,
            together: 0,
            digests: true,
            is_shared: false,
            quota: None,
            elsewhere: Elsewhere::default(),
            events: 0,
            checked_at: 0,
        }
    }

    fn seen(&mut self) {
        if let Some(watch) = self.watch {
            watch(self, &self.model);
        }
        self.events += 1;
        if self.events >= self.checked_at + EVENTS_MIN.max(self.store.stats().pairs / 16) {
            self.assert_sound();
        }
    }

    /// Asserts that what the store remembers agrees with itself.
    pub fn assert_sound(&mut self) {
        self.checked_at = self.events;
        let checked = self.store.check(&self.flash.view(OWNER, Class::Foreground));
        checked.unwrap_or_else(|e| panic!("after {} events: {e}", self.events));
    }

    pub fn settle(&mut self) {
        while let Some((_, done)) = self.flash.take_completion() {
            self.store.completed(&done, &mut self.flash.view(OWNER, Class::Background));
            self.seen();
        }
    }

    pub fn background(&mut self) -> bool {
        self.work_on(Job::UPKEEP)
    }

    fn work_on(&mut self, job: Job) -> bool {
        let finished = self.flash.finished();
        if self.is_shared {
            self.flash.view(OWNER + 1, Class::Background).sync();
        }
        let view = &mut self.flash.view(OWNER, Class::Background);
        let step = self.store.background(job, finished, &mut Context::new(view, &mut Free));
        self.together = self.together.max(self.store.together());
        self.seen();
        self.settle();
        let is_computing = self.elsewhere.turn(&mut self.store);
        match step {
            Step::Done(did) => did == Background::Worked || is_computing,
            Step::Blocked(stall) => panic!("background blocked: {stall:?}"),
            Step::Need(_) => panic!("untimed flash is always resident"),
        }
    }

    fn digest(&self) -> Option<u64> {
        self.digests.then(|| self.store.digest())
    }

    /// Tries as often as it takes. The model follows before background work is seen again.
    fn until_done<T>(&mut self, mut op: impl FnMut(&mut S, &mut Flash) -> Step<T>) -> T {
        let mut keeps_waiting = false;
        for _ in 0..100_000 {
            let before = self.digest();
            match op(&mut self.store, &mut self.flash) {
                Step::Done(t) => {
                    assert!(!keeps_waiting, "the store has said that it would wait again");
                    return t;
                }
                Step::Need(_) => panic!("untimed flash is always resident"),
                Step::Blocked(stall) => {
                    assert_eq!(before, self.digest(), "a blocked operation changes nothing");
                    let refused = self.store.write_condition();
                    self.settle();
                    self.background();
                    keeps_waiting = stall == Stall::Debt && self.store.keeps_waiting(refused);
                    self.kept_waiting += u64::from(keeps_waiting);
                }
            }
        }
        panic!("no progress: {:?}", self.store.counters());
    }

    fn after(&mut self) {
        self.seen();
        self.settle();
        if self.store.job(&self.flash.view(OWNER, Class::Foreground)).is_some() {
            self.background();
        }
    }

    /// The same behind a write. A driver that has no core for background work leaves to later calls what may be put off.
    fn after_write(&mut self) {
        if !S::drives_late() {
            return self.after();
        }
        self.seen();
        self.settle();
        let view = &self.flash.view(OWNER, Class::Foreground);
        if self.store.job(view).is_some() && !self.store.puts_off(view) {
            self.work_on(Job::URGENT);
        }
    }

    pub fn put(&mut self, key: &[u8], value: &[u8], condition: Condition) -> Result<(), KvError> {
        let result = self.until_done(|s, f| {
            s.store(
                key,
                &mut Sent(value),
                condition,
                &mut Context::new(&mut f.view(OWNER, Class::Foreground), &mut Free),
            )
        });
        if result.is_ok() {
            self.model.insert(key.to_vec(), value.to_vec());
        }
        self.after_write();
        result.map(|put| _ = put.ended())
    }

    pub fn delete(&mut self, key: &[u8]) -> Result<(), KvError> {
        let result = self.until_done(|s, f| {
            s.delete(key, &mut Context::new(&mut f.view(OWNER, Class::Foreground), &mut Free))
        });
        if result.is_ok() {
            self.model.remove(key);
        }
        self.after_write();
        result.map(|_| ())
    }

    /// Carries out a group; the model follows.
    pub fn group(&mut self, entries: &[Entry]) -> Result<Vec<Told>, GroupError<Refusal>> {
        let payload = Payload::of(entries);
        let told = self.until_done(|s, f| {
            let (mut source, mut answers) = (payload.clone(), Answered::default());
            let view = &mut f.view(OWNER, Class::Foreground);
            s.group(&mut source, &mut answers, &mut Context::new(view, &mut Free))
                .map(|done| done.map(|()| answers.0))
        });
        self.follow(entries, told.as_deref().unwrap_or_default());
        self.after_write();
        told
    }

    /// The model does what the members of a group have done.
    pub fn follow(&mut self, entries: &[Entry], told: &[Told]) {
        for (e, _) in entries.iter().zip(told).filter(|(_, told)| **told == Told::Done(Ok(()))) {
            match e.op {
                GroupOp::Store => drop(self.model.insert(e.key.clone(), e.value.clone())),
                GroupOp::Delete => drop(self.model.remove(&e.key)),
                GroupOp::Retrieve | GroupOp::Exist => {}
            }
        }
    }

    /// All pairs.
    pub fn contents(&mut self) -> Model {
        let keys = self.keys_from(&[]);
        keys.into_iter().map(|key| (key.clone(), self.get(&key).expect("it was listed"))).collect()
    }

    pub fn get(&mut self, key: &[u8]) -> Result<Vec<u8>, KvError> {
        let mut out = Vec::new();
        let len = self.until_done(|s, f| {
            s.retrieve(key, &mut out, &mut Context::new(&mut f.view(OWNER, Class::Foreground), &mut Free))
        })?;
        assert_eq!(len as usize, out.len());
        self.after();
        Ok(out)
    }

    /// What a program fails to write is safe once background work has copied it.
    pub fn flush(&mut self) {
        let tag = self.store.flush(&mut self.flash.view(OWNER, Class::Foreground));
        self.settle();
        for _ in 0..100_000 {
            if self.store.is_flushed(tag, self.flash.finished()) {
                return;
            }
            self.background();
        }
        panic!("a flush never ends");
    }

    pub fn keys_from(&mut self, from: &[u8]) -> Vec<Vec<u8>> {
        self.first_keys_from(from, usize::MAX)
    }

    /// At most `most` keys.
    fn first_keys_from(&mut self, from: &[u8], most: usize) -> Vec<Vec<u8>> {
        let mut keys = Vec::new();
        let visit = |k: &[u8]| {
            keys.push(k.to_vec());
            keys.len() < most
        };
        let view = &mut self.flash.view(OWNER, Class::Foreground);
        assert_eq!(self.store.list(from, visit, &mut Context::new(view, &mut Free)), Step::Done(Ok(())));
        keys
    }

    /// The pairs that begin with a prefix, from a key on (backwards: up to it), `step` pairs at a time, as a snapshot sees
    /// them.
    pub fn scan(
        &mut self,
        (from, prefix, backwards): (Bound<&[u8]>, &[u8], bool),
        snapshot: Snapshot,
        step: usize,
    ) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut found = Found { pairs: Vec::new(), room: 0, prefix: prefix.to_vec() };
        let mut last: Vec<u8>;
        let mut from = from;
        loop {
            let before = found.pairs.len();
            found.room = step;
            let scan = Scan { snapshot, from, backwards, values: true };
            let view = &mut self.flash.view(OWNER, Class::Foreground);
            let Step::Done(ended) = self.store.scan(&scan, &mut found, &mut Context::new(view, &mut Free))
            else {
                panic!("untimed flash is always resident")
            };
            assert!(ended.is_ok(), "{ended:?} behind {:?}", found.pairs.last());
            if ended == Ok(Scanned::All) || found.pairs.len() < before + step {
                return found.pairs;
            }
            last = found.pairs.last().expect("a whole step").0.clone();
            from = Bound::Excluded(&last);
            self.background();
        }
    }

    pub fn check(&mut self) {
        let model = self.model.clone();
        let keys = self.keys_from(&[]);
        assert_eq!(keys, model.keys().cloned().collect::<Vec<_>>(), "each live key once, in order");
        for (k, v) in &model {
            assert_eq!(self.get(k).as_ref(), Ok(v), "{}", String::from_utf8_lossy(k));
        }
        for (n, probe) in keys.iter().enumerate().step_by(7) {
            let behind = &keys[n..keys.len().min(n + LISTED_FROM_A_KEY)];
            assert_eq!(self.first_keys_from(probe, LISTED_FROM_A_KEY), behind);
        }
    }

    /// What was done in all lives.
    pub fn done(&self) -> [u64; 4] {
        let now = self.store.work();
        std::array::from_fn(|n| self.done[n] + now[n])
    }

    pub fn restart(&mut self, history: PowerHistory, seed: u64) {
        self.done = self.done();
        let ring_kept = !matches!(history, PowerHistory::Cut { ring_kept: false });
        let (mut media, page_buffer) = self.flash.cut(PowerCut { seed, ring_kept });
        media.set_history(history);
        let g = self.flash.view(OWNER, Class::Foreground).geometry();
        let page_buffer = PageBuffer::new(
            PageBufferMemory::from_bytes(page_buffer.memory()),
            SLOTS,
            g.page_bytes,
            g.oob_bytes,
        );
        self.flash = Flash::power_on(media, page_buffer, None, FaultPlan::default());
        self.flash.pool_mut().set_quota(OWNER, self.quota.unwrap_or(g.segments));
        let mut recovery = S::recovery(self.config, &self.flash.view(OWNER, Class::Foreground));
        loop {
            match recovery.step(&mut self.flash.view(OWNER, Class::Foreground)) {
                Step::Done(Ok(Progress::Finished)) => break,
                Step::Done(Ok(Progress::More)) => {}
                Step::Done(Err(damage)) => panic!("{damage}"),
                other => panic!("{other:?}"),
            }
        }
        self.store = recovery.finish();
        self.elsewhere.take();
        self.assert_sound();
        let watch = self.watch.take();
        self.settle();
        self.watch = watch;
    }
}

/// Pairs that a scan found.
struct Found {
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
    /// Pairs that are still wanted.
    room: usize,
    prefix: Vec<u8>,
}

impl Pairs for Found {
    fn wants(&mut self, key: &[u8], _: u32) -> bool {
        let wanted = self.room > 0 && key.starts_with(&self.prefix);
        self.room -= usize::from(wanted);
        wanted
    }

    fn pair(&mut self, key: &[u8], value_bytes: u32) {
        self.pairs.push((key.to_vec(), Vec::with_capacity(value_bytes as usize)));
    }

    fn value(&mut self, bytes: &[u8]) {
        self.pairs.last_mut().expect("a value follows its key").1.extend_from_slice(bytes);
    }
}
