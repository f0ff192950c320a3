// SPDX-License-Identifier: Apache-2.0 OR MIT
use proptest::{prop_assert, proptest};

use super::*;

const DRAWS: usize = 200_000;

fn draw(distribution: Distribution, keys: u64) -> Vec<u64> {
    let mut picker = distribution.picker(11, keys).unwrap();
    let mut rng = Seed(12).rng();
    (0..DRAWS).map(|_| picker.pick(&mut rng)).collect()
}

fn counts(draws: &[u64], keys: u64) -> Vec<u32> {
    let mut counts = vec![0; keys as usize];
    draws.iter().for_each(|&k| counts[k as usize] += 1);
    counts
}

/// Pearson's statistic of `counts` against equal shares.
fn chi2_uniform(counts: &[u32]) -> f64 {
    let mean = DRAWS as f64 / counts.len() as f64;
    counts.iter().map(|&n| (f64::from(n) - mean).powi(2) / mean).sum()
}

/// 99 degrees of freedom have mean 99 and standard deviation 14: this is five of them away.
const CHI2_99_MAX: f64 = 170.0;

#[test]
fn uniform_is_even_and_the_test_can_tell() {
    let draws = draw(Distribution::Uniform, 100);
    assert!(chi2_uniform(&counts(&draws, 100)) < CHI2_99_MAX);
    let skewed: Vec<u64> = draws.iter().map(|&k| if k == 99 { 98 } else { k }).collect();
    assert!(chi2_uniform(&counts(&skewed, 100)) > CHI2_99_MAX);
    let hot = counts(&draw(Distribution::Zipfian { theta: 0.1 }, 100), 100);
    assert!(chi2_uniform(&hot) > CHI2_99_MAX);
}

/// Largest distance between the drawn and the exact cumulative distribution, at powers of two.
fn zipf_distance(draws: &[u64], keys: u64, theta: f64) -> f64 {
    let ends = (0..).map(|e| 1 << e).take_while(|&end| end <= keys);
    ends.map(|end| {
        let below = draws.iter().filter(|&&k| k < end).count() as f64 / draws.len() as f64;
        (below - zeta(end, theta) / zeta(keys, theta)).abs()
    })
    .fold(0.0, f64::max)
}

#[test]
fn zipfian_follows_theory_and_the_test_can_tell() {
    for theta in [0.5, 0.8, 0.99] {
        let draws = draw(Distribution::Zipfian { theta }, 100_000);
        let distance = zipf_distance(&draws, 100_000, theta);
        // Gray's curve itself is a few thousandths off; drawing adds about one thousandth.
        assert!(distance < 0.02, "{theta}: {distance}");
        let other = zipf_distance(&draws, 100_000, theta - 0.05);
        assert!(other > 0.02, "{theta}: {other}");
    }
}

/// Ranks 0 and 1 are exact in Gray's method: within five standard deviations.
#[test]
fn the_two_hottest_ranks_are_exact() {
    let (keys, theta) = (1000, 0.99);
    let seen = counts(&draw(Distribution::Zipfian { theta }, keys), keys);
    for (rank, weight) in [(0, 1.0), (1, libm::pow(0.5, theta))] {
        let expected = DRAWS as f64 * weight / zeta(keys, theta);
        assert!((f64::from(seen[rank]) - expected).abs() < 5.0 * expected.sqrt(), "{rank}: {}", seen[rank]);
    }
}

/// 26.46902820178302 is the constant that YCSB precomputed for 10^10 items and 0.99.
#[test]
fn zeta_agrees_with_its_sum_and_with_ycsb() {
    assert!((zeta(10_000_000_000, 0.99) - 26.469_028_201_783_02).abs() < 1e-6);
    for theta in [0.2, 0.99] {
        let sum: f64 = (1..=50_000u64).rev().map(|k| libm::pow(k as f64, -theta)).sum();
        assert!((zeta(50_000, theta) - sum).abs() < 1e-8 * sum);
    }
    assert!((zeta(3, 0.5) - (1.0 + 0.5f64.sqrt() + (1.0f64 / 3.0).sqrt())).abs() < 1e-12);
}

#[test]
fn scrambled_has_the_same_heat_in_other_places() {
    let keys = 1000;
    let mut plain = counts(&draw(Distribution::Zipfian { theta: 0.9 }, keys), keys);
    let mut scrambled = counts(&draw(Distribution::Scrambled { theta: 0.9 }, keys), keys);
    assert_ne!(plain, scrambled);
    let hottest = |counts: &[u32]| (0..counts.len()).max_by_key(|&k| counts[k]);
    assert_eq!(hottest(&plain), Some(0));
    assert_ne!(hottest(&scrambled), Some(0));
    plain.sort_unstable();
    scrambled.sort_unstable();
    assert_eq!(plain, scrambled);
}

#[test]
fn latest_prefers_the_newest_and_follows_inserts() {
    let mut picker = Distribution::Latest { theta: 0.99 }.picker(1, 100).unwrap();
    let mut rng = Seed(2).rng();
    for expected in 100..1100 {
        assert_eq!(picker.insert(), expected);
    }
    let draws: Vec<u64> = (0..DRAWS).map(|_| 1099 - picker.pick(&mut rng)).collect();
    assert!(zipf_distance(&draws, 1100, 0.99) < 0.02);
}

#[test]
fn uniform_reaches_inserted_keys() {
    let mut picker = Distribution::Uniform.picker(1, 1).unwrap();
    let mut rng = Seed(2).rng();
    picker.insert();
    let ones: u64 = (0..1000).map(|_| picker.pick(&mut rng)).sum();
    assert!((400..600).contains(&ones), "{ones}");
}

#[test]
fn sequential_and_shuffled_meet_each_key_once_a_round() {
    let rounds = |d: Distribution| {
        let mut picker = d.picker(5, 777).unwrap();
        let mut rng = Seed(0).rng();
        let mut round = || (0..777).map(|_| picker.pick(&mut rng)).collect::<Vec<_>>();
        (round(), round())
    };
    let (first, second) = rounds(Distribution::Sequential);
    assert!(first.iter().copied().eq(0..777));
    assert_eq!(first, second);
    let (mut first, second) = rounds(Distribution::Shuffled);
    assert_eq!(first, second);
    assert!(!first.is_sorted());
    first.sort_unstable();
    assert!(first.into_iter().eq(0..777));
}

#[test]
fn exponents_outside_the_range_are_refused() {
    for theta in [0.0, 1.0, -0.5, 1.5, f64::NAN, f64::INFINITY] {
        assert!(Distribution::Zipfian { theta }.picker(0, 10).is_err(), "{theta}");
    }
}

proptest! {
    #[test]
    fn picks_stay_inside(seed: u64, keys in 1u64..2000, theta in 0.01f64..0.995, inserts in 0u64..5) {
        use Distribution::*;
        for d in [Uniform, Zipfian { theta }, Scrambled { theta }, Latest { theta }, Sequential, Shuffled] {
            let mut picker = d.picker(seed, keys).unwrap();
            let mut rng = Seed(seed).rng();
            (0..inserts).for_each(|_| { picker.insert(); });
            prop_assert!((0..200).all(|_| picker.pick(&mut rng) < keys + inserts));
        }
    }
}
