// SPDX-License-Identifier: Apache-2.0 OR MIT
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
