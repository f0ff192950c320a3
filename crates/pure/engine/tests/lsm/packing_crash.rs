// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Gaps and crashes of the operating system: what a sync saw is not written into any more, so it is there afterwards,
//! whatever part of the rest has reached the disk.

use crate::ordered::bench::{DMA_BYTES_MIN, OWNER, Sent, scale};
use saker_engine::lsm::Recovery;
use saker_engine::{Condition, Context, Engine, LsmConfig, LsmStore, Packing, Progress, Recover};
use saker_flash::nand::Shape;
use saker_flash::{FaultPlan, Flash, MemCells};
use saker_segment_store::{Geometry, Page, PageAddr, PageBuffer, PageBufferMemory, SegmentStore, Step};
use saker_sim::{Class, Free, Rng, Seed};
use std::ops::{Deref, DerefMut};
use zerocopy::IntoBytes;

const SHAPE: Shape = Shape {
    geometry: Geometry { page_bytes: 4096, oob_bytes: 64, segment_pages: 32, segments: 24 },
    channels: 2,
    luns: 4,
};
const SLOTS: u16 = 32;
const SECTOR: usize = 512;

/// A mapping as far as the page buffer can tell.
struct Mapped(Vec<u64>);

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl DerefMut for Mapped {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.0.as_mut_bytes()
    }
}

fn page_buffer(bytes: &[u8]) -> PageBuffer {
    let mut words = vec![0_u64; bytes.len().div_ceil(8)];
    words.as_mut_bytes()[..bytes.len()].copy_from_slice(bytes);
    let geometry = SHAPE.geometry;
    PageBuffer::new(
        PageBufferMemory::Mapped(Box::new(Mapped(words))),
        SLOTS,
        geometry.page_bytes,
        geometry.oob_bytes,
    )
}

struct Bench {
    flash: Flash,
    store: LsmStore,
    config: LsmConfig,
    stored: Vec<(String, Vec<u8>)>,
}

impl Bench {
    fn new(packing: Packing) -> Self {
        let geometry = SHAPE.geometry;
        let empty = vec![0; PageBuffer::bytes_for(SLOTS, geometry.page_bytes, geometry.oob_bytes)];
        let mut flash =
            Flash::power_on(MemCells::new(SHAPE), page_buffer(&empty), None, FaultPlan::default());
        flash.pool_mut().set_quota(OWNER, geometry.segments);
        let config =
            LsmConfig { packing: Some(packing), ..LsmConfig::new(OWNER, &geometry, geometry.segments, true) };
        let store = LsmStore::new(config, &flash.view(OWNER, Class::Foreground));
        Self { flash, store, config, stored: Vec::new() }
    }

    fn put(&mut self, value: Vec<u8>) {
        let key = format!("key{:04}", self.stored.len());
        let view = &mut self.flash.view(OWNER, Class::Foreground);
        let done = self.store.store(
            key.as_bytes(),
            &mut Sent(&value),
            Condition::Always,
            &mut Context::new(view, &mut Free),
        );
        assert!(matches!(done, Step::Done(Ok(_))), "{done:?}");
        self.stored.push((key, value));
        self.settle();
    }

    fn put_any(&mut self, rng: &mut Rng) {
        let most = if rng.below(4) == 0 { 1500 } else { DMA_BYTES_MIN as u64 };
        let mut value = vec![0; rng.below(most) as usize];
        rng.fill(&mut value);
        self.put(value);
    }

    fn settle(&mut self) {
        while let Some((_, done)) = self.flash.take_completion() {
            self.store.completed(&done, &mut self.flash.view(OWNER, Class::Background));
        }
    }

    fn sync(&mut self) {
        self.flash.view(OWNER, Class::Foreground).sync();
        self.settle();
    }

    /// Opens what is left when the first `synced` values were there at a sync that left the page buffer like `before`.
    fn check_crash(&mut self, synced: usize, before: &[u8], rng: &mut Rng) {
        let now = self.flash.view(OWNER, Class::Foreground).page_buffer().memory().to_vec();
        let sectors = before.chunks(SECTOR).zip(now.chunks(SECTOR));
        let mixed: Vec<u8> =
            sectors.flat_map(|(old, new)| if rng.below(2) == 0 { old } else { new }.to_vec()).collect();
        let mut left = page_buffer(&mixed);
        left.settle_after_crash(|_| false).expect("no damage");
        let mut flash = Flash::power_on(self.flash.media().clone(), left, None, FaultPlan::default());
        flash.pool_mut().set_quota(OWNER, SHAPE.geometry.segments);
        let mut recovery = Recovery::new(self.config, &flash.view(OWNER, Class::Foreground));
        loop {
            match recovery.step(&mut flash.view(OWNER, Class::Foreground)) {
                Step::Done(Ok(Progress::Finished)) => break,
                Step::Done(Ok(Progress::More)) => {}
                other => panic!("{other:?}"),
            }
        }
        let mut store = recovery.finish();
        for (key, value) in &self.stored[..synced] {
            let mut found = Vec::new();
            let view = &mut flash.view(OWNER, Class::Foreground);
            let done = store.retrieve(key.as_bytes(), &mut found, &mut Context::new(view, &mut Free));
            assert!(matches!(done, Step::Done(Ok(_))) && found == *value, "{key}: {done:?}");
        }
    }
}

#[test]
fn a_gap_that_a_sync_saw_is_given_up() {
    for syncs in [false, true] {
        let mut bench = Bench::new(Packing::Backfill);
        bench.put(vec![1; 8]);
        bench.put(vec![2; 1000]);
        bench.put(vec![3; 8]);
        assert_eq!(bench.store.packing_stats().backfilled_values, 1);
        if syncs {
            bench.sync();
        }
        bench.put(vec![4; 8]);
        assert_eq!(bench.store.packing_stats().backfilled_values, if syncs { 1 } else { 2 });
    }
}

#[test]
fn what_a_sync_saw_survives_whatever_part_of_the_rest_is_there() {
    for packing in Packing::ALL {
        for seed in saker_testing::seeds(scale(6)) {
            let rng = &mut Seed(seed).rng();
            let mut bench = Bench::new(packing);
            for _ in 0..rng.below(40) {
                bench.put_any(rng);
            }
            bench.sync();
            let (synced, before) = (
                bench.stored.len(),
                bench.flash.view(OWNER, Class::Foreground).page_buffer().memory().to_vec(),
            );
            for _ in 0..20 {
                bench.put_any(rng);
                bench.check_crash(synced, &before, rng);
            }
        }
    }
}

/// Nothing of an earlier page comes out of a slot with a gap.
#[test]
fn a_gap_holds_zeros() {
    let (old, new) = (0xEE, 0x11);
    let mut bench = Bench::new(Packing::Selective);
    // Each slot has held a page of these.
    (0..2 * SLOTS).for_each(|_| bench.put(vec![old; 4000]));
    (0..2 * SLOTS).for_each(|_| bench.put(vec![new; 1500]));
    bench.sync();
    let view = bench.flash.view(OWNER, Class::Foreground);
    let mut pages = 0;
    let geometry = SHAPE.geometry;
    for page in 0..u64::from(geometry.segments * geometry.segment_pages) {
        let Page::Resident { data, .. } = view.page(PageAddr(page)) else { continue };
        if data.windows(1000).any(|run| run.iter().all(|byte| *byte == new)) {
            pages += 1;
            assert!(!data.windows(16).any(|run| run.iter().all(|byte| *byte == old)), "page {page}");
        }
    }
    assert!(pages > SLOTS, "{pages} pages with gaps");
}
