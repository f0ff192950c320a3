//! The joined host and device against a model: any command, any fault, power cut at any event.
//!
//! Counts grow with the environment variable `SAKER_TIER`: `check` (the default) or `soak`.

mod cells;
mod commands;
mod determinism;
mod faults;
mod history;
mod power;
mod rig;

/// `check` in the check tier, `soak` in the soak tier.
#[expect(clippy::disallowed_methods, reason = "the tier is a setting of the test run")]
fn tier<T>(check: T, soak: T) -> T {
    if std::env::var("SAKER_TIER").as_deref() == Ok("soak") { soak } else { check }
}
