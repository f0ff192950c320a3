// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every program that is under way fails: the pages stay in the page buffer until a repair has copied them, and only what was left
//! to repairs is free.

use saker_engine::{
    AnyEngine, Background, Condition, Context, Engine, EngineConfig, EngineKind, Job, Settings,
};
use saker_flash::nand::Shape;
use saker_flash::{FaultPlan, Flash, MemCells};
use saker_segment_store::{CellError, Completion, Geometry, Io, PageBuffer, Step};
use saker_sim::{Class, Free, Rng, Seed};
use std::collections::VecDeque;

const OWNER: u16 = 1;
const SLOTS: u16 = 24;
const KEYS: u64 = 60;

struct Bench {
    flash: Flash,
    store: AnyEngine,
    /// Programs and erases that have ended, and that nobody has told the store of.
    ended: VecDeque<Completion>,
}

impl Bench {
    fn new(kind: EngineKind, ring_lasts: bool) -> Self {
        let segments = if kind == EngineKind::HASH_STORE { 20 } else { 40 };
        let geometry = Geometry {
            page_bytes: 512,
            oob_bytes: kind.oob_bytes(512, &Settings::NONE),
            segment_pages: 16,
            segments,
        };
        let media = MemCells::new(Shape { geometry, channels: 2, luns: 4 });
        let page_buffer = PageBuffer::heap(SLOTS, geometry.page_bytes, geometry.oob_bytes);
        let mut flash = Flash::power_on(media, page_buffer, None, FaultPlan::default());
        flash.pool_mut().set_quota(OWNER, segments);
        let config = EngineConfig::new(OWNER, ring_lasts);
        let store = AnyEngine::new(kind, &config, &flash.view(OWNER, Class::Foreground));
        Self { flash, store, ended: VecDeque::new() }
    }

    fn gather(&mut self) {
        while let Some((_, done)) = self.flash.take_completion() {
            self.ended.push_back(done);
        }
    }

    /// Tells the store of all that has ended. `fails`: that every program has failed.
    fn settle(&mut self, fails: bool) {
        self.gather();
        while let Some(mut done) = self.ended.pop_front() {
            if fails && matches!(done.io, Io::Program { .. }) {
                done.result = Err(CellError::Program);
            }
            self.store.completed(&done, &mut self.flash.view(OWNER, Class::Background));
            self.gather();
        }
    }

    fn store(&mut self, key: u64, value: &[u8]) -> Step<()> {
        let (view, value) = (&mut self.flash.view(OWNER, Class::Foreground), &mut &*value);
        let mut meter = Free;
        let cx = &mut Context::new(view, &mut meter);
        let step = self.store.store(&key.to_be_bytes(), value, Condition::Always, cx);
        step.map(|result| _ = result.expect("there is room for so few").ended())
    }

    fn background(&mut self) -> Step<Background> {
        let finished = self.flash.finished();
        let view = &mut self.flash.view(OWNER, Class::Background);
        self.store.background(Job::UPKEEP, finished, &mut Context::new(view, &mut Free))
    }

    fn free_slots(&self) -> usize {
        self.flash.page_buffer().free_slots()
    }

    /// Stores and background work go on without completions until neither can.
    fn fill_ring(&mut self, rng: &mut Rng, value: &[u8]) {
        let mut idle = 0;
        while idle < 4 {
            let free = self.free_slots();
            while self.store(rng.below(KEYS), value) == Step::Done(()) && self.free_slots() > 6 {}
            let _ = self.background();
            idle = if self.free_slots() < free { 0 } else { idle + 1 };
        }
    }

    /// Completions are taken and background work goes on until none is due.
    fn work_off(&mut self) {
        for _ in 0..100_000 {
            self.settle(false);
            let is_idle = self.background() == Step::Done(Background::Idle);
            if is_idle && self.store.job(&self.flash.view(OWNER, Class::Foreground)).is_none() {
                return;
            }
        }
    }

    /// Whether a store is carried out at last.
    fn store_at_last(&mut self, key: u64, value: &[u8]) -> bool {
        for _ in 0..10_000 {
            if self.store(key, value) == Step::Done(()) {
                return true;
            }
            self.settle(false);
            let _ = self.background();
        }
        false
    }
}

/// What the page buffer holds fails all at once; then nothing fails any more. The slots that were free then.
fn all_fail(kind: EngineKind, ring_lasts: bool, seed: u64) -> usize {
    let mut rng = Seed(seed).child("failing").rng();
    let mut bench = Bench::new(kind, ring_lasts);
    let value = vec![7; 20 + rng.below(300) as usize];
    for _ in 0..2000 + rng.below(400) {
        assert!(bench.store_at_last(rng.below(KEYS), &value), "nothing has failed yet");
        bench.settle(false);
        if bench.store.job(&bench.flash.view(OWNER, Class::Foreground)).is_some() {
            let _ = bench.background();
        }
    }
    bench.fill_ring(&mut rng, &value);
    let free = bench.free_slots();
    bench.settle(true);
    bench.work_off();
    for n in 0..200 {
        let is_done = bench.store_at_last(n % KEYS, &value);
        let now = bench.free_slots();
        assert!(
            is_done,
            "{kind:?}, page buffer lasts: {ring_lasts}, seed {seed}: {free} slots were left, now {now}"
        );
    }
    free
}

/// The fewest slots that stores and background work leave when nothing comes back, in any case of an engine.
fn fewest(kind: EngineKind) -> usize {
    let cases = [true, false].into_iter().flat_map(|lasts| (0..30).map(move |seed| (lasts, seed)));
    cases.map(|(ring_lasts, seed)| all_fail(kind, ring_lasts, seed)).min().expect("there are cases")
}

#[test]
fn repairs_go_on_with_what_is_left_to_them() {
    for kind in EngineKind::ALL.iter().copied() {
        let fewest = fewest(kind);
        // Fewer than what a store leaves, or collections took nothing of it.
        assert!(fewest <= 8, "{kind:?}: {fewest}");
    }
}
