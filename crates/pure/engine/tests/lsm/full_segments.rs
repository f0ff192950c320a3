// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stores of few small segments, full: every write ends, whatever waits for a segment.

use crate::ordered::bench::{OWNER, Sent, scale};
use saker_engine::lsm::Recovery;
use saker_engine::{
    Condition, Context, Engine, Job, KvError, LsmConfig, LsmStore, Packing, Progress, Recover,
};
use saker_flash::nand::Shape;
use saker_flash::{FaultPlan, Flash, MemCells, PowerCut};
use saker_segment_store::{Geometry, PageBuffer, PageBufferMemory, PowerHistory, SegmentStore, Step};
use saker_sim::{Class, Free, Rng, Seed};

const PAGE_BYTES: u32 = 16 << 10;
const SLOTS: u16 = 64;
/// A write that does not end within so many calls for background work for each segment never does: all records were moved several
/// times, at 64 a call, and all tables merged.
const TRIES: usize = 500;

type Answer = Step<Result<(), KvError>>;
type View<'a> = saker_flash::NamespaceSegments<'a>;

struct Full {
    config: LsmConfig,
    flash: Flash,
    store: LsmStore,
}

impl Full {
    fn new(segment_pages: u32, segments: u32, packing: Option<Packing>, ring_lasts: bool) -> Self {
        let geometry = Geometry { page_bytes: PAGE_BYTES, oob_bytes: 64, segment_pages, segments };
        let media = MemCells::new(Shape { geometry, channels: 2, luns: 4 });
        let page_buffer = PageBuffer::heap(SLOTS, PAGE_BYTES, geometry.oob_bytes);
        let mut flash = Flash::power_on(media, page_buffer, None, FaultPlan::default());
        flash.pool_mut().set_quota(OWNER, segments);
        let config = LsmConfig { packing, ..LsmConfig::new(OWNER, &geometry, segments, ring_lasts) };
        let store = LsmStore::new(config, &flash.view(OWNER, Class::Foreground));
        Self { config, flash, store }
    }

    /// The process ends and the store is opened again.
    fn restart(&mut self, seed: u64) {
        let (mut media, page_buffer) = self.flash.cut(PowerCut { seed, ring_kept: true });
        media.set_history(PowerHistory::Killed);
        let g = self.flash.view(OWNER, Class::Foreground).geometry();
        let page_buffer = PageBuffer::new(
            PageBufferMemory::from_bytes(page_buffer.memory()),
            SLOTS,
            g.page_bytes,
            g.oob_bytes,
        );
        self.flash = Flash::power_on(media, page_buffer, None, FaultPlan::default());
        self.flash.pool_mut().set_quota(OWNER, g.segments);
        let mut recovery = Recovery::new(self.config, &self.flash.view(OWNER, Class::Foreground));
        while recovery.step(&mut self.flash.view(OWNER, Class::Foreground))
            != Step::Done(Ok(Progress::Finished))
        {}
        self.store = recovery.finish();
    }

    fn background(&mut self) {
        let finished = self.flash.finished();
        let view = &mut self.flash.view(OWNER, Class::Background);
        assert!(
            !matches!(
                self.store.background(Job::UPKEEP, finished, &mut Context::new(view, &mut Free)),
                Step::Need(_)
            ),
            "all is resident"
        );
        while let Some((_, done)) = self.flash.take_completion() {
            self.store.completed(&done, &mut self.flash.view(OWNER, Class::Background));
        }
    }

    fn put(&mut self, key: u64, bytes: usize) -> Result<(), KvError> {
        let value = [key as u8; 2048];
        self.until_done(|store, view| {
            let source = &mut Sent(&value[..bytes]);
            store
                .store(&key.to_be_bytes(), source, Condition::Always, &mut Context::new(view, &mut Free))
                .map(|put| put.map(|put| _ = put.ended()))
        })
    }

    fn delete(&mut self, key: u64) -> Result<(), KvError> {
        self.until_done(|store, view| {
            store
                .delete(&key.to_be_bytes(), &mut Context::new(view, &mut Free))
                .map(|deleted| deleted.map(|_| ()))
        })
    }

    fn until_done(
        &mut self,
        mut write: impl FnMut(&mut LsmStore, &mut View<'_>) -> Answer,
    ) -> Result<(), KvError> {
        for _ in 0..TRIES * self.flash.view(OWNER, Class::Foreground).quota_segments() as usize {
            let step = write(&mut self.store, &mut self.flash.view(OWNER, Class::Foreground));
            self.background();
            if let Step::Done(done) = step {
                return done;
            }
        }
        panic!("a write waits for ever: tables {:?}", self.store.tables_by_level());
    }
}

/// Most values are short, one of `rare` is long: tables need as many segments as values, or more.
fn length(rng: &mut Rng, rare: u64) -> usize {
    if rng.below(rare) == 0 { 2048 } else { 8 << rng.below(3) }
}

/// Tables are spread over so many segments that neither the collection under way nor a compaction finds one to go on in.
#[test]
fn a_collection_that_waits_finds_the_segments_of_sparse_tables() {
    let mut full = Full::new(16, 30, Some(Packing::All), true);
    let (seed, pairs) = (Seed(1), 10_000);
    let lengths = &mut seed.rng();
    let mut length = || if lengths.below(10) == 0 { 2048 } else { 8 };
    for key in 0..pairs {
        assert_eq!(full.put(key, length()), Ok(()), "it has room for all");
    }
    for n in 0..4 * pairs {
        let key = seed.child("c").child(&n.to_string()).rng().below(pairs);
        assert_eq!(full.put(key, length()), Ok(()), "replacement {n}");
    }
}

/// Filled until a pair is refused, and then replaced by pairs of other lengths: each is stored or refused, and what is deleted
/// makes room. Where segments have 8 pages and tables two, tables take more than was expected when the last pairs came.
#[test]
fn every_write_of_a_full_store_ends() {
    // Seeds whose deletes were refused (11, 31), or made more tables than there was room to merge (76): they all fitted the open
    // segment, and each manifest wrote a table for a few of them, larger than what it freed. Or whose last value was refused though a
    // quarter of the pairs was deleted: tables of one page had a quarter of it in use (81). Or that waited while collections and
    // manifests, each of which sealed a page that was not full, went on for ever (267).
    for seed in (0..saker_testing::tier(2, scale(4))).chain([11, 31, 76, 81, 116, 267]) {
        ends(seed, Store::default());
    }
}

/// In stores of few segments tables of a few keys each, from deletes in order, took all of them: at least two pages a table. Such a
/// table was moved down as it was, or left over by a merge with a full one (seed 10).
#[test]
fn every_write_of_a_full_store_of_few_segments_ends() {
    for seed in (0..saker_testing::tier(2, scale(4))).chain([10, 222, 326, 536]) {
        ends(seed, Store { has_few: true, ..Store::default() });
    }
}

/// What collections and merges had found out is not known any more then.
#[test]
fn every_write_of_a_full_store_that_was_opened_ends() {
    for seed in saker_testing::seeds(saker_testing::tier(4, scale(8))) {
        ends(seed, Store { has_few: seed.is_multiple_of(2), is_opened: true });
    }
}

#[derive(Clone, Copy, Default)]
struct Store {
    /// Of 14 to 25 segments.
    has_few: bool,
    /// Again, when it is full.
    is_opened: bool,
}

fn ends(seed: u64, Store { has_few, is_opened }: Store) {
    let rng = &mut Seed(seed).child("full").rng();
    let packing = [None, Some(Packing::All), Some(Packing::Backfill)][rng.below(3) as usize];
    let (pages, segments) = if seed < 4 { (8, 20) } else { (8 << rng.below(3), 18 + rng.below(24) as u32) };
    let (pages, segments) = if has_few { (8, 14 + segments % 12) } else { (pages, segments) };
    let rare = if seed < 4 { 200 } else { [2, 10, 200][rng.below(3) as usize] };
    let mut full = Full::new(pages, segments, packing, seed.is_multiple_of(2));
    let mut pairs = 0;
    while full.put(pairs, length(rng, rare)).is_ok() {
        pairs += 1;
    }
    for _ in 0..2 * pairs {
        let (key, bytes) = (rng.below(pairs), length(rng, rare));
        assert!(matches!(full.put(key, bytes), Ok(()) | Err(KvError::CapacityExceeded)));
    }
    if is_opened {
        full.restart(seed);
    }
    for key in 0..pairs / 4 {
        assert_eq!(full.delete(key), Ok(()), "seed {seed}, {pages} pages, {segments} segments");
    }
    assert_eq!(full.put(0, 2048), Ok(()), "seed {seed}, {pages} pages, {segments} segments");
}
