//! Packing in the NAND page buffer: sections 2.4 and 4.3. Every workload goes through the policies of `saker_flash`;
//! counts are judged by an oracle, times by a model of one store after another.

pub mod all;
mod clock;
pub mod fig11;
pub mod fig12;
pub mod fig4;
mod index;
mod oracle;
mod workload;

use crate::report::Point;
use clock::{Clock, Times};
use saker_flash::packing::{All, Arrival, Auto, Backfill, Block, BufferShape, Goal, Packing, Selective};
use saker_sim::profile::Profile;
use serde_json::{Value, json};

/// A policy of the paper or our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Block,
    All,
    Selective,
    Backfill,
    /// Ours, for few pages.
    Auto,
    /// Ours, for little time.
    AutoTime,
}

impl Policy {
    /// Those of the paper.
    pub const PAPER: [Self; 4] = [Self::Block, Self::All, Self::Selective, Self::Backfill];
    /// Ours.
    pub const OURS: [Self; 2] = [Self::Auto, Self::AutoTime];

    /// Its name in series.
    pub fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::All => "all",
            Self::Selective => "select",
            Self::Backfill => "backfill",
            Self::Auto => "auto",
            Self::AutoTime => "auto-time",
        }
    }

    fn make(self, shape: BufferShape, times: &Times) -> Box<dyn Packing> {
        match self {
            Self::Block => Box::new(Block::new(shape)),
            Self::All => Box::new(All::new(shape)),
            Self::Selective => Box::new(Selective::new(shape)),
            Self::Backfill => Box::new(Backfill::new(shape)),
            Self::Auto => Box::new(Auto::new(shape, Goal::Pages)),
            Self::AutoTime => Box::new(Auto::new(
                shape,
                Goal::Time { copy_byte_ps: times.copy_byte_ps, page_ps: times.page_ps() },
            )),
        }
    }

    /// The oracle's count, of a policy of the paper.
    fn oracle(self, values: &[Arrival], buffer_pages: u64) -> Option<oracle::Count> {
        let values: Vec<oracle::Value> =
            values.iter().map(|v| (u64::from(v.bytes()), matches!(v, Arrival::Dma(_)))).collect();
        match self {
            Self::Block => Some(oracle::block(&values)),
            Self::All => Some(oracle::all(&values)),
            Self::Selective => Some(oracle::selective(&values)),
            Self::Backfill => Some(oracle::backfill(&values, buffer_pages)),
            Self::Auto | Self::AutoTime => None,
        }
    }
}

/// The page buffer of a profile.
pub fn buffer(profile: &Profile) -> BufferShape {
    let page_bytes = profile.geometry.page_bytes.value;
    let pages = profile.firmware.write_buffer_bytes.value / u64::from(page_bytes);
    BufferShape { page_bytes, unit_bytes: 4096, pages: pages as u32 }
}

/// What a policy came to on a workload.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packed {
    /// Stores.
    pub stores: u64,
    /// Bytes of values.
    pub bytes: u64,
    /// NAND pages.
    pub pages: u64,
    /// Bytes copied by a core.
    pub copied: u64,
    /// Of them for values that came by DMA.
    pub copied_dma: u64,
    /// Mean time of a store in microseconds.
    pub us: f64,
}

impl Packed {
    /// Packs a workload and keeps time.
    pub fn run(shape: BufferShape, policy: Policy, values: &[Arrival], times: &Times) -> Self {
        let mut packing = policy.make(shape, times);
        let mut clock = Clock::new(shape, times);
        let mut packed = Self { stores: values.len() as u64, ..Self::default() };
        for value in values {
            packing.note_buffered(clock.buffered());
            let copied = u64::from(packing.place(*value).copied_bytes);
            let copied_dma = if matches!(value, Arrival::Dma(_)) { copied } else { 0 };
            packed.bytes += u64::from(value.bytes());
            (packed.copied, packed.copied_dma) = (packed.copied + copied, packed.copied_dma + copied_dma);
            clock.store(*value, copied_dma, shape.page_of(packing.settled()));
        }
        packed.pages = shape.pages_to(packing.end());
        packed.us = clock.now_ns() / 1000.0 / packed.stores.max(1) as f64;
        packed
    }

    /// Pages of a store.
    pub fn pages_per_store(&self) -> f64 {
        self.pages as f64 / self.stores.max(1) as f64
    }

    fn point<const N: usize>(&self, place: [(&str, Value); N], policy: Policy) -> Point {
        let mut point = Point::at(place);
        point.at.insert("policy".to_owned(), json!(policy.name()));
        point.add("nand_pages", self.pages as f64);
        point.add("nand_pages_per_operation", self.pages_per_store());
        point.add("copied_bytes_per_operation", self.copied as f64 / self.stores.max(1) as f64);
        point.add("response_us_mean", self.us);
        point.add("operations_per_s", 1e6 / self.us);
        point
    }
}
