// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A block namespace over the cells and the ring of an image.

use crate::image::flushed::{Flushed, OWNER};
use crate::image::support::RING_SLOTS;
use saker_engine::Progress;
use saker_flash::page_map::recover::Recovery;
use saker_flash::page_map::{PageMap, PageMapConfig};
use saker_flash::{Cells, FaultPlan, Flash};
use saker_segment_store::{PageBuffer, PageBufferMemory, PowerHistory, Step, Tag};
use saker_sim::{Class, Free};

pub struct Blocks {
    pub flash: Flash,
    map: PageMap,
}

impl Blocks {
    pub const BLOCK_BYTES: usize = 512;

    /// Powers on and recovers; says what is damaged.
    pub fn open(media: impl Cells, ring: PageBufferMemory, ring_lasts: bool) -> Result<Self, String> {
        let g = media.shape().geometry;
        let is_new = media.history() == PowerHistory::Clean && media.bytes_in_use() == 0;
        let ring = PageBuffer::new(ring, RING_SLOTS, g.page_bytes, g.oob_bytes);
        let mut flash = Flash::power_on(Box::new(media), ring, None, FaultPlan::default());
        flash.pool_mut().set_quota(OWNER, g.segments);
        let config = PageMapConfig::new(OWNER, &g, g.segments, ring_lasts, Self::BLOCK_BYTES as u32);
        let map = if is_new {
            PageMap::new(config, &flash.view(OWNER, Class::Foreground))
        } else {
            recover(config, &mut flash)?
        };
        let mut this = Self { flash, map };
        this.settle();
        Ok(this)
    }

    fn run<T>(&mut self, mut op: impl FnMut(&mut PageMap, &mut Flash) -> Step<T>) -> T {
        for _ in 0..100_000 {
            let step = op(&mut self.map, &mut self.flash);
            self.go_on();
            match step {
                Step::Done(result) => {
                    if self.map.has_debt(&self.flash.view(OWNER, Class::Foreground)) {
                        self.background();
                    }
                    return result;
                }
                Step::Blocked(_) => self.make_room(),
                Step::Need(_) => panic!("untimed flash is always resident"),
            }
        }
        panic!("no progress");
    }

    pub fn write(&mut self, lba: u64, block: &[u8]) {
        let fill = |_, out: &mut [u8]| {
            out.copy_from_slice(block);
            Ok(())
        };
        self.run(|s, f| s.write(lba, 1, fill, &mut f.view(OWNER, Class::Foreground), &mut Free))
            .expect("writes");
    }

    pub fn trim(&mut self, lba: u64) {
        let trimmed =
            self.run(|s, f| s.deallocate(&[(lba, 1)], &mut f.view(OWNER, Class::Foreground), &mut Free));
        trimmed.expect("trims");
    }

    pub fn read(&mut self, lba: u64) -> Option<Vec<u8>> {
        let mut found = None;
        let deliver = |_, bytes: Option<&[u8]>| {
            found = bytes.map(<[u8]>::to_vec);
            Ok(())
        };
        let step = self.map.read(lba, 1, deliver, &self.flash.view(OWNER, Class::Foreground), &mut Free);
        assert!(matches!(step, Step::Done(Ok(()))), "block {lba}: {step:?}");
        found
    }
}

impl Flushed for Blocks {
    fn flash(&self) -> &Flash {
        &self.flash
    }

    fn flash_mut(&mut self) -> &mut Flash {
        &mut self.flash
    }

    fn program_all(&mut self) -> Tag {
        self.map.flush(&mut self.flash.view(OWNER, Class::Foreground))
    }

    fn is_programmed(&self, tag: Tag) -> bool {
        self.map.is_flushed(tag, self.flash.finished())
    }

    fn settle(&mut self) {
        while let Some((_, done)) = self.flash.take_completion() {
            self.map.completed(&done, &mut self.flash.view(OWNER, Class::Background));
        }
    }

    fn background(&mut self) {
        let finished = self.flash.finished();
        let _ = self.map.background(finished, &mut self.flash.view(OWNER, Class::Background), &mut Free);
        self.settle();
    }
}

fn recover(config: PageMapConfig, flash: &mut Flash) -> Result<PageMap, String> {
    let mut recovery = Recovery::new(config, &flash.view(OWNER, Class::Foreground));
    loop {
        match recovery.step(&mut flash.view(OWNER, Class::Foreground)) {
            Step::Done(Ok(Progress::Finished)) => return Ok(recovery.finish()),
            Step::Done(Ok(Progress::More)) => {}
            Step::Done(Err(damage)) => return Err(damage.to_string()),
            _ => panic!("untimed flash is always resident"),
        }
    }
}
