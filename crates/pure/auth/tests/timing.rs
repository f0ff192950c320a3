//! How long a wrong response takes to be refused says nothing about where it is wrong: Welch's t-test between responses that are
//! wrong in the first byte and in the last, in turn (the method of dudect, Reparaz, Balasch and Verbauwhede, 2017).
#![expect(clippy::disallowed_types, reason = "it measures what an attacker could measure")]

use std::sync::Arc;
use std::time::Instant;

use saker_auth::{Controller, GroupId, HashId, Host, Outcome};
use saker_testing::tier;

use crate::exchange::{Pair, names, randomness, settle};

/// A difference of means that no noise explains: dudect's threshold is 10 for "definitely", 4.5 for "perhaps".
const T_MAX: f64 = 10.0;

#[derive(Default)]
struct Sample {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Sample {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        let before = value - self.mean;
        self.mean += before / self.count;
        self.squares += before * (value - self.mean);
    }

    fn variance_of_mean(&self) -> f64 {
        self.squares / (self.count - 1.0) / self.count
    }
}

/// Nanoseconds until a response that is wrong at `at` is refused.
fn refusal_ns(pair: &Pair, names: &saker_auth::Names, at: usize) -> f64 {
    let (ours, theirs) = (randomness(2), randomness(3));
    let mut controller = Controller::new(names.clone(), Arc::new(pair.credentials.clone()));
    let mut host = Host::new(names, &pair.secrets, &theirs, 9);
    settle(&mut controller, |c| c.send(&host.negotiate()));
    let challenge = settle(&mut controller, |c| c.receive(&ours)).1;
    let mut reply = host.reply(&challenge).unwrap();
    reply[16 + at] ^= 0x55;
    let Outcome::Work(work) = controller.send(&reply) else { panic!("work") };
    let begun = Instant::now();
    let worked = work.run();
    let ns = begun.elapsed().as_nanos() as f64;
    assert!(!settle(&mut controller, |c| c.finish(worked)).0);
    ns
}

#[test]
fn a_refusal_does_not_tell_where_a_response_is_wrong() {
    let (names, pair) = (names(), Pair::new(HashId::Sha256, GroupId::Null, false, 1));
    let runs = tier(200, 200_000);
    let mut all: Vec<(usize, f64)> = Vec::new();
    for n in 0..runs {
        // Which comes first changes, so that what one leaves in a cache serves both.
        for side in [n % 2, 1 - n % 2] {
            all.push((side, refusal_ns(&pair, &names, if side == 0 { 0 } else { 31 })));
        }
    }
    // The slowest tenth was interrupted by something else.
    let mut sorted: Vec<f64> = all.iter().map(|(_, ns)| *ns).collect();
    sorted.sort_by(f64::total_cmp);
    let cut = sorted[sorted.len() * 9 / 10];
    let mut samples = [Sample::default(), Sample::default()];
    all.iter().filter(|(_, ns)| *ns <= cut).for_each(|(side, ns)| samples[*side].add(*ns));
    let [first, last] = samples;
    let t = (first.mean - last.mean) / (first.variance_of_mean() + last.variance_of_mean()).sqrt();
    println!("{runs} runs a side: {:.1} ns and {:.1} ns, t = {t:.2}", first.mean, last.mean);
    assert!(t.abs() < T_MAX, "t = {t:.2}: {:.1} ns and {:.1} ns", first.mean, last.mean);
}
