// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A hash store over the cells and the ring of an image.

use crate::image::flushed::{Flushed, OWNER};
use crate::image::support::RING_SLOTS;
use saker_engine::hash_store::recover::Recovery;
use saker_engine::{
    Condition, Context, Engine, HashStore, HashStoreConfig, Job, KvError, Progress, Recover, Source,
};
use saker_flash::{Cells, FaultPlan, Flash};
use saker_segment_store::{PageBuffer, PageBufferMemory, PowerHistory, Step, Tag};
use saker_sim::{Class, Free};

pub struct Store {
    pub flash: Flash,
    store: HashStore,
}

impl Store {
    /// Powers on and recovers; says what is damaged.
    pub fn open(media: impl Cells, ring: PageBufferMemory, ring_lasts: bool) -> Result<Self, String> {
        let g = media.shape().geometry;
        let is_new = media.history() == PowerHistory::Clean && media.bytes_in_use() == 0;
        let ring = PageBuffer::new(ring, RING_SLOTS, g.page_bytes, g.oob_bytes);
        let mut flash = Flash::power_on(Box::new(media), ring, None, FaultPlan::default());
        flash.pool_mut().set_quota(OWNER, g.segments);
        let config = HashStoreConfig::new(OWNER, &g, g.segments, ring_lasts);
        let store = if is_new {
            HashStore::new(config, &flash.view(OWNER, Class::Foreground))
        } else {
            recover(config, &mut flash)?
        };
        let mut this = Self { flash, store };
        this.settle();
        Ok(this)
    }

    fn run<T>(&mut self, mut op: impl FnMut(&mut HashStore, &mut Flash) -> Step<T>) -> T {
        for _ in 0..100_000 {
            let step = op(&mut self.store, &mut self.flash);
            self.go_on();
            match step {
                Step::Done(result) => {
                    if self.store.job(&self.flash.view(OWNER, Class::Foreground)).is_some() {
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

    pub fn put(&mut self, key: &[u8], mut value: &[u8]) {
        self.put_from(key, &mut value).expect("there is space");
    }

    pub fn put_from(&mut self, key: &[u8], value: &mut impl Source) -> Result<(), KvError> {
        let always = Condition::Always;
        self.run(|s, f| {
            s.store(key, value, always, &mut Context::new(&mut f.view(OWNER, Class::Foreground), &mut Free))
        })
        .map(|put| _ = put.ended())
    }

    pub fn delete(&mut self, key: &[u8]) -> bool {
        match self
            .run(|s, f| s.delete(key, &mut Context::new(&mut f.view(OWNER, Class::Foreground), &mut Free)))
        {
            Ok(_) => true,
            Err(KvError::NotFound) => false,
            Err(other) => panic!("{other}"),
        }
    }

    pub fn get(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        match self.run(|s, f| {
            s.retrieve(key, &mut out, &mut Context::new(&mut f.view(OWNER, Class::Foreground), &mut Free))
        }) {
            Ok(_) => Some(out),
            Err(KvError::NotFound) => None,
            Err(other) => panic!("{other}"),
        }
    }
}

impl Flushed for Store {
    fn flash(&self) -> &Flash {
        &self.flash
    }

    fn flash_mut(&mut self) -> &mut Flash {
        &mut self.flash
    }

    fn program_all(&mut self) -> Tag {
        self.store.flush(&mut self.flash.view(OWNER, Class::Foreground))
    }

    fn is_programmed(&self, tag: Tag) -> bool {
        self.store.is_flushed(tag, self.flash.finished())
    }

    fn settle(&mut self) {
        while let Some((_, done)) = self.flash.take_completion() {
            self.store.completed(&done, &mut self.flash.view(OWNER, Class::Background));
        }
    }

    fn background(&mut self) {
        let finished = self.flash.finished();
        let _ = self.store.background(
            Job::UPKEEP,
            finished,
            &mut Context::new(&mut self.flash.view(OWNER, Class::Background), &mut Free),
        );
        self.settle();
    }
}

fn recover(config: HashStoreConfig, flash: &mut Flash) -> Result<HashStore, String> {
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
