// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Workloads with a name: the fills and reads of db_bench, and the five of BandSlim.
//!
//! BandSlim (ICPP'24, section 4.1) writes unique pairs with hashed 4-byte keys: A has one size of value, B, C and D
//! have exact counts of several in a shuffled order, M takes mixgraph's sizes.
//!
//! YCSB's core workloads (Cooper et al., SoCC'10, and the property files of its `workloads` folder): A to F over a loaded
//! population, with the request distributions named there. As many records are loaded as there are operations.
//!
//! Zipfian reads with any exponent (`readzipfian:1.2`), and Twitter's cache clusters ([`crate::twitter`]).

use crate::distribution::Distribution;
use crate::error::WorkloadError;
use crate::key::KeyForm;
use crate::mix::Mix;
use crate::plan::Plan;
use crate::size::{Share, Sizes};
use crate::twitter::cluster;

/// Shape and scale of mixgraph's values (Cao et al., FAST'20; RocksDB's db_bench defaults `value_k`, `value_sigma`);
/// its theta is 0.
pub const MIXGRAPH: (f64, f64) = (0.2615, 25.45);
/// Largest value of workload M (BandSlim, section 4.1).
pub const MIXGRAPH_BYTES_MAX: u32 = 1024;
/// The sizes of workload D, in equal shares.
pub const BALANCED_BYTES: [u32; 9] = [8, 16, 32, 64, 128, 256, 512, 1024, 2048];
/// Key size of BandSlim's workloads.
const SHORT_KEY_BYTES: usize = 4;
/// Key size of the others: db_bench's default.
const KEY_BYTES: usize = 16;

/// A workload by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// New keys in ascending order, one size of value.
    FillSeq,
    /// Every key once, in random order.
    FillRandom,
    /// Random keys of a filled store get new values.
    Overwrite,
    /// Random keys of a filled store are read.
    ReadRandom,
    /// As many reads as overwrites.
    ReadWrite,
    /// BandSlim A: unique hashed keys, one size of value.
    A,
    /// BandSlim B: 8 B and 2 KiB as 9 to 1.
    B,
    /// BandSlim C: 8 B and 2 KiB as 1 to 9.
    C,
    /// BandSlim D: nine sizes from 8 B to 2 KiB alike.
    D,
    /// BandSlim M: mixgraph's sizes up to 1 KiB.
    M,
    /// YCSB A: half reads, half updates; zipfian.
    YcsbA,
    /// YCSB B: 95 % reads, 5 % updates; zipfian.
    YcsbB,
    /// YCSB C: reads; zipfian.
    YcsbC,
    /// YCSB D: 95 % reads of what is new, 5 % inserts.
    YcsbD,
    /// YCSB E: 95 % scans of 1 to 100 entries, 5 % inserts; zipfian.
    YcsbE,
    /// YCSB F: half reads, half read-modify-writes; zipfian.
    YcsbF,
    /// Zipfian reads of a filled store, with an exponent of so many hundredths.
    ReadZipfian(u16),
    /// The cluster of that number at Twitter.
    Twitter(u8),
}

/// YCSB's zipfian exponent.
pub const YCSB_THETA: f64 = 0.99;
/// Longest scan of YCSB E.
pub const YCSB_SCAN_MAX: u32 = 100;

/// What of a workload is to be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuiteOptions {
    /// Operations.
    pub operations: u64,
    /// Value size of the workloads that have one size.
    pub value_bytes: u32,
    /// Key size; otherwise the workload's own.
    pub key_bytes: Option<usize>,
    /// The seed.
    pub seed: u64,
}

impl Suite {
    /// All of them but Twitter's; zipfian reads with YCSB's exponent.
    pub const ALL: [Self; 17] = [
        Self::FillSeq,
        Self::FillRandom,
        Self::Overwrite,
        Self::ReadRandom,
        Self::ReadWrite,
        Self::A,
        Self::B,
        Self::C,
        Self::D,
        Self::M,
        Self::YcsbA,
        Self::YcsbB,
        Self::YcsbC,
        Self::YcsbD,
        Self::YcsbE,
        Self::YcsbF,
        Self::ReadZipfian(99),
    ];

    /// The name it is asked for by, an exponent apart.
    pub fn name(self) -> &'static str {
        match self {
            Self::FillSeq => "fillseq",
            Self::FillRandom => "fillrandom",
            Self::Overwrite => "overwrite",
            Self::ReadRandom => "readrandom",
            Self::ReadWrite => "readwrite",
            Self::A => "a",
            Self::B => "b",
            Self::C => "c",
            Self::D => "d",
            Self::M => "m",
            Self::YcsbA => "ycsb-a",
            Self::YcsbB => "ycsb-b",
            Self::YcsbC => "ycsb-c",
            Self::YcsbD => "ycsb-d",
            Self::YcsbE => "ycsb-e",
            Self::YcsbF => "ycsb-f",
            Self::ReadZipfian(_) => "readzipfian",
            Self::Twitter(number) => cluster(number).map_or("twitter", |cluster| cluster.name),
        }
    }

    /// The workload of that name, in upper or lower case: also `readzipfian:1.2` with an exponent of 0 to 10, and `twitter-1`
    /// to `twitter-54` without 5.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        if let Some(exponent) = name.strip_prefix("readzipfian:") {
            let exponent = exponent.parse().ok().filter(|e| (0.0..=10.0).contains(e));
            return exponent.map(|e: f64| Self::ReadZipfian(libm::round(e * 100.0) as u16));
        }
        if let Some(number) = name.strip_prefix("twitter-") {
            return number.parse().ok().filter(|n| cluster(*n).is_some()).map(Self::Twitter);
        }
        Self::ALL.into_iter().find(|suite| suite.name() == name)
    }

    /// Whether every key must be there before it begins (see [`Plan::preload`]).
    pub const fn needs_preload(self) -> bool {
        matches!(
            self,
            Self::Overwrite | Self::ReadRandom | Self::ReadWrite | Self::ReadZipfian(_) | Self::Twitter(_)
        ) || self.is_ycsb()
    }

    /// The sizes of its values; `value_bytes` where it has one size.
    pub fn value_bytes(self, value_bytes: u32) -> Sizes {
        let share = |size, weight| Share { size, weight };
        match self {
            Self::B => Sizes::Shares(vec![share(8, 9), share(2048, 1)]),
            Self::C => Sizes::Shares(vec![share(8, 1), share(2048, 9)]),
            Self::D => Sizes::Shares(BALANCED_BYTES.map(|size| share(size, 1)).to_vec()),
            Self::M => Sizes::Pareto { k: MIXGRAPH.0, sigma: MIXGRAPH.1, max: MIXGRAPH_BYTES_MAX },
            Self::Twitter(number) => Sizes::Fixed(cluster(number).map_or(value_bytes, |c| c.value_bytes)),
            _ => Sizes::Fixed(value_bytes),
        }
    }

    /// The plan.
    ///
    /// # Errors
    /// [`WorkloadError`] for options that make no plan.
    pub fn plan(self, options: &SuiteOptions) -> Result<Plan, WorkloadError> {
        let keys = match self {
            Self::Twitter(number) => {
                cluster(number).map_or(options.operations, |c| c.keys(options.operations))
            }
            _ => options.operations,
        };
        let plan = Plan {
            seed: options.seed,
            operations: options.operations,
            keys: keys.max(1),
            key_bytes: options.key_bytes.unwrap_or(self.own_key_bytes()),
            key_form: if self == Self::FillSeq { KeyForm::Ordered } else { KeyForm::Hashed },
            distribution: self.distribution(),
            mix: self.mix(),
            value_bytes: self.value_bytes(options.value_bytes),
            read_before_put: self == Self::YcsbF,
            list_entries: self.scan_entries(),
            ..Plan::default()
        };
        plan.operations().map(|_| plan)
    }

    /// Whether all of its values have the one size that is asked for, each key is stored, and there are as many keys as operations.
    pub const fn value_bytes_fixed(self) -> bool {
        use Suite::{A, FillRandom, FillSeq, Overwrite, ReadRandom, ReadWrite};
        matches!(self, A | FillRandom | FillSeq | Overwrite | ReadRandom | ReadWrite)
    }

    /// Whether it is one of YCSB's.
    pub const fn is_ycsb(self) -> bool {
        matches!(self, Self::YcsbA | Self::YcsbB | Self::YcsbC | Self::YcsbD | Self::YcsbE | Self::YcsbF)
    }

    fn own_key_bytes(self) -> usize {
        match self {
            Self::Twitter(number) => cluster(number).map_or(KEY_BYTES, |cluster| cluster.key_bytes),
            _ if self.is_bandslim() => SHORT_KEY_BYTES,
            _ => KEY_BYTES,
        }
    }

    const fn is_bandslim(self) -> bool {
        matches!(self, Self::A | Self::B | Self::C | Self::D | Self::M)
    }

    fn distribution(self) -> Distribution {
        match self {
            Self::FillRandom => Distribution::Shuffled,
            Self::Overwrite | Self::ReadRandom | Self::ReadWrite => Distribution::Uniform,
            Self::ReadZipfian(hundredths) => Distribution::Skewed { alpha: f64::from(hundredths) / 100.0 },
            Self::Twitter(number) => {
                cluster(number).map_or(Distribution::Uniform, |cluster| cluster.distribution())
            }
            Self::YcsbD => Distribution::Latest { theta: YCSB_THETA },
            _ if self.is_ycsb() => Distribution::Scrambled { theta: YCSB_THETA },
            // Hashed key forms scatter ascending numbers.
            _ => Distribution::Sequential,
        }
    }

    /// YCSB draws lengths evenly from 1 to its most.
    fn scan_entries(self) -> Sizes {
        match self {
            Self::YcsbE => Sizes::Shares((1..=YCSB_SCAN_MAX).map(|size| Share { size, weight: 1 }).collect()),
            _ => Plan::default().list_entries,
        }
    }

    fn mix(self) -> Mix {
        match self {
            Self::ReadRandom | Self::ReadZipfian(_) => Mix::GETS,
            Self::Twitter(number) => cluster(number).map_or(Mix::GETS, |cluster| cluster.mix),
            Self::ReadWrite | Self::YcsbA | Self::YcsbF => Mix { get: 1, ..Mix::PUTS },
            Self::YcsbB => Mix { get: 95, put: 5, ..Mix::PUTS },
            Self::YcsbC => Mix::GETS,
            Self::YcsbD => Mix { get: 95, put: 0, insert: 5, ..Mix::PUTS },
            Self::YcsbE => Mix { list: 95, put: 0, insert: 5, ..Mix::PUTS },
            _ => Mix::PUTS,
        }
    }
}

#[cfg(test)]
mod tests;
