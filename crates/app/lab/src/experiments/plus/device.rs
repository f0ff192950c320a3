// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Original over flash without time, whose work a meter counts.

use super::size::Size;
use crate::error::LabError;
use saker_engine::hash_ftl::{HashFtl, HashFtlConfig, settings};
use saker_engine::{Condition, Context, Engine, Job, Settings};
use saker_flash::nand::{Cells, CompactCells, Shape};
use saker_flash::{FaultPlan, Flash};
use saker_segment_store::{Geometry, PageBuffer, Step};
use saker_sim::{Class, Meter};

const OWNER: u16 = 1;
const RING_SLOTS: u16 = 256;
const VALUE_BYTES: usize = 1000;
/// As the paper's disk; without time they only divide a superblock.
const LUNS: u32 = 64;
const GRAIN_BYTES: u32 = 512;
/// Quanta of background work after which an operation counts as stuck.
const TRIES_MAX: u32 = 100_000;

/// A store over untimed flash.
#[derive(Clone)]
pub struct Device<W> {
    flash: Flash,
    store: HashFtl,
    value: Vec<u8>,
    /// Takes note of its work.
    pub meter: W,
}

impl<W: Meter> Device<W> {
    /// An empty one.
    pub fn new(size: Size, meter: W) -> Self {
        let Size { superblocks, superblock_pages, page_bytes, .. } = size;
        let oob_bytes = HashFtlConfig::oob_bytes(page_bytes, GRAIN_BYTES);
        let geometry =
            Geometry { page_bytes, oob_bytes, segment_pages: superblock_pages, segments: superblocks };
        let config = HashFtlConfig::original(OWNER, &geometry, superblocks, true, GRAIN_BYTES);
        let config = settings::apply(&size.tune(&Settings::NONE, VALUE_BYTES as u64), config);
        let ring = PageBuffer::heap(RING_SLOTS, page_bytes, oob_bytes);
        let media = CompactCells::new(Shape { geometry, channels: 8, luns: LUNS.min(superblock_pages) });
        let mut flash = Flash::power_on(media, ring, None, FaultPlan::default());
        flash.pool_mut().set_quota(OWNER, superblocks);
        let store = HashFtl::new(config, &flash.view(OWNER, Class::Foreground));
        Self { flash, store, value: vec![7; VALUE_BYTES], meter }
    }

    fn settle(&mut self) {
        while let Some((_, done)) = self.flash.take_completion() {
            self.store.completed(&done, &mut self.flash.view(OWNER, Class::Background));
        }
        self.flash.media_mut().settle();
    }

    fn background(&mut self) {
        let finished = self.flash.finished();
        let mut view = self.flash.view(OWNER, Class::Background);
        // A quantum that could do nothing now is asked for again.
        let _ = self.store.background(Job::UPKEEP, finished, &mut Context::new(&mut view, &mut self.meter));
        self.settle();
    }

    fn done<T>(&mut self, mut op: impl FnMut(&mut Self) -> Step<T>) -> Result<T, LabError> {
        for _ in 0..TRIES_MAX {
            if let Step::Done(t) = op(self) {
                self.settle();
                if self.store.job(&self.flash.view(OWNER, Class::Foreground)).is_some() {
                    self.background();
                }
                return Ok(t);
            }
            self.settle();
            self.background();
        }
        Err(LabError::Missing("room in a hash FTL".to_owned()))
    }

    /// Stores a value of 1000 bytes.
    ///
    /// # Errors
    /// [`LabError`] if it is refused.
    pub fn store(&mut self, key: u64) -> Result<(), LabError> {
        let key = key.to_be_bytes();
        let stored = self.done(|d| {
            let mut view = d.flash.view(OWNER, Class::Foreground);
            d.store.store(
                &key,
                &mut d.value.as_slice(),
                Condition::Always,
                &mut Context::new(&mut view, &mut d.meter),
            )
        })?;
        stored.map(|put| _ = put.ended()).map_err(|e| LabError::Missing(format!("room for a pair: {e}")))
    }

    /// Retrieves a value.
    ///
    /// # Errors
    /// [`LabError`] if it is not there.
    pub fn retrieve(&mut self, key: u64) -> Result<(), LabError> {
        let key = key.to_be_bytes();
        let mut out = Vec::with_capacity(VALUE_BYTES);
        let found = self.done(|d| {
            out.clear();
            let mut view = d.flash.view(OWNER, Class::Foreground);
            d.store.retrieve(&key, &mut out, &mut Context::new(&mut view, &mut d.meter))
        })?;
        found.map(drop).map_err(|e| LabError::Missing(format!("a pair: {e}")))
    }
}
