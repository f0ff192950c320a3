// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A store over untimed flash, for tests that look inside.

use super::recover::Recovery;
use super::{HashFtl, HashFtlConfig};
use crate::transaction::{Ask, OfEngine, Part, transact};
use saker_engine_api::{Condition, Context, Engine, Job, KvError, List, Recover};
use saker_flash::nand::Shape;
use saker_flash::{FaultPlan, Flash, MemCells, PowerCut};
use saker_log::recover::Progress;
use saker_segment_store::{Geometry, PageBuffer, PowerHistory, Reads, Step};
use saker_sim::{Class, Free};

/// 48 segments of 16 pages of a KiB.
pub const G: Geometry = Geometry { page_bytes: 1024, oob_bytes: 192, segment_pages: 16, segments: 48 };
/// The namespace.
pub const OWNER: u16 = 1;

/// A store, and the flash below it.
#[derive(Clone)]
pub struct Bench {
    pub store: HashFtl,
    pub flash: Flash,
}

impl Bench {
    pub fn new(config: HashFtlConfig) -> Self {
        let media = MemCells::new(Shape { geometry: G, channels: 2, luns: 4 });
        let page_buffer = PageBuffer::heap(40, G.page_bytes, G.oob_bytes);
        let mut flash = Flash::power_on(media, page_buffer, None, FaultPlan::default());
        flash.pool_mut().set_quota(OWNER, G.segments);
        Self { store: HashFtl::new(config, &flash.view(OWNER, Class::Foreground)), flash }
    }

    /// Takes completions.
    pub fn settle(&mut self) {
        while let Some((_, done)) = self.flash.take_completion() {
            self.store.completed(&done, &mut self.flash.view(OWNER, Class::Background));
        }
    }

    /// Goes on until it is done, with a quantum of background work behind each attempt.
    fn run<T>(&mut self, mut op: impl FnMut(&mut HashFtl, &mut Flash) -> Step<Result<T, KvError>>) -> T {
        loop {
            let step = op(&mut self.store, &mut self.flash);
            self.quantum();
            if let Step::Done(result) = step {
                return result.expect("it goes well");
            }
        }
    }

    /// A quantum of background work.
    pub fn quantum(&mut self) {
        let finished = self.flash.finished();
        let view = &mut self.flash.view(OWNER, Class::Background);
        let _ = self.store.background(Job::UPKEEP, finished, &mut Context::new(view, &mut Free));
        self.settle();
    }

    /// Stores a pair.
    pub fn put(&mut self, key: u64, value: &[u8]) {
        self.run(|store, flash| {
            let view = &mut flash.view(OWNER, Class::Foreground);
            let always = Condition::Always;
            store.store(&key.to_be_bytes(), &mut &*value, always, &mut Context::new(view, &mut Free))
        });
    }

    /// Deletes a pair.
    pub fn delete(&mut self, key: u64) {
        self.run(|store, flash| {
            let view = &mut flash.view(OWNER, Class::Foreground);
            store.delete(&key.to_be_bytes(), &mut Context::new(view, &mut Free))
        });
    }

    /// All sections go to flash.
    pub fn evict(&mut self) {
        while self.store.table.cache.from_oldest().any(|at| self.store.table.cache.get(at).is_dirty) {
            let view = &mut self.flash.view(OWNER, Class::Background);
            let step = self.store.evict_quantum(view, &mut Free);
            assert!(matches!(step, Step::Done(_)), "{step:?}");
            self.settle();
        }
    }

    /// Deletes a pair in a transaction.
    pub fn delete_together(&mut self, key: u64) {
        let (key, mut pages) = (key.to_be_bytes(), Reads::new());
        let parts = [Part { key: &key, ask: Ask::Delete }];
        loop {
            let (mut view, mut free) = (self.flash.view(OWNER, Class::Foreground), Free);
            let cx = Context::new(&mut view, &mut free);
            let step = transact(&parts, &mut pages, &mut OfEngine { engine: &mut self.store, cx });
            self.quantum();
            if let Step::Done(result) = step {
                return assert!(result.is_ok(), "{result:?}");
            }
        }
    }

    /// What is in the page buffer goes to flash.
    pub fn flush(&mut self) {
        let _ = self.store.flush(&mut self.flash.view(OWNER, Class::Foreground));
        self.settle();
    }

    /// The value of a key.
    pub fn get(&mut self, key: u64) -> Option<Vec<u8>> {
        let mut value = Vec::new();
        let view = &mut self.flash.view(OWNER, Class::Foreground);
        let step = self.store.retrieve(&key.to_be_bytes(), &mut value, &mut Context::new(view, &mut Free));
        match step {
            Step::Done(Ok(_)) => Some(value),
            Step::Done(Err(KvError::NotFound)) => None,
            other => panic!("{other:?}"),
        }
    }

    /// All keys, as List tells them.
    pub fn keys(&mut self) -> Vec<u64> {
        let mut keys = Vec::new();
        let view = &mut self.flash.view(OWNER, Class::Foreground);
        let visit = |key: &[u8]| {
            keys.push(u64::from_be_bytes(key.try_into().expect("eight bytes")));
            true
        };
        let step = self.store.list(&[], visit, &mut Context::new(view, &mut Free));
        assert!(matches!(step, Step::Done(Ok(()))), "{step:?}");
        keys
    }

    /// Power is cut, and the page buffer lost. Faults are those of the life that begins.
    pub fn restart(&mut self, seed: u64, faults: FaultPlan) {
        let history = PowerHistory::Cut { ring_kept: false };
        let (mut media, page_buffer) = self.flash.cut(PowerCut { seed, ring_kept: false });
        media.set_history(history);
        self.flash = Flash::power_on(media, page_buffer, None, faults);
        self.flash.pool_mut().set_quota(OWNER, G.segments);
        let mut recovery = Recovery::new(*self.store.config(), &self.flash.view(OWNER, Class::Foreground));
        while recovery.step(&mut self.flash.view(OWNER, Class::Foreground))
            != Step::Done(Ok(Progress::Finished))
        {}
        self.store = recovery.finish();
        self.settle();
        assert_eq!(self.store.check(&self.flash.view(OWNER, Class::Foreground)), Ok(()));
    }
}
