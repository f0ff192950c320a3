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
mod tests {
    use super::*;
    use crate::mix::Kind;
    use std::collections::{BTreeMap, BTreeSet};

    fn options(operations: u64) -> SuiteOptions {
        SuiteOptions { operations, value_bytes: 100, key_bytes: None, seed: 7 }
    }

    fn sizes(suite: Suite, operations: u64) -> BTreeMap<u32, u64> {
        let mut counts = BTreeMap::new();
        for operation in suite.plan(&options(operations)).unwrap().operations().unwrap() {
            *counts.entry(operation.size).or_default() += 1;
        }
        counts
    }

    #[test]
    fn mixed_workloads_have_exact_counts() {
        assert_eq!(sizes(Suite::A, 500), BTreeMap::from([(100, 500)]));
        assert_eq!(sizes(Suite::B, 10_000), BTreeMap::from([(8, 9000), (2048, 1000)]));
        assert_eq!(sizes(Suite::C, 10_000), BTreeMap::from([(8, 1000), (2048, 9000)]));
        assert_eq!(sizes(Suite::D, 9000), BALANCED_BYTES.into_iter().map(|s| (s, 1000)).collect());
    }

    #[test]
    fn the_order_of_sizes_follows_the_seed() {
        let order = |seed| -> Vec<u32> {
            let plan = Suite::B.plan(&SuiteOptions { seed, ..options(1000) }).unwrap();
            plan.operations().unwrap().map(|o| o.size).collect()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        let large = order(1)[..100].iter().filter(|s| **s == 2048).count();
        assert!((2..30).contains(&large), "{large} of the first 100");
    }

    /// "almost 70 % of values below 35 B" (BandSlim, section 4.1); the parameters give 69.1 %, a mean of 34.5 B.
    #[test]
    fn workload_m_has_mixgraphs_sizes() {
        let counts = sizes(Suite::M, 100_000);
        let small: u64 = counts.range(..=35).map(|(_, n)| n).sum();
        assert!(small.abs_diff(69_100) < 600, "{small}");
        let bytes: u64 = counts.iter().map(|(size, n)| u64::from(*size) * n).sum();
        assert!(bytes.abs_diff(3_500_000) < 100_000, "{bytes}: 34.5 and half a byte for rounding up");
        assert!(counts.last_key_value().unwrap().0 <= &1024);
    }

    #[test]
    fn bandslims_keys_are_four_bytes_unique_and_scattered() {
        let plan = Suite::A.plan(&options(5000)).unwrap();
        let space = plan.key_space().unwrap();
        let keys: Vec<Vec<u8>> = plan.operations().unwrap().map(|o| space.key(o.key)).collect();
        assert!(keys.iter().all(|k| k.len() == 4));
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), 5000);
        let ascending = keys.windows(2).filter(|w| w[0] < w[1]).count();
        assert!((2000..3000).contains(&ascending), "{ascending} of 4999 steps go up");
    }

    #[test]
    fn fills_write_each_key_once_and_reads_only_read() {
        for suite in [Suite::FillSeq, Suite::FillRandom] {
            let plan = suite.plan(&options(300)).unwrap();
            let keys: BTreeSet<u64> = plan.operations().unwrap().map(|o| o.key).collect();
            assert_eq!(keys.len(), 300, "{}", suite.name());
        }
        let reads = Suite::ReadRandom.plan(&options(300)).unwrap();
        assert!(reads.operations().unwrap().all(|o| !o.kind.writes_value()));
        assert!(Suite::ReadRandom.needs_preload() && !Suite::A.needs_preload());
    }

    fn kinds(suite: Suite) -> BTreeMap<Kind, u64> {
        let mut counts = BTreeMap::new();
        for operation in suite.plan(&options(20_000)).unwrap().operations().unwrap() {
            *counts.entry(operation.kind).or_default() += 1;
        }
        counts
    }

    /// The shares of YCSB's property files.
    #[test]
    fn ycsb_has_its_shares() {
        let near = |suite, expected: &[(Kind, u64)]| {
            let counts = kinds(suite);
            assert_eq!(counts.len(), expected.len(), "{suite:?}: {counts:?}");
            for (kind, percent) in expected {
                assert!(counts[kind].abs_diff(percent * 200) < 400, "{suite:?}: {counts:?}");
            }
        };
        near(Suite::YcsbA, &[(Kind::Get, 50), (Kind::Put, 50)]);
        near(Suite::YcsbB, &[(Kind::Get, 95), (Kind::Put, 5)]);
        near(Suite::YcsbC, &[(Kind::Get, 100)]);
        near(Suite::YcsbD, &[(Kind::Get, 95), (Kind::Insert, 5)]);
        near(Suite::YcsbE, &[(Kind::List, 95), (Kind::Insert, 5)]);
        // A read-modify-write is a get and a put.
        near(Suite::YcsbF, &[(Kind::Get, 67), (Kind::Put, 33)]);
    }

    #[test]
    fn every_put_of_ycsb_f_follows_a_get_of_its_key() {
        let plan = Suite::YcsbF.plan(&options(5000)).unwrap();
        let all: Vec<_> = plan.operations().unwrap().collect();
        let puts = all.windows(2).filter(|w| w[1].kind == Kind::Put);
        assert!(puts.clone().count() > 1000);
        assert!(puts.into_iter().all(|w| w[0].kind == Kind::Get && w[0].key == w[1].key));
    }

    #[test]
    fn ycsb_d_reads_what_is_new_and_e_scans_up_to_a_hundred() {
        let d = Suite::YcsbD.plan(&options(20_000)).unwrap();
        let gets: Vec<_> = d.operations().unwrap().filter(|o| o.kind == Kind::Get).collect();
        let newest = gets.iter().filter(|o| o.key + 200 >= 20_000).count();
        assert!(newest * 2 > gets.len(), "{newest} of {}", gets.len());
        let e = Suite::YcsbE.plan(&options(20_000)).unwrap();
        let scans: BTreeSet<_> =
            e.operations().unwrap().filter(|o| o.kind == Kind::List).map(|o| o.size).collect();
        assert_eq!((scans.first(), scans.last(), scans.len()), (Some(&1), Some(&100), 100));
    }

    #[test]
    fn twitters_clusters_have_their_sizes_and_mix() {
        let plan = Suite::Twitter(14).plan(&options(20_000)).unwrap();
        assert_eq!((plan.key_bytes, plan.value_bytes.clone(), plan.keys), (96, Sizes::Fixed(414), 564));
        let counts = kinds(Suite::Twitter(14));
        for (kind, percent) in [(Kind::Get, 65), (Kind::Put, 13), (Kind::Delete, 22)] {
            assert!(counts[&kind].abs_diff(percent * 200) < 400, "{counts:?}");
        }
    }

    #[test]
    fn reads_are_as_skewed_as_asked_for() {
        let hottest = |suite: Suite| {
            let mut counts = BTreeMap::<u64, u32>::new();
            let plan = suite.plan(&options(10_000)).unwrap();
            plan.operations().unwrap().for_each(|o| *counts.entry(o.key).or_default() += 1);
            f64::from(*counts.values().max().unwrap()) / 10_000.0
        };
        // The hottest of 10,000 keys: 1 / zeta(10000, s), about 1 / 9.8 for s = 1 and 1 / 2.6 for s = 1.5.
        assert!((hottest(Suite::ReadZipfian(100)) - 0.102).abs() < 0.01);
        assert!((hottest(Suite::ReadZipfian(150)) - 0.386).abs() < 0.02);
        assert!(hottest(Suite::ReadZipfian(0)) < 0.002);
    }

    #[test]
    fn names_lead_back() {
        for suite in Suite::ALL {
            assert_eq!(Suite::named(&suite.name().to_uppercase()), Some(suite));
        }
        assert_eq!(Suite::named("z"), None);
        assert_eq!(Suite::named("readzipfian:1.2"), Some(Suite::ReadZipfian(120)));
        assert_eq!(Suite::named("Twitter-54"), Some(Suite::Twitter(54)));
        let wrong = ["readzipfian:-1", "readzipfian:x", "twitter-5", "twitter-55", "twitter"];
        assert!(wrong.iter().all(|name| Suite::named(name).is_none()));
    }

    #[test]
    fn too_many_short_keys_are_refused() {
        let many = SuiteOptions { operations: 1 << 33, ..options(1) };
        assert!(matches!(Suite::A.plan(&many), Err(WorkloadError::Keys { .. })));
    }
}
