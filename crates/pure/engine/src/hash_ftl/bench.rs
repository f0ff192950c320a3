// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A store over untimed flash, for tests that look inside.

use super::{HashFtl, HashFtlConfig};
use saker_engine_api::{Condition, Context, Engine, Job};
use saker_flash::nand::Shape;
use saker_flash::{FaultPlan, Flash, MemCells};
use saker_segment_store::{Geometry, PageBuffer, Step};
use saker_sim::{Class, Free};

/// 48 segments of 16 pages of a KiB.
pub const G: Geometry = Geometry { page_bytes: 1024, oob_bytes: 192, segment_pages: 16, segments: 48 };
/// The namespace.
pub const OWNER: u16 = 1;

/// A store, and the flash below it.
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

    /// Stores a pair, with a quantum of background work behind each attempt.
    pub fn put(&mut self, key: u64, value: &[u8]) {
        loop {
            let view = &mut self.flash.view(OWNER, Class::Foreground);
            let step = self.store.store(
                &key.to_be_bytes(),
                &mut &*value,
                Condition::Always,
                &mut Context::new(view, &mut Free),
            );
            let finished = self.flash.finished();
            let view = &mut self.flash.view(OWNER, Class::Background);
            let _ = self.store.background(Job::UPKEEP, finished, &mut Context::new(view, &mut Free));
            self.settle();
            if let Step::Done(result) = step {
                return assert!(result.is_ok(), "{result:?}");
            }
        }
    }
}
