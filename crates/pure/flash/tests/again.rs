// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocks that are written again while their page fills: they take no more room, and a kill at any moment leaves the last version.

use saker_flash::nand::Shape;
use saker_flash::page_map::gc::Progress as Background;
use saker_flash::page_map::recover::Recovery;
use saker_flash::page_map::{BlockError, PageMap, PageMapConfig};
use saker_flash::{FaultPlan, Flash, MemCells, PowerCut, Timings};
use saker_log::recover::Progress;
use saker_segment_store::{Geometry, PageBuffer, PageBufferMemory, Step, Stream};
use saker_sim::{Class, Free, Seed};

const OWNER: u16 = 1;
const SLOTS: u16 = 24;
const BLOCK: u32 = 512;
const BLOCKS: u64 = 12;
const GEOMETRY: Geometry = Geometry { page_bytes: 2048, oob_bytes: 128, segment_pages: 8, segments: 24 };

struct Bench {
    flash: Flash,
    map: PageMap,
}

impl Bench {
    fn on(mut flash: Flash) -> Self {
        flash.pool_mut().set_quota(OWNER, GEOMETRY.segments);
        let config = PageMapConfig::new(OWNER, &GEOMETRY, GEOMETRY.segments, true, BLOCK);
        let mut recovery = Recovery::new(config, &flash.view(OWNER, Class::Foreground));
        loop {
            match recovery.step(&mut flash.view(OWNER, Class::Foreground)) {
                Step::Done(Ok(Progress::Finished)) => break,
                Step::Done(Ok(Progress::More)) => {}
                other => panic!("{other:?}"),
            }
        }
        let mut bench = Self { flash, map: recovery.finish() };
        bench.settle();
        bench
    }

    fn new() -> Self {
        Self::timed(None)
    }

    /// With `timings` what is programmed is on its way until somebody steps.
    fn timed(timings: Option<Timings>) -> Self {
        let media = MemCells::new(Shape { geometry: GEOMETRY, channels: 2, luns: 4 });
        let page_buffer = PageBuffer::heap(SLOTS, GEOMETRY.page_bytes, GEOMETRY.oob_bytes);
        Self::on(Flash::power_on(media, page_buffer, timings, FaultPlan::default()))
    }

    /// What the next process finds if this one is killed now.
    fn killed(&self) -> Self {
        let (media, page_buffer) = self.flash.cut(PowerCut { seed: 1, ring_kept: true });
        let memory = PageBufferMemory::from_bytes(page_buffer.memory());
        let page_buffer = PageBuffer::new(memory, SLOTS, GEOMETRY.page_bytes, GEOMETRY.oob_bytes);
        Self::on(Flash::power_on(media, page_buffer, None, FaultPlan::default()))
    }

    fn settle(&mut self) {
        while let Some((_, done)) = self.flash.take_completion() {
            self.map.completed(&done, &mut self.flash.view(OWNER, Class::Background));
        }
    }

    /// Writes a block; `ends`: the host's bytes end in the middle of it.
    fn write(&mut self, block: u64, byte: u8, ends: bool) {
        let fill = |_, out: &mut [u8]| {
            out[..200].fill(byte);
            if ends {
                return Err(BlockError::Transfer);
            }
            out.fill(byte);
            Ok(())
        };
        let wanted = if ends { Err(BlockError::Transfer) } else { Ok(()) };
        let mut fill = Some(fill);
        for _ in 0..1000 {
            let view = &mut self.flash.view(OWNER, Class::Foreground);
            let done =
                self.map.write(block, 1, |n, out| fill.as_mut().expect("one block")(n, out), view, &mut Free);
            if let Step::Done(done) = done {
                assert_eq!(done, wanted);
                return;
            }
            self.settle();
            let _ = self.background();
        }
        panic!("no room");
    }

    fn background(&mut self) -> Step<Background> {
        let finished = self.flash.finished();
        self.map.background(finished, &mut self.flash.view(OWNER, Class::Background), &mut Free)
    }

    fn trim(&mut self, block: u64) {
        let view = &mut self.flash.view(OWNER, Class::Foreground);
        assert_eq!(self.map.deallocate(&[(block, 1)], view, &mut Free), Step::Done(Ok(())));
    }

    fn all(&mut self) -> Vec<u8> {
        let mut seen = Vec::new();
        let deliver = |_, bytes: Option<&[u8]>| {
            let byte = bytes.map_or(0, |bytes| bytes[0]);
            assert!(bytes.is_none_or(|bytes| bytes.iter().all(|b| *b == byte)), "a block is whole");
            seen.push(byte);
            Ok(())
        };
        let view = &self.flash.view(OWNER, Class::Foreground);
        assert_eq!(self.map.read(0, BLOCKS as u32, deliver, view, &mut Free), Step::Done(Ok(())));
        assert_eq!(self.map.check(view), Ok(()));
        seen
    }
}

#[test]
fn a_block_that_is_written_again_takes_two_sectors() {
    let mut bench = Bench::new();
    for n in 0..1000_u32 {
        bench.write(5, n as u8, false);
        assert_eq!(bench.all()[5], n as u8);
    }
    let stats = bench.map.log_stats();
    assert_eq!(stats.bytes_appended[Stream::User as usize], 2 * u64::from(BLOCK));
    assert_eq!(stats.pages_programmed[Stream::User as usize], 0);
    assert_eq!(bench.killed().all()[5], 999_u32 as u8);
}

/// The scan behind a checkpoint does not look at sectors before its cut.
#[test]
fn what_a_checkpoint_has_seen_is_not_written_again() {
    for is_killed in [false, true] {
        let mut bench = Bench::new();
        (1..3).for_each(|byte| bench.write(5, byte, false));
        bench.map.begin_checkpoint(&mut bench.flash.view(OWNER, Class::Background));
        (0..30).for_each(|_| {
            let _ = bench.background();
            bench.settle();
        });
        assert_eq!(bench.map.stats().checkpoints, 1);
        if is_killed {
            bench = bench.killed();
        }
        bench.write(5, 3, false);
        bench.write(7, 4, false);
        let seen = bench.killed().all();
        assert_eq!((seen[5], seen[7]), (3, 4), "killed before: {is_killed}");
    }
}

/// A page that is on its way to the flash stays as it is.
#[test]
fn a_page_that_is_full_is_not_written_again() {
    let mut bench = Bench::timed(Some(Timings::FREE));
    (1..3).for_each(|byte| bench.write(5, byte, false));
    (0..2).for_each(|_| bench.trim(9));
    bench.write(7, 4, false);
    bench.write(7, 5, false);
    while let Some(at) = bench.flash.next_at() {
        bench.flash.step(at);
        bench.settle();
    }
    let seen = bench.killed().all();
    assert_eq!((seen[5], seen[7]), (2, 5));
}

/// Whatever came before: checkpoints, trims, collections, writes that ended in the middle, earlier kills.
#[test]
fn a_kill_behind_any_write_leaves_the_last_version_of_each_block() {
    let mut programmed = 0;
    for seed in 0..40 {
        let mut rng = Seed(seed).child("again").rng();
        let (mut bench, mut model) = (Bench::new(), vec![0; BLOCKS as usize]);
        for n in 0..400 {
            let hot = if rng.below(3) > 0 { 2 } else { BLOCKS };
            let (block, byte) = (rng.below(hot), 1 + rng.below(255) as u8);
            match rng.below(40) {
                0 => {
                    bench.map.begin_checkpoint(&mut bench.flash.view(OWNER, Class::Background));
                }
                1 => (0..30).for_each(|_| {
                    let _ = bench.background();
                    bench.settle();
                }),
                2 => {
                    bench.trim(block);
                    model[block as usize] = 0;
                }
                3 | 4 => bench.write(block, byte, true),
                5 => bench = bench.killed(),
                _ => {
                    bench.write(block, byte, false);
                    model[block as usize] = byte;
                }
            }
            bench.settle();
            assert_eq!(bench.all(), model, "seed {seed}, step {n}");
            assert_eq!(bench.killed().all(), model, "seed {seed}, step {n}: killed");
        }
        programmed += bench.map.log_stats().pages_programmed[Stream::User as usize];
    }
    assert!(programmed > 100, "pages are filled: {programmed}");
}
