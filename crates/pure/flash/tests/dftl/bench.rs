// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A namespace on flash with or without time, and whoever drives it.

use saker_flash::nand::Shape;
use saker_flash::page_map::entry::sector;
use saker_flash::page_map::gc::Progress as Background;
use saker_flash::page_map::recover::Recovery;
use saker_flash::page_map::{BlockError, PageMap, PageMapConfig};
use saker_flash::{FaultPlan, Flash, MemCells, Pinned, PowerCut, Timings};
use saker_log::recover::Progress;
use saker_segment_store::{
    Geometry, Page, PageAddr, PageBuffer, PageBufferMemory, PowerHistory, SegmentStore, Step,
};
use saker_sim::{Class, Free};
use std::collections::BTreeMap;

pub const OWNER: u16 = 1;
pub const SLOTS: u16 = 24;
pub const BLOCK: u32 = 64;
/// A translation page has 16 blocks, a segment 64 sectors.
pub const GEOMETRY: Geometry = Geometry { page_bytes: 512, oob_bytes: 192, segment_pages: 8, segments: 64 };
/// The smallest cached mapping table.
pub const LEAST: u64 = PageMapConfig::map_cache_bytes_min(&GEOMETRY, BLOCK);

/// How a bench is built.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    pub cache: u64,
    pub ring_lasts: bool,
    pub is_timed: bool,
    pub faults: FaultPlan,
}

impl Terms {
    pub fn new(cache: u64) -> Self {
        Self { cache, ring_lasts: true, is_timed: false, faults: FaultPlan::default() }
    }

    pub fn config(&self) -> PageMapConfig {
        let config = PageMapConfig::new(OWNER, &GEOMETRY, GEOMETRY.segments, self.ring_lasts, BLOCK);
        let config = config.with_map_cache(&GEOMETRY, GEOMETRY.segments, self.cache);
        // Checkpoints come often.
        PageMapConfig { checkpoint_bytes: 4 * GEOMETRY.segment_bytes(), ..config }
    }
}

#[derive(Debug)]
pub struct Bench {
    pub terms: Terms,
    pub flash: Flash,
    pub map: PageMap,
    /// The next media operation after each one behind which a segment was erased.
    pub behind_erases: Vec<u64>,
    erased: u64,
}

/// Brings pages, whatever else happens meanwhile.
fn bring(flash: &mut Flash, pages: &[PageAddr]) -> Option<Pinned> {
    let pinned = flash.bring(pages, Class::Foreground)?;
    while flash.is_powered() && flash.take_ready() != Some(pinned.batch()) {
        let at = flash.next_at().expect("a read is on its way");
        flash.step(at);
    }
    Some(pinned)
}

impl Bench {
    pub fn new(terms: Terms) -> Self {
        let media = MemCells::new(Shape { geometry: GEOMETRY, channels: 2, luns: 4 });
        let page_buffer = PageBuffer::heap(SLOTS, GEOMETRY.page_bytes, GEOMETRY.oob_bytes);
        Self::on(media, page_buffer, terms).expect("it is empty")
    }

    /// Powers on and recovers; `Err`: power was cut again, and what that leaves.
    pub fn on(media: MemCells, page_buffer: PageBuffer, terms: Terms) -> Result<Self, Box<Flash>> {
        let timings = terms.is_timed.then_some(Timings::FREE);
        let mut flash = Flash::power_on(media, page_buffer, timings, terms.faults);
        flash.pool_mut().set_quota(OWNER, GEOMETRY.segments);
        let mut recovery = Recovery::new(terms.config(), &flash.view(OWNER, Class::Foreground));
        let mut pinned: Option<Pinned> = None;
        loop {
            let step = recovery.step(&mut flash.view(OWNER, Class::Foreground));
            pinned.take().into_iter().for_each(|pinned| flash.unpin(pinned));
            if !flash.is_powered() {
                return Err(Box::new(flash));
            }
            match step {
                Step::Done(Ok(Progress::Finished)) => break,
                Step::Done(Ok(Progress::More)) => {}
                Step::Need(pages) => pinned = bring(&mut flash, &pages),
                other => panic!("{other:?}"),
            }
        }
        let mut bench = Self { terms, flash, map: recovery.finish(), behind_erases: Vec::new(), erased: 0 };
        bench.settle();
        bench.check();
        Ok(bench)
    }

    /// What is left after a cut.
    pub fn left(flash: &Flash, seed: u64, ring_kept: bool) -> (MemCells, PageBuffer) {
        let (mut media, page_buffer) = flash.cut(PowerCut { seed, ring_kept });
        media.set_history(PowerHistory::Cut { ring_kept });
        let memory = PageBufferMemory::from_bytes(page_buffer.memory());
        (media, PageBuffer::new(memory, SLOTS, GEOMETRY.page_bytes, GEOMETRY.oob_bytes))
    }

    /// What the next run finds. Unless `recut` is 0 power is cut once more: at that operation of the recovery, or behind it.
    pub fn restarted(&self, seed: u64, recut: u64) -> Self {
        let terms = Terms { faults: FaultPlan::default(), ..self.terms };
        let (mut media, mut page_buffer) = Self::left(&self.flash, seed, terms.ring_lasts);
        if recut > 0 {
            let cut = Terms { faults: FaultPlan { cut_at: recut, ..terms.faults }, ..terms };
            let flash = Self::on(media, page_buffer, cut).map_or_else(|flash| *flash, |bench| bench.flash);
            (media, page_buffer) = Self::left(&flash, seed + 1, terms.ring_lasts);
        }
        Self::on(media, page_buffer, terms).expect("power stays")
    }

    pub fn check(&mut self) {
        let checked = self.map.check(&self.flash.view(OWNER, Class::Foreground));
        assert_eq!(checked, Ok(()), "{:?}", self.terms);
    }

    pub fn settle(&mut self) {
        self.handle_completions();
        let erased = self.flash.stats().segments_erased;
        if std::mem::replace(&mut self.erased, erased) < erased {
            self.behind_erases.push(self.flash.operations() + 1);
        }
    }

    fn handle_completions(&mut self) {
        loop {
            while let Some((_, done)) = self.flash.take_completion() {
                self.map.completed(&done, &mut self.flash.view(OWNER, Class::Background));
            }
            let Some(at) = self.flash.next_at().filter(|_| self.flash.is_powered()) else { return };
            self.flash.step(at);
        }
    }

    /// What the out-of-band entries of all pages on flash say: a version is of one sector, wherever copies of it are.
    pub fn check_versions(&mut self) {
        let view = &self.flash.view(OWNER, Class::Background);
        let mut seen = BTreeMap::new();
        for at in (0..u64::from(GEOMETRY.segments * GEOMETRY.segment_pages)).map(PageAddr) {
            let Page::Resident { data, oob } = view.page(at) else { continue };
            for (_, e) in (0..8).filter_map(|n| sector(data, oob, n, BLOCK as usize)) {
                let first = *seen.entry(e.version).or_insert(e);
                assert_eq!(first, e, "a version is given once");
            }
        }
    }

    /// Goes on with something until it is done. `None`: power was cut before. What is not done has changed nothing that can be seen.
    pub fn run<T>(&mut self, mut op: impl FnMut(&mut PageMap, &mut Flash) -> Step<T>) -> Option<T> {
        let mut pinned: Option<Pinned> = None;
        for _ in 0..20_000 {
            let before = self.map.digest();
            let step = op(&mut self.map, &mut self.flash);
            pinned.take().into_iter().for_each(|pinned| self.flash.unpin(pinned));
            if !self.flash.is_powered() {
                return None;
            }
            match step {
                Step::Done(done) => return Some(done),
                Step::Need(pages) => {
                    assert_eq!(self.map.digest(), before, "what needs pages changes nothing");
                    pinned = bring(&mut self.flash, &pages);
                }
                Step::Blocked(_) => {
                    assert_eq!(self.map.digest(), before, "what waits changes nothing");
                    self.settle();
                    self.background();
                }
            }
        }
        panic!("no progress: {:?}", self.terms);
    }

    /// One piece of background work, with its pages.
    pub fn background(&mut self) -> Background {
        let mut pinned: Option<Pinned> = None;
        loop {
            let finished = self.flash.finished();
            let view = &mut self.flash.view(OWNER, Class::Background);
            let step = self.map.background(finished, view, &mut Free);
            pinned.take().into_iter().for_each(|pinned| self.flash.unpin(pinned));
            match step {
                Step::Need(pages) if self.flash.is_powered() => pinned = bring(&mut self.flash, &pages),
                Step::Done(progress) => return progress,
                Step::Need(_) | Step::Blocked(_) => return Background::Waiting,
            }
        }
    }

    /// What is due of it.
    pub fn look_after(&mut self) {
        self.settle();
        if self.map.has_debt(&self.flash.view(OWNER, Class::Background)) {
            self.background();
        }
    }

    /// Background work until there is none.
    pub fn rest(&mut self) {
        for _ in 0..5000 {
            self.settle();
            if self.background() == Background::Idle || !self.flash.is_powered() {
                return;
            }
        }
        panic!("background work has no end: {:?}", self.terms);
    }

    /// Writes blocks with this stamp.
    pub fn write(&mut self, first: u64, blocks: u32, stamp: u32) -> Option<()> {
        let fill = |_: u32, out: &mut [u8]| {
            out.as_chunks_mut().0.iter_mut().for_each(|word| *word = stamp.to_le_bytes());
            Ok(())
        };
        let done = self.run(|map, flash| {
            map.write(first, blocks, fill, &mut flash.view(OWNER, Class::Foreground), &mut Free)
        });
        done.map(|done| assert_eq!(done, Ok(())))
    }

    pub fn trim(&mut self, ranges: &[(u64, u64)]) -> Option<()> {
        let done = self
            .run(|map, flash| map.deallocate(ranges, &mut flash.view(OWNER, Class::Foreground), &mut Free));
        done.map(|done| assert_eq!(done, Ok(())))
    }

    /// The stamps of blocks; 0: zeros.
    pub fn read(&mut self, first: u64, blocks: u32) -> Option<Vec<u32>> {
        let mut seen = vec![0; blocks as usize];
        let deliver = |seen: &mut Vec<u32>, n: u32, bytes: Option<&[u8]>| {
            let (words, _) = bytes.unwrap_or(&[0; BLOCK as usize]).as_chunks();
            assert!(words.iter().all(|word| *word == words[0]), "a block is whole");
            seen[n as usize] = u32::from_le_bytes(words[0]);
            Ok::<_, BlockError>(())
        };
        let done = self.run(|map, flash| {
            let view = &flash.view(OWNER, Class::Foreground);
            map.read(first, blocks, |n, bytes| deliver(&mut seen, n, bytes), view, &mut Free)
        });
        done.map(|done| assert_eq!(done, Ok(())))?;
        Some(seen)
    }

    /// All blocks, a few at a time.
    pub fn all(&mut self) -> Vec<u32> {
        let blocks = self.terms.config().blocks;
        let parts = (0..blocks).step_by(16);
        parts
            .flat_map(|first| self.read(first, (blocks - first).min(16) as u32).expect("power stays"))
            .collect()
    }

    pub fn flush(&mut self) -> Option<()> {
        let tag = self.map.flush(&mut self.flash.view(OWNER, Class::Foreground));
        for _ in 0..20_000 {
            self.settle();
            if !self.flash.is_powered() {
                return None;
            }
            if self.map.is_flushed(tag, self.flash.finished()) {
                let _ = self.flash.view(OWNER, Class::Foreground).sync();
                self.settle();
                return Some(());
            }
            self.background();
        }
        panic!("a flush has no end");
    }
}
