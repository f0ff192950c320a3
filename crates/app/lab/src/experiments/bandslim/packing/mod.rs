// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packing in the NAND page buffer: sections 2.4 and 4.3. Section 4.3's workloads go the path of the engine `lsm` in virtual time;
//! pages and copies are judged by an oracle of records. Beside it stands the board's own path ([`board`]): bare values, which sections 2.3 and
//! 3.3 place, one store after another.

pub mod all;
mod backfill;
mod board;
mod clock;
pub mod fig11;
pub mod fig12;
pub mod fig4;
mod index;
mod oracle;
mod path;
mod records;
mod workload;

use crate::report::Point;
use backfill::Backfill;
use clock::{Clock, Times};
use saker_flash::packing::{All, Arrival, Block, BufferShape, Packing, Selective, pack};
use saker_profile::Profile;
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

    /// As the engine has it.
    fn of_engine(self) -> saker_device::Packing {
        match self {
            Self::Block => saker_device::Packing::Block,
            Self::All => saker_device::Packing::All,
            Self::Selective => saker_device::Packing::Selective,
            Self::Backfill => saker_device::Packing::Backfill,
            Self::Auto => saker_device::Packing::Auto,
            Self::AutoTime => saker_device::Packing::AutoTime,
        }
    }

    /// An oracle's count of values without heads, as the paper places them; of a policy of the paper.
    fn bare(self, values: &[Arrival], buffer_pages: u64) -> Option<oracle::Count> {
        let values = plain(values);
        match self {
            Self::Block => Some(oracle::block(&values)),
            Self::All => Some(oracle::all(&values)),
            Self::Selective => Some(oracle::selective(&values)),
            Self::Backfill => Some(oracle::backfill(&values, buffer_pages)),
            Self::Auto | Self::AutoTime => None,
        }
    }
}

/// Values as the oracles have them.
fn plain(values: &[Arrival]) -> Vec<oracle::Value> {
    values.iter().map(|v| (u64::from(v.bytes()), matches!(v, Arrival::Dma(_)))).collect()
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
    /// Mean time of a store in microseconds.
    pub us: f64,
}

impl Packed {
    /// Packs bare values by a policy of the paper, as the board does, and keeps time.
    pub fn bare(policy: Policy, shape: BufferShape, values: &[Arrival], times: &Times) -> Self {
        match policy {
            Policy::Block => Self::by(&mut Block::new(shape), shape, values, times),
            Policy::All => Self::by(&mut All::new(shape), shape, values, times),
            Policy::Selective => Self::by(&mut Selective::new(shape), shape, values, times),
            Policy::Backfill => Self::by(&mut Backfill::new(shape), shape, values, times),
            Policy::Auto | Policy::AutoTime => unreachable!("a policy of the paper"),
        }
    }

    /// Pages of bare values alone.
    pub fn pages_of(policy: Policy, shape: BufferShape, values: &[Arrival]) -> u64 {
        let count = |packing: &mut dyn Packing| pack(&shape, packing, values.iter().copied()).pages;
        match policy {
            Policy::Block => count(&mut Block::new(shape)),
            Policy::All => count(&mut All::new(shape)),
            Policy::Selective => count(&mut Selective::new(shape)),
            Policy::Backfill => count(&mut Backfill::new(shape)),
            Policy::Auto | Policy::AutoTime => unreachable!("a policy of the paper"),
        }
    }

    fn by(packing: &mut dyn Packing, shape: BufferShape, values: &[Arrival], times: &Times) -> Self {
        let mut clock = Clock::new(shape, times);
        let mut packed = Self { stores: values.len() as u64, ..Self::default() };
        for value in values {
            let copied = packing.place(*value).copied_bytes;
            packed.copied += u64::from(copied);
            packed.bytes += u64::from(value.bytes());
            clock.store(*value, copied, shape.page_of(packing.settled()));
        }
        packed.pages = shape.pages_to(packing.end());
        clock.end(packed.pages);
        packed.us = clock.now_ns() / 1000.0 / packed.stores.max(1) as f64;
        packed
    }

    /// The same with an index that takes so many nanoseconds of each store.
    pub fn with_index(self, ns: f64) -> Self {
        Self { us: self.us + ns / 1000.0, ..self }
    }

    /// Whether pages and copies are those of an oracle.
    fn is(&self, count: Option<oracle::Count>) -> bool {
        count == Some(oracle::Count { pages: self.pages, copied: self.copied })
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
