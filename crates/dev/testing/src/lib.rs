// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What tests are told from outside: how much they do, and which case they do again. And a [`Network`] that fails when it is told to.
//!
//! | variable | meaning |
//! |---|---|
//! | `SAKER_TIER` | `check` (the default) or `soak` |
//! | `SAKER_SEED` | the seed of a campaign; of several histories only the one with that seed |
//!
//! A test that fails prints the command that does the same case again.
#![forbid(unsafe_code)]

mod network;

pub use network::Network;

use std::cell::Cell;
use std::path::Path;

/// What holds in this tier.
pub fn tier<T>(check: T, soak: T) -> T {
    if is_soak() { soak } else { check }
}

/// Whether counts are full.
pub fn is_soak() -> bool {
    std::env::var("SAKER_TIER").as_deref() == Ok("soak")
}

/// A number in a variable, if there is one.
///
/// # Panics
/// The variable holds something else.
pub fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// The seeds of histories: from 0 on, or only that of `SAKER_SEED`. A loop over them that panics prints the command that does
/// the same history again.
pub fn seeds(count: u64) -> Seeds {
    let left = number(SEED).map_or(0..count, |seed| seed..seed + 1);
    Seeds { left, now: None }
}

/// Seeds of histories, one after the other.
#[derive(Debug)]
pub struct Seeds {
    left: std::ops::Range<u64>,
    now: Option<Replay>,
}

impl Iterator for Seeds {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let next = self.left.next();
        self.now = next.map(Replay::new);
        next
    }
}

const SEED: &str = "SAKER_SEED";

/// Prints the command that does a case again, if it is dropped by a panic.
#[derive(Debug)]
#[must_use]
pub struct Replay {
    seed: u64,
    command: String,
}

thread_local! {
    /// Of a campaign within a loop over seeds only one prints.
    static WITHIN: Cell<bool> = const { Cell::new(false) };
}

impl Replay {
    /// For a campaign, which is the test that runs on this thread: its seed is 1 unless `SAKER_SEED` says another.
    pub fn campaign() -> Self {
        Self::new(number(SEED).unwrap_or(1))
    }

    /// The seed.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// For the test that runs on this thread.
    pub fn new(seed: u64) -> Self {
        Self::of(seed, std::thread::current().name().unwrap_or_default())
    }

    fn of(seed: u64, test: &str) -> Self {
        let program = std::env::args().next().unwrap_or_default();
        let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
        let tier = if is_soak() { "SAKER_TIER=soak " } else { "" };
        Self { seed, command: tier.to_owned() + &command(seed, &package, Path::new(&program), test) }
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() && !WITHIN.replace(true) {
            eprintln!("the same again: {}", self.command);
        }
    }
}

/// The command that runs one test with a seed.
fn command(seed: u64, package: &str, program: &Path, test: &str) -> String {
    let stem = program.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    // cargo puts a hash behind the name of a test program.
    let name = stem.rsplit_once('-').map_or(stem, |(name, _)| name);
    let is_unit_test = name == package.replace('-', "_");
    let is_example = program.parent().is_some_and(|folder| folder.ends_with("examples"));
    let target = match (is_unit_test, is_example) {
        (true, _) => "--lib".to_owned(),
        (_, true) => format!("--example {name}"),
        _ => format!("--test {name}"),
    };
    format!("SAKER_SEED={seed} cargo test -p {package} {target} {test}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_names_package_program_and_test() {
        let told = |program| command(7, "saker-engine", Path::new(program), "groups::cuts");
        assert_eq!(
            told("/t/deps/model-0123456789abcdef"),
            "SAKER_SEED=7 cargo test -p saker-engine --test model groups::cuts"
        );
        assert_eq!(
            told("/t/deps/saker_engine-0123456789abcdef"),
            "SAKER_SEED=7 cargo test -p saker-engine --lib groups::cuts"
        );
        assert_eq!(
            command(7, "saker-bench", Path::new("/t/examples/own_engine-0123456789abcdef"), "mine::cuts"),
            "SAKER_SEED=7 cargo test -p saker-bench --example own_engine mine::cuts"
        );
    }

    #[test]
    fn every_seed_comes_once() {
        assert_eq!(seeds(4).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(seeds(0).count(), 0);
    }

    #[test]
    fn a_failure_stays_a_failure() {
        let failed = std::panic::catch_unwind(|| seeds(3).for_each(|seed| assert!(seed != 1, "planted")));
        let message = failed.expect_err("seed 1 fails");
        assert_eq!(message.downcast_ref::<&str>(), Some(&"planted"));
    }
}
