//! Sessions of many clients, judged by a checker of histories. Tests only: threads run one at a time.

mod actors;
mod checker;
mod device;
mod fake;
mod histories;
mod log;
mod planted;
mod shards;

/// How many of something: `check` or `soak`, as the environment says.
#[expect(clippy::disallowed_methods, reason = "the tier is a setting of the test run")]
fn tier<T>(check: T, soak: T) -> T {
    if std::env::var("SAKER_TIER").as_deref() == Ok("soak") { soak } else { check }
}
