// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A store over untimed flash, its model, and power cycles.

use saker_engine::hash_ftl::recover::Recovery;
use saker_engine::hash_ftl::{FirstLevel, HashFtl, HashFtlConfig, Layout, Validity};
use saker_engine::transaction::{NotDone, OfEngine, Part, transact};
use saker_engine::{Background, Condition, Context, Engine, Inspect, Job, KvError, List, Progress, Recover};
use saker_flash::nand::Shape;
use saker_flash::{FaultPlan, Flash, MemCells, PowerCut};
use saker_segment_store::{Geometry, PageBuffer, PageBufferMemory, PowerHistory, Reads, Step};
use saker_sim::{Class, Free};
use std::collections::{BTreeMap, BTreeSet};

pub const OWNER: u16 = 1;
const RING_SLOTS: u16 = 40;

/// Histories per test: 20 times as many in the soak tier.
pub fn scale(n: u64) -> u64 {
    saker_testing::tier(n, n * 20)
}

pub fn shape(segments: u32) -> Shape {
    let geometry = Geometry { page_bytes: 1024, oob_bytes: 192, segment_pages: 16, segments };
    Shape { geometry, channels: 2, luns: 4 }
}

pub fn live_only(first_level: FirstLevel, offsets_when_full: bool) -> Layout {
    Layout::LiveOnly { first_level, offsets_when_full }
}

/// Original and Plus, and what lies between them.
pub fn variants(segments: u32, ring_lasts: bool) -> Vec<HashFtlConfig> {
    variants_on(&shape(segments).geometry, ring_lasts)
}

/// The same on another device, whose pages are whole multiples of 256 bytes.
pub fn variants_on(g: &Geometry, ring_lasts: bool) -> Vec<HashFtlConfig> {
    let cache_bytes = 3 * u64::from(g.page_bytes);
    let original = |grain| HashFtlConfig {
        cache_bytes,
        ..HashFtlConfig::original(OWNER, g, g.segments, ring_lasts, grain)
    };
    let plus = HashFtlConfig { cache_bytes, ..HashFtlConfig::plus(OWNER, g, g.segments, ring_lasts) };
    vec![
        original(256),
        HashFtlConfig { validity: Validity::InvalidPages, ..original(128) },
        HashFtlConfig { validity: Validity::GrainBitmap, ..plus },
        plus,
        HashFtlConfig { layout: live_only(FirstLevel::Reserved, true), ..plus },
        HashFtlConfig { doubles_at_percent: Some(80), ..original(128) },
    ]
}

pub type Model = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Clone)]
pub struct Bench {
    pub flash: Flash,
    pub store: HashFtl,
    pub config: HashFtlConfig,
    pub quanta: u64,
}

/// Of the pieces of background work one in so many is followed by a look at all that the store remembers.
const CHECKED_EVERY: u64 = 13;

fn power_on(media: MemCells, page_buffer: PageBuffer, faults: FaultPlan, segments: u32) -> Flash {
    let mut flash = Flash::power_on(media, page_buffer, None, faults);
    flash.pool_mut().set_quota(OWNER, segments);
    flash
}

impl Bench {
    pub fn new(config: HashFtlConfig, segments: u32, faults: FaultPlan) -> Self {
        Self::on(shape(segments), config, faults)
    }

    /// On a device of that shape.
    pub fn on(shape: Shape, config: HashFtlConfig, faults: FaultPlan) -> Self {
        let g = shape.geometry;
        let page_buffer = PageBuffer::heap(RING_SLOTS, g.page_bytes, g.oob_bytes);
        let mut flash = power_on(MemCells::new(shape), page_buffer, faults, g.segments);
        let store = HashFtl::new(config, &flash.view(OWNER, Class::Foreground));
        Self { flash, store, config, quanta: 0 }
    }

    /// Takes completions; whether there were any.
    pub fn settle(&mut self) -> bool {
        let mut any = false;
        while let Some((_, done)) = self.flash.take_completion() {
            self.store.completed(&done, &mut self.flash.view(OWNER, Class::Background));
            any = true;
        }
        any
    }

    pub fn background(&mut self) -> bool {
        let finished = self.flash.finished();
        let mut view = self.flash.view(OWNER, Class::Background);
        let step = self.store.background(Job::UPKEEP, finished, &mut Context::new(&mut view, &mut Free));
        let settled = self.settle();
        self.quanta += 1;
        if self.quanta.is_multiple_of(CHECKED_EVERY) {
            self.assert_sound();
        }
        match step {
            Step::Done(did) => did == Background::Worked,
            // An erase that it began has ended by now.
            Step::Blocked(_) if settled => true,
            Step::Blocked(stall) => panic!("background blocked: {stall:?}"),
            Step::Need(_) => panic!("untimed flash is always resident"),
        }
    }

    /// Asserts that what the store remembers agrees with itself.
    pub fn assert_sound(&mut self) {
        let checked = Engine::check(&self.store, &self.flash.view(OWNER, Class::Foreground));
        checked.unwrap_or_else(|e| panic!("after {} pieces of work: {e}", self.quanta));
    }

    pub fn run<T>(&mut self, mut op: impl FnMut(&mut HashFtl, &mut Flash) -> Step<T>) -> T {
        for _ in 0..100_000 {
            let before = self.store.digest();
            match op(&mut self.store, &mut self.flash) {
                Step::Done(t) => {
                    self.settle();
                    if self.store.job(&self.flash.view(OWNER, Class::Foreground)).is_some() {
                        self.background();
                    }
                    return t;
                }
                Step::Need(_) => panic!("untimed flash is always resident"),
                Step::Blocked(_) => {
                    assert_eq!(before, self.store.digest(), "a blocked operation changes nothing");
                    self.settle();
                    self.background();
                }
            }
        }
        panic!("no progress: {:?}", self.store.log_stats());
    }

    pub fn put(&mut self, key: &[u8], value: &[u8], condition: Condition) -> Result<(), KvError> {
        self.run(|s, f| {
            s.store(
                key,
                &mut &value[..],
                condition,
                &mut Context::new(&mut f.view(OWNER, Class::Foreground), &mut Free),
            )
        })
        .map(|put| _ = put.ended())
    }

    pub fn get(&mut self, key: &[u8]) -> Result<Vec<u8>, KvError> {
        let mut out = Vec::new();
        let bytes = self.run(|s, f| {
            s.retrieve(key, &mut out, &mut Context::new(&mut f.view(OWNER, Class::Foreground), &mut Free))
        })?;
        assert_eq!(bytes as usize, out.len());
        Ok(out)
    }

    pub fn delete(&mut self, key: &[u8]) -> Result<(), KvError> {
        self.run(|s, f| s.delete(key, &mut Context::new(&mut f.view(OWNER, Class::Foreground), &mut Free)))
            .map(|_| ())
    }

    pub fn transact(&mut self, parts: &[Part<'_>]) -> Result<(), NotDone> {
        let mut pages = Reads::new();
        self.run(|s, f| {
            let (mut view, mut free) = (f.view(OWNER, Class::Foreground), Free);
            let cx = Context::new(&mut view, &mut free);
            transact(parts, &mut pages, &mut OfEngine { engine: s, cx })
        })
        .map(drop)
    }

    pub fn exists(&mut self, key: &[u8]) -> bool {
        self.run(|s, f| s.exists(key, &mut Context::new(&mut f.view(OWNER, Class::Foreground), &mut Free)))
            .is_ok()
    }

    pub fn flush(&mut self) {
        let _ = self.store.flush(&mut self.flash.view(OWNER, Class::Foreground));
        self.settle();
    }

    pub fn keys(&mut self, from: &[u8]) -> Vec<Vec<u8>> {
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

    /// What is left when power goes now.
    pub fn cut(&self, history: PowerHistory, seed: u64) -> (MemCells, PageBuffer) {
        let ring_kept = !matches!(history, PowerHistory::Cut { ring_kept: false });
        let (mut media, page_buffer) = self.flash.cut(PowerCut { seed, ring_kept });
        media.set_history(history);
        let g = self.flash.shape().geometry;
        (
            media,
            PageBuffer::new(
                PageBufferMemory::from_bytes(page_buffer.memory()),
                RING_SLOTS,
                g.page_bytes,
                g.oob_bytes,
            ),
        )
    }

    /// Goes on with what is left.
    pub fn recover(&mut self, (media, page_buffer): (MemCells, PageBuffer), faults: FaultPlan) {
        let segments = self.flash.shape().geometry.segments;
        self.flash = power_on(media, page_buffer, faults, segments);
        let mut recovery = Recovery::new(self.config, &self.flash.view(OWNER, Class::Foreground));
        loop {
            match recovery.step(&mut self.flash.view(OWNER, Class::Foreground)) {
                Step::Done(Ok(Progress::Finished)) => break,
                Step::Done(Ok(Progress::More)) => {}
                Step::Done(Err(damage)) => panic!("{damage}"),
                other => panic!("{other:?}"),
            }
        }
        self.store = recovery.finish();
        self.assert_sound();
        self.settle();
    }

    pub fn restart(&mut self, history: PowerHistory, seed: u64) {
        let left = self.cut(history, seed);
        self.recover(left, FaultPlan::default());
    }

    pub fn check(&mut self, model: &Model) {
        self.assert_sound();
        let in_order = self.keys(&[]);
        let keys: BTreeSet<_> = in_order.iter().collect();
        let extra: Vec<_> = keys.iter().filter(|k| !model.contains_key(**k)).collect();
        let lost: Vec<_> = model.keys().filter(|k| !keys.contains(k)).collect();
        assert!(extra.is_empty() && lost.is_empty(), "not stored {extra:?}, lost {lost:?}");
        assert_eq!(in_order.len(), model.len(), "each key once");
        for (k, v) in model {
            assert_eq!(self.get(k).as_ref(), Ok(v));
        }
        // From every seventh key on, or from a hundred of many.
        for (at, from) in in_order.iter().enumerate().step_by((in_order.len() / 100).max(7)) {
            assert_eq!(self.keys(from), in_order[at..]);
        }
        let stats = self.store.stats();
        let bytes: usize = model.iter().map(|(k, v)| (k.len() + v.len()).next_multiple_of(8)).sum();
        assert_eq!((stats.pairs, stats.pair_bytes), (model.len() as u64, bytes as u64));
    }
}
