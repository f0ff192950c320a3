// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How long a wrong response takes to be refused says nothing about where it is wrong. Pairs of responses, one wrong in its first byte and
//! one in its last, are refused one after the other, in an order drawn for each pair; the statistic is Student's t of the mean difference
//! over blocks of pairs that follow each other. Blocks, because what else the machine does lasts for many pairs: with single refusals
//! (Welch's t, the method of dudect, Reparaz, Balasch and Verbauwhede, 2017) the same program gave t = 23 and -15 in two runs.
#![expect(clippy::disallowed_types, reason = "it measures what an attacker could measure")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use saker_auth::{Controller, GroupId, HashId, Host, Names};
use saker_testing::tier;

use crate::exchange::{Pair, names, randomness, settle};

/// A difference that noise does not explain: dudect's threshold for "definitely". Its "perhaps" is 4.5.
const T_MAX: f64 = 10.0;

const BLOCKS: usize = 100;
const RESPONSE: std::ops::Range<usize> = 16..48;

/// What is measured besides the refusal of a response that is wrong at a place.
type Beside<'a> = &'a dyn Fn(usize);

/// Nanoseconds until a response that is wrong at `at` is refused.
fn refusal_ns(pair: &Pair, names: &Names, at: usize, beside: Beside<'_>) -> f64 {
    let (ours, theirs) = (randomness(2), randomness(3));
    let mut controller = Controller::new(names.clone(), Arc::new(pair.credentials.clone()));
    let mut host = Host::new(names, &pair.secrets, &theirs, 9);
    settle(&mut controller, |c| c.send(&host.negotiate()));
    let challenge = settle(&mut controller, |c| c.receive(&ours)).1;
    let mut reply = host.reply(&challenge).unwrap();
    reply[RESPONSE.start + at] ^= 0x55;
    let saker_auth::Outcome::Work(work) = controller.send(&reply) else { panic!("work") };
    let begun = Instant::now();
    let worked = work.run();
    beside(at);
    let ns = begun.elapsed().as_nanos() as f64;
    assert!(!settle(&mut controller, |c| c.finish(worked)).0);
    ns
}

/// Pairs of times: wrong in the first byte, and in the last.
fn measure(pairs: usize, beside: Beside<'_>) -> Vec<(f64, f64)> {
    let (names, pair) = (names(), Pair::new(HashId::Sha256, GroupId::Null, false, 1));
    let mut state = 1u64;
    let mut next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (first, last) = (0, RESPONSE.len() - 1);
        let ns = |at| refusal_ns(&pair, &names, at, beside);
        if state >> 63 == 0 {
            let a = ns(first);
            (a, ns(last))
        } else {
            let b = ns(last);
            (ns(first), b)
        }
    };
    (0..pairs).map(&mut next).collect()
}

/// Mean difference in nanoseconds, and its t over blocks.
fn compare(pairs: &[(f64, f64)]) -> (f64, f64) {
    // The slowest tenth was interrupted by something else.
    let mut sorted: Vec<f64> = pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
    sorted.sort_by(f64::total_cmp);
    let cut = sorted[sorted.len() * 9 / 10];
    let kept: Vec<f64> = pairs.iter().filter(|(a, b)| *a <= cut && *b <= cut).map(|(a, b)| a - b).collect();
    let blocks: Vec<f64> = kept
        .chunks_exact(kept.len() / BLOCKS)
        .map(|block| block.iter().sum::<f64>() / block.len() as f64)
        .collect();
    let count = blocks.len() as f64;
    let mean = blocks.iter().sum::<f64>() / count;
    let variance = blocks.iter().map(|block| (block - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, mean / (variance / count).sqrt())
}

#[test]
fn a_refusal_does_not_tell_where_a_response_is_wrong() {
    let pairs = tier(400, 200_000);
    let (difference, t) = compare(&measure(pairs, &|_| ()));
    println!("{pairs} pairs: {difference:.2} ns, t = {t:.2}");
    assert!(t.abs() < T_MAX, "t = {t:.2}: {difference:.2} ns");
}

/// The same statistic sees a comparison that ends at the first byte that differs.
#[test]
fn a_comparison_that_ends_early_would_be_seen() {
    let right = [0u8; RESPONSE.end - RESPONSE.start];
    let ends_early = |at: usize| {
        let mut wrong = right;
        wrong[at] = 1;
        black_box(right.iter().zip(&wrong).all(|(right, wrong)| black_box(right) == black_box(wrong)));
    };
    // Beside a busy neighbour a few pairs do not suffice: four times as many are taken until the statistic sees it, up to the soak's count.
    // With no difference to see, t would not pass the bound at any of them.
    let mut pairs = measure(tier(4_000, 200_000), &ends_early);
    loop {
        let (difference, t) = compare(&pairs);
        println!("{} pairs: {difference:.2} ns, t = {t:.2}", pairs.len());
        if t < -T_MAX {
            break;
        }
        assert!(pairs.len() < 200_000, "t = {t:.2}: {difference:.2} ns");
        pairs.extend(measure(pairs.len() * 3, &ends_early));
    }
}
