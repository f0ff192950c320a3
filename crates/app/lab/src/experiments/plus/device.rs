//! A hash FTL over flash without time: preconditioned, then YCSB A with uniform keys.

use crate::error::LabError;
use saker_engine::Condition;
use saker_engine::hash_ftl::{FtlStats, HashFtl, HashFtlConfig};
use saker_flash::nand::Shape;
use saker_flash::{FaultPlan, Flash, MemMedia};
use saker_medium::{Geometry, Ring, Step};
use saker_sim::{Class, Free, Meter, Seed};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const OWNER: u16 = 1;
const PAGE_BYTES: u32 = 4096;
const SUPERBLOCK_PAGES: u32 = 2048;
/// Fewer than this, and spare superblocks would be a large part of the device.
const SUPERBLOCKS_MIN: u64 = 64;
/// The smallest device: tests run everything once.
const DEVICE_BYTES_MIN: u64 = 32 << 20;
const RING_SLOTS: u16 = 256;
const VALUE_BYTES: usize = 1000;
/// Quanta of background work after which an operation counts as stuck.
const TRIES_MAX: u32 = 100_000;

/// The two FTLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ftl {
    /// Fixed sections, grain bitmap, 512-B grains.
    Original,
    /// Live-only sections, invalid mapping pages, 64-B grains.
    Plus,
}

/// How large a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size {
    /// Bytes of flash.
    pub bytes: u64,
    /// Pairs.
    pub pairs: u64,
    /// Operations of YCSB A.
    pub operations: u64,
    /// The seed.
    pub seed: u64,
}

impl Size {
    /// The published run by a scale.
    pub fn of(superblocks: u64, pairs: u64, operations: u64, scale: u32, seed: u64) -> Self {
        let published = superblocks * u64::from(SUPERBLOCK_PAGES * PAGE_BYTES);
        let bytes = (published / u64::from(scale.max(1))).max(DEVICE_BYTES_MIN);
        let of = |n: u64| (u128::from(n) * u128::from(bytes) / u128::from(published)) as u64;
        Self { bytes, pairs: of(pairs), operations: of(operations).max(1000), seed }
    }
}

/// What one run of YCSB A did, and the load it ran at.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Counters of the run alone.
    pub ftl: FtlStats,
    /// Updates among its operations.
    pub updates: u64,
    /// Operations.
    pub operations: u64,
    /// Pages programmed in it.
    pub pages_programmed: u64,
    /// Pairs per hash index.
    pub load: f64,
    /// Segments collected in it.
    pub collections: u64,
}

type Runs = BTreeMap<(Ftl, Size), Arc<Measured>>;
static RUNS: Mutex<Runs> = Mutex::new(Runs::new());

/// The run of that size; once for all experiments that look at it.
///
/// # Errors
/// [`LabError`] for an operation that was refused.
pub fn measure(ftl: Ftl, size: Size) -> Result<Arc<Measured>, LabError> {
    let mut runs = RUNS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = runs.get(&(ftl, size)) {
        return Ok(known.clone());
    }
    let measured = Arc::new(run(ftl, size)?);
    runs.insert((ftl, size), measured.clone());
    Ok(measured)
}

fn run(ftl: Ftl, size: Size) -> Result<Measured, LabError> {
    let mut device = Device::new(ftl, size, Free);
    let mut rng = Seed(size.seed).child("plus").rng();
    let order = saker_workload::Permutation::new(rng.next_u64(), size.pairs);
    for n in 0..size.pairs {
        device.store(order.map(n))?;
    }
    for _ in 0..size.pairs {
        device.store(rng.below(size.pairs))?;
    }
    let (before, programmed) = (device.store.ftl_stats(), device.flash.stats().pages_programmed);
    let collected = device.store.stats().gc_segments;
    let mut updates = 0;
    for _ in 0..size.operations {
        let key = rng.below(size.pairs);
        if rng.below(2) == 0 {
            device.store(key)?;
            updates += 1;
        } else {
            device.retrieve(key)?;
        }
    }
    Ok(Measured {
        ftl: device.store.ftl_stats().since(&before),
        updates,
        operations: size.operations,
        pages_programmed: device.flash.stats().pages_programmed - programmed,
        load: size.pairs as f64 / device.store.config().slots as f64,
        collections: device.store.stats().gc_segments - collected,
    })
}

/// A store over untimed flash.
pub struct Device<W> {
    flash: Flash<MemMedia>,
    store: HashFtl,
    value: Vec<u8>,
    /// Takes note of its work.
    pub meter: W,
}

impl<W: Meter> Device<W> {
    /// An empty one.
    pub fn new(ftl: Ftl, size: Size, meter: W) -> Self {
        let mut segment_pages = SUPERBLOCK_PAGES;
        while size.bytes / u64::from(segment_pages * PAGE_BYTES) < SUPERBLOCKS_MIN {
            segment_pages /= 2;
        }
        let segments = (size.bytes / u64::from(segment_pages * PAGE_BYTES)) as u32;
        let oob_bytes = HashFtlConfig::oob_bytes(PAGE_BYTES, 64);
        let geometry = Geometry { page_bytes: PAGE_BYTES, oob_bytes, segment_pages, segments };
        let config = match ftl {
            Ftl::Original => HashFtlConfig::original(OWNER, &geometry, segments, true, 512),
            Ftl::Plus => HashFtlConfig::plus(OWNER, &geometry, segments, true),
        };
        let ring = Ring::heap(RING_SLOTS, PAGE_BYTES, oob_bytes);
        let media = MemMedia::new(Shape { geometry, channels: 8, luns: 64 });
        let mut flash = Flash::power_on(media, ring, None, FaultPlan::default());
        flash.pool_mut().set_quota(OWNER, segments);
        let store = HashFtl::new(config, &flash.view(OWNER, Class::Foreground));
        Self { flash, store, value: vec![7; VALUE_BYTES], meter }
    }

    fn settle(&mut self) {
        while let Some((_, done)) = self.flash.take_completion() {
            self.store.completed(&done, &mut self.flash.view(OWNER, Class::Background));
        }
    }

    fn background(&mut self) {
        let finished = self.flash.finished();
        let mut view = self.flash.view(OWNER, Class::Background);
        // A quantum that could do nothing now is asked for again.
        let _ = self.store.background(finished, &mut view, &mut self.meter);
        self.settle();
    }

    fn done<T>(&mut self, mut op: impl FnMut(&mut Self) -> Step<T>) -> Result<T, LabError> {
        for _ in 0..TRIES_MAX {
            if let Step::Done(t) = op(self) {
                self.settle();
                if self.store.has_debt(&self.flash.view(OWNER, Class::Foreground)) {
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
            d.store.store(&key, &mut d.value.as_slice(), Condition::Always, &mut view, &mut d.meter)
        })?;
        stored.map_err(|e| LabError::Missing(format!("room for a pair: {e}")))
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
            d.store.retrieve(&key, &mut out, &mut view, &mut d.meter)
        })?;
        found.map(drop).map_err(|e| LabError::Missing(format!("a pair: {e}")))
    }
}
