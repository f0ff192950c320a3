// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A store whose meter asks for memory ahead enters pairs a little later; nobody can tell.

use saker_engine::{Condition, Context, Engine, HashStore, HashStoreConfig, Hints, Inspect};
use saker_flash::nand::Shape;
use saker_flash::{FaultPlan, Flash, MemCells};
use saker_segment_store::{Geometry, PageBuffer, Step};
use saker_sim::{Class, Free, Meter, Seed, Unit};

const OWNER: u16 = 1;

/// Says that touching helps.
struct Touching;

impl Meter for Touching {
    #[inline(always)]
    fn touches(&self) -> bool {
        true
    }
    fn work(&mut self, _: Unit, _: u64) {}
}

/// So large that nothing is collected.
fn shape() -> Shape {
    let geometry = Geometry { page_bytes: 4096, oob_bytes: 128, segment_pages: 32, segments: 32 };
    Shape { geometry, channels: 2, luns: 4 }
}

struct Bench {
    flash: Flash,
    store: HashStore,
}

impl Bench {
    fn new() -> Self {
        let g = shape().geometry;
        let page_buffer = PageBuffer::heap(64, g.page_bytes, g.oob_bytes);
        let mut flash = Flash::power_on(MemCells::new(shape()), page_buffer, None, FaultPlan::default());
        flash.pool_mut().set_quota(OWNER, g.segments);
        let config = HashStoreConfig::new(OWNER, &g, g.segments, true);
        let store = HashStore::new(config, &flash.view(OWNER, Class::Foreground));
        Self { flash, store }
    }

    fn store<W: Meter>(&mut self, key: &[u8], value: &[u8], w: &mut W) {
        let (mut value, mut view) = (value, self.flash.view(OWNER, Class::Foreground));
        let step = self.store.store(key, &mut value, Condition::Always, &mut Context::new(&mut view, w));
        assert!(matches!(step, Step::Done(Ok(_))), "{step:?}");
        self.settle();
    }

    fn delete<W: Meter>(&mut self, key: &[u8], w: &mut W) -> bool {
        let step =
            self.store.delete(key, &mut Context::new(&mut self.flash.view(OWNER, Class::Foreground), w));
        self.settle();
        matches!(step, Step::Done(Ok(_)))
    }

    fn exists<W: Meter>(&mut self, key: &[u8], w: &mut W) -> bool {
        let mut view = self.flash.view(OWNER, Class::Foreground);
        matches!(self.store.exists(key, &mut Context::new(&mut view, w)), Step::Done(Ok(())))
    }

    fn settle(&mut self) {
        while let Some((_, done)) = self.flash.take_completion() {
            self.store.completed(&done, &mut self.flash.view(OWNER, Class::Background));
        }
    }
}

#[test]
fn pairs_that_wait_are_stored_pairs() {
    let (mut now, mut soon, mut rng) = (Bench::new(), Bench::new(), Seed(11).rng());
    for n in 0..20_000u64 {
        let (r, id) = (rng.next_u64(), rng.below(700));
        let key = &id.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()[..1 + (id % 8) as usize];
        let key = if id % 3 == 0 { [key, b"long key"].concat() } else { key.to_vec() };
        // Small ones wait, some are written over while they do; long ones do not wait.
        let value = vec![n as u8; if r % 50 == 0 { 700 } else { (r % 60) as usize }];
        if r % 7 == 0 {
            assert_eq!(now.delete(&key, &mut Free), soon.delete(&key, &mut Touching));
        } else {
            now.store(&key, &value, &mut Free);
            soon.store(&key, &value, &mut Touching);
        }
        if n % 97 == 0 {
            assert_eq!(now.store.digest(), soon.store.digest(), "operation {n}");
            let found = soon.exists(&key, &mut Touching);
            assert_eq!(now.exists(&key, &mut Free), found, "operation {n}");
            // Exist has entered what waited.
            assert_eq!(now.store.live_bytes(), soon.store.live_bytes(), "operation {n}");
            assert_eq!(now.store.stats(), soon.store.stats(), "operation {n}");
        }
    }
    // Memory brought in ahead is used for what comes, and changes nothing.
    soon.store.reserve(1000);
    for n in 0..5000u64 {
        now.store(&n.to_le_bytes(), b"more", &mut Free);
        soon.store(&n.to_le_bytes(), b"more", &mut Touching);
    }
    assert_eq!((now.store.digest(), now.store.memory()), (soon.store.digest(), soon.store.memory()));
    let view = |b: &mut Bench| b.store.capacity_bytes(&b.flash.view(OWNER, Class::Foreground));
    assert_eq!(view(&mut now), view(&mut soon));
}
