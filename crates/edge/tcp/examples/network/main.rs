// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The target's speed over loopback, beside Redis, memcached and a plain TCP copy on the same machine.
//!
//! ```text
//! cargo run --release -p saker-tcp --example network [-- --seconds 1 --rounds 3 --poll --only large]
//! ```
//!
//! Every measure is repeated in turn with those it is compared with, and medians are told, of rates and of the rounds' ratios.
//! Redis and memcached are used where they are installed (`apt-get install redis-server memcached`); they keep nothing on disk,
//! as `mem:` does. `--only pairs`, `others`, `large` or `copy` measures just those, for a profiler.
//!
//! In a virtual machine a core that has nothing to do goes to sleep, and waking it costs more than a command: both sides wait for
//! each other all the time. Something that runs at idle priority on each core (`chrt -i 0 taskset -c 0 sh -c 'while :; do :; done' &`)
//! keeps them awake.

mod copy;
mod others;
mod ours;

use std::time::Duration;

/// What the command line asks for.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Of each measure.
    pub duration: Duration,
    /// Of all measures.
    pub rounds: usize,
    /// Whether the target polls.
    pub polls: bool,
    /// What is measured, if not all.
    only: Option<Only>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Only {
    Pairs,
    Others,
    Large,
    Copy,
}

impl Only {
    fn named(name: &str) -> Option<Self> {
        match name {
            "pairs" => Some(Self::Pairs),
            "others" => Some(Self::Others),
            "large" => Some(Self::Large),
            "copy" => Some(Self::Copy),
            _ => None,
        }
    }
}

impl Plan {
    fn has(&self, what: Only) -> bool {
        self.only.is_none_or(|only| only == what)
    }
}

fn plan() -> Plan {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let after = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)?.parse::<f64>().ok()
    };
    Plan {
        duration: Duration::from_secs_f64(after("--seconds").unwrap_or(1.0)),
        rounds: after("--rounds").unwrap_or(3.0) as usize,
        polls: arguments.iter().any(|argument| argument == "--poll"),
        only: arguments.iter().find_map(|argument| Only::named(argument)),
    }
}

/// A measure's name, and what it gave in each round.
type Row = (String, Vec<f64>);

fn note(rows: &mut Vec<Row>, name: &str, value: f64) {
    match rows.iter_mut().find(|(known, _)| known == name) {
        Some((_, values)) => values.push(value),
        None => rows.push((name.to_owned(), vec![value])),
    }
}

fn values<'r>(rows: &'r [Row], name: &str) -> Option<&'r [f64]> {
    rows.iter().find(|(known, _)| known == name).map(|(_, values)| values.as_slice())
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// The median of the rounds' ratios of two measures, beside what it is to be. The machine may change from round to round.
fn ratio(rows: &[Row], what: &str, ours: &str, theirs: &str, least: f64) {
    let (Some(ours), Some(others)) = (values(rows, ours), values(rows, theirs)) else {
        return println!("{what:<52} not measured: {theirs} is not there");
    };
    let ratios: Vec<f64> = ours.iter().zip(others).map(|(a, b)| a / b).collect();
    let ratio = median(&ratios);
    let verdict = if ratio >= least { "reached" } else { "MISSED" };
    println!("{what:<52}{ratio:>8.2}   at least {least:.1}: {verdict}");
}

fn main() {
    let plan = plan();
    let mut rows = Vec::new();
    let server = ours::Target::start(plan.polls);
    println!("idle: {:.2} % of a core with a connected host", server.idle_percent(plan.duration));
    server.warm_up();
    let redis = others::Redis::start();
    let memcached = others::Memcached::start();
    for _ in 0..plan.rounds {
        let pairs = plan.has(Only::Pairs).then(|| server.pairs(plan));
        let redis = redis.iter().filter(|_| plan.has(Only::Others)).map(|redis| redis.measure(plan));
        let memcached = memcached.iter().filter(|_| plan.has(Only::Others)).map(|it| it.measure(plan));
        let large = plan.has(Only::Large).then(|| server.large(plan));
        let copy = plan.has(Only::Copy).then(|| vec![(copy::NAME.to_owned(), copy::measure(plan))]);
        for (name, value) in
            pairs.into_iter().chain(redis).chain(memcached).chain(large).chain(copy).flatten()
        {
            note(&mut rows, &name, value);
        }
    }
    println!("\n{:<40}{:>14}   rounds", "64-byte values: pairs/s; 1 MiB: MB/s", "median");
    for (name, values) in &rows {
        let all: Vec<_> = values.iter().map(|value| format!("{value:.0}")).collect();
        println!("{name:<40}{:>14.0}   {}", median(values), all.join(" "));
    }
    println!();
    ratio(&rows, "stores, 64 at a time / Redis SET, pipeline 64", ours::PUT, others::REDIS_SET, 1.0);
    ratio(&rows, "retrieves, 64 at a time / Redis GET, pipeline 64", ours::GET, others::REDIS_GET, 1.0);
    ratio(&rows, "stores, always 64 / Redis SET, pipeline 64", ours::PUT_ROLLING, others::REDIS_SET, 1.0);
    ratio(&rows, "retrieves, always 64 / Redis GET, pipeline 64", ours::GET_ROLLING, others::REDIS_GET, 1.0);
    ratio(&rows, "groups of 4 KiB / Redis SET, pipeline 64", ours::GROUP, others::REDIS_SET, 4.0);
    ratio(&rows, "stores, 64 at a time / memcached set", ours::PUT, others::MEMCACHED_SET, 1.0);
    ratio(&rows, "retrieves, 64 at a time / memcached get", ours::GET, others::MEMCACHED_GET, 1.0);
    ratio(&rows, "1-MiB stores at depth 8 / TCP copy", ours::LARGE_PUT, copy::NAME, 0.6);
    ratio(&rows, "1-MiB retrieves at depth 8 / TCP copy", ours::LARGE_GET, copy::NAME, 0.6);
    server.stop();
}
