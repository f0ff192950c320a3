// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stores that have seen some use, to be corrupted: does [`Engine::check`] find it?

use saker_engine_api::{Condition, Context, Engine, Job};
use saker_flash::nand::Shape;
use saker_flash::{FaultPlan, Flash, MemCells};
use saker_segment_store::{Geometry, PageBuffer, SegmentStore, Step};
use saker_sim::{Class, Free, Meter, Rng, Seed, Unit};

const OWNER: u16 = 1;
const KEYS: u64 = 120;

/// A core that touches memory ahead, as those of real time do: entries wait for the index.
struct Touching;

impl Meter for Touching {
    fn work(&mut self, _: Unit, _: u64) {}

    fn touches(&self) -> bool {
        true
    }
}

/// A store after stores, deletes and background work, and its flash.
pub struct Worn<E> {
    store: E,
    flash: Flash,
}

impl<E: Engine> Worn<E> {
    /// One on flash of 48 segments of 8 KiB with so many bytes out of band.
    pub fn new(oob_bytes: u32, make: impl FnOnce(&dyn SegmentStore) -> E) -> Self {
        let geometry = Geometry { page_bytes: 512, oob_bytes, segment_pages: 16, segments: 48 };
        let media = MemCells::new(Shape { geometry, channels: 2, luns: 4 });
        let page_buffer = PageBuffer::heap(40, geometry.page_bytes, geometry.oob_bytes);
        let mut flash = Flash::power_on(media, page_buffer, None, FaultPlan::default());
        flash.pool_mut().set_quota(OWNER, geometry.segments);
        let store = make(&flash.view(OWNER, Class::Foreground));
        let mut worn = Self { store, flash };
        worn.wear(&mut Seed(11).rng());
        worn
    }

    fn wear(&mut self, rng: &mut Rng) {
        for n in 0..2000 {
            let (key, value) = (rng.below(KEYS).to_be_bytes(), vec![n as u8; 40 + rng.below(300) as usize]);
            if rng.below(8) == 0 {
                self.run(|s, cx| s.delete(&key, cx).map(|_| ()));
            } else {
                self.run(|s, cx| s.store(&key, &mut &value[..], Condition::Always, cx).map(|_| ()));
            }
            if n % 16 == 0 {
                assert_eq!(self.check(), Ok(()), "after {n} operations");
            }
        }
        assert_eq!(self.check(), Ok(()));
    }

    fn run(
        &mut self,
        mut op: impl FnMut(&mut E, &mut Context<'_, saker_flash::NamespaceSegments<'_>, Touching>) -> Step<()>,
    ) {
        for _ in 0..1000 {
            let view = &mut self.flash.view(OWNER, Class::Foreground);
            let step = op(&mut self.store, &mut Context::new(view, &mut Touching));
            let finished = self.flash.finished();
            let view = &mut self.flash.view(OWNER, Class::Background);
            let _ = self.store.background(Job::UPKEEP, finished, &mut Context::new(view, &mut Free));
            while let Some((_, done)) = self.flash.take_completion() {
                self.store.completed(&done, &mut self.flash.view(OWNER, Class::Background));
            }
            if step == Step::Done(()) {
                return;
            }
        }
        panic!("no progress");
    }

    fn check(&mut self) -> Result<(), String> {
        self.store.check(&self.flash.view(OWNER, Class::Foreground))
    }

    /// Asserts that a check finds what `fault` does to a copy of the store.
    pub fn finds(&self, what: &str, fault: impl FnOnce(&mut E)) {
        let mut bad = Self { store: self.store.clone(), flash: self.flash.clone() };
        fault(&mut bad.store);
        assert!(bad.check().is_err(), "{what}");
    }
}
