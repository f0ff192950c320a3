// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A block namespace of which every program under way fails: what was left to repairs is enough for them.

use saker_flash::nand::Shape;
use saker_flash::page_map::gc::Progress;
use saker_flash::page_map::{PageMap, PageMapConfig};
use saker_flash::{FaultPlan, Flash, MemCells};
use saker_segment_store::{CellError, Completion, Geometry, Io, PageBuffer, Step};
use saker_sim::{Class, Free, Rng, Seed};

const OWNER: u16 = 1;
const SLOTS: u16 = 24;
const BLOCK: u32 = 512;
const GEOMETRY: Geometry = Geometry { page_bytes: 1024, oob_bytes: 128, segment_pages: 16, segments: 20 };

struct Bench {
    flash: Flash,
    map: PageMap,
    ended: Vec<Completion>,
}

impl Bench {
    fn new(ring_lasts: bool) -> Self {
        let media = MemCells::new(Shape { geometry: GEOMETRY, channels: 2, luns: 4 });
        let page_buffer = PageBuffer::heap(SLOTS, GEOMETRY.page_bytes, GEOMETRY.oob_bytes);
        let mut flash = Flash::power_on(media, page_buffer, None, FaultPlan::default());
        flash.pool_mut().set_quota(OWNER, GEOMETRY.segments);
        let config = PageMapConfig::new(OWNER, &GEOMETRY, GEOMETRY.segments, ring_lasts, BLOCK);
        let map = PageMap::new(config, &flash.view(OWNER, Class::Foreground));
        Self { flash, map, ended: Vec::new() }
    }

    fn settle(&mut self, fails: bool) {
        loop {
            self.ended.extend(std::iter::from_fn(|| self.flash.take_completion().map(|(_, done)| done)));
            if self.ended.is_empty() {
                return;
            }
            for mut done in std::mem::take(&mut self.ended) {
                if fails && matches!(done.io, Io::Program { .. }) {
                    done.result = Err(CellError::Program);
                }
                self.map.completed(&done, &mut self.flash.view(OWNER, Class::Background));
            }
        }
    }

    fn write(&mut self, block: u64) -> bool {
        let fill = |_, out: &mut [u8]| {
            out.fill(block as u8);
            Ok(())
        };
        let view = &mut self.flash.view(OWNER, Class::Foreground);
        self.map.write(block, 1, fill, view, &mut Free) == Step::Done(Ok(()))
    }

    fn background(&mut self) -> Step<Progress> {
        let finished = self.flash.finished();
        self.map.background(finished, &mut self.flash.view(OWNER, Class::Background), &mut Free)
    }

    fn write_at_last(&mut self, block: u64) -> bool {
        (0..10_000).any(|_| {
            self.write(block) || {
                self.settle(false);
                let _ = self.background();
                false
            }
        })
    }

    /// Writes and background work go on without completions until neither can.
    fn fill_ring(&mut self, rng: &mut Rng) {
        let mut idle = 0;
        while idle < 4 {
            let free = self.flash.page_buffer().free_slots();
            let blocks = self.map.config().blocks;
            while self.write(rng.below(blocks)) && self.flash.page_buffer().free_slots() > 6 {}
            let _ = self.background();
            idle = if self.flash.page_buffer().free_slots() < free { 0 } else { idle + 1 };
        }
    }
}

fn all_fail(ring_lasts: bool, seed: u64) -> usize {
    let mut rng = Seed(seed).child("failing").rng();
    let mut bench = Bench::new(ring_lasts);
    let blocks = bench.map.config().blocks;
    for _ in 0..1500 + rng.below(300) {
        assert!(bench.write_at_last(rng.below(blocks)), "nothing has failed yet");
        bench.settle(false);
        let _ = bench.background();
    }
    bench.fill_ring(&mut rng);
    let free = bench.flash.page_buffer().free_slots();
    bench.settle(true);
    for n in 0..300 {
        let is_done = bench.write_at_last(n % blocks);
        assert!(is_done, "page buffer lasts: {ring_lasts}, seed {seed}: {free} slots were left");
    }
    free
}

#[test]
fn repairs_go_on_with_what_is_left_to_them() {
    let cases = [true, false].into_iter().flat_map(|lasts| (0..40).map(move |seed| (lasts, seed)));
    let fewest = cases.map(|(lasts, seed)| all_fail(lasts, seed)).min();
    assert!(fewest.is_some_and(|free| free < 6), "collections took of what writes leave: {fewest:?}");
}
