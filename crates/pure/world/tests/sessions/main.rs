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
fn tier<T>(check: T, soak: T) -> T {
    saker_testing::tier(check, soak)
}
