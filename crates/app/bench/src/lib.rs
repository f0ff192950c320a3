// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One workload on one device: in virtual time, or on whatever a device URL opens; and HostKV beside DiskKV ([`compare()`]).
//!
//! A crate of its own because what loops over real devices is optimised, unlike the experiments of `saker-lab`.
#![forbid(unsafe_code)]

pub mod clock;
pub mod compare;

pub mod db;
mod door;
pub mod history;
pub mod kv_cache;
mod real;
pub mod tpcc;
pub mod trace;
pub mod ycsb;

use hdrhistogram::Histogram;
use saker::Kv;
use saker_host::transfer::{Adaptive, Auto, Objective};
use saker_host::{HostError, Method, Pacing, TransferPolicy};
use saker_lab::error::LabError;
use saker_lab::plan::Settings;
use saker_lab::report::{Point, Stalls};
use saker_lab::rig::{Cell, Stored, add_cpu, add_metrics, stores};
use saker_profile::Profile;
use saker_world::{Load, calibrate_at};
use serde_json::json;

pub use compare::{CompareError, Input, Plan, Row, Timing, compare};
pub use real::{RealOptions, on_url};

/// BandSlim's threshold between piggybacking and pages (ICPP'24, section 4.1), and a tail as long as one command more.
const THRESHOLDS_BYTES: (u32, u32) = (128, 64);

/// Policies beside the methods themselves.
const POLICIES: [&str; 3] = ["adaptive", "auto-bytes", "auto-time"];

/// Latencies in nanoseconds, up to 100 s. One that grows by itself does not grow for `saturating_record`.
pub fn latencies() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 100_000_000_000, 3).expect("1 ns to 100 s at 3 digits")
}

/// Every name of [`policy_named`].
pub fn policy_names() -> Vec<&'static str> {
    Method::ALL.iter().map(|m| m.name()).chain(POLICIES).collect()
}

/// A policy by name: a method, `adaptive` with BandSlim's threshold, `auto-bytes`, or `auto-time`, which measures the
/// methods on the profile under that load first. Nothing for other names.
///
/// # Errors
/// Those of the measurement.
pub fn policy_named(
    name: &str,
    profile: &Profile,
    pacing: Pacing,
    load: Load,
) -> Result<Option<TransferPolicy>, LabError> {
    let (first, second) = THRESHOLDS_BYTES;
    let auto = |objective| Some(TransferPolicy::Auto(Auto { objective }));
    Ok(match name {
        "adaptive" => Some(TransferPolicy::Adaptive(Adaptive::new(first, second))),
        "auto-bytes" => auto(Objective::Bytes),
        "auto-time" => auto(Objective::Time(calibrate_at(profile, pacing, load)?.table)),
        _ => Method::of_name(name).map(TransferPolicy::Fixed),
    })
}

/// What a bench found.
#[derive(Debug)]
pub struct BenchReport {
    /// Where: workload, device, method and so on; and the numbers.
    pub point: Point,
    /// The times of commands, if they were asked for.
    pub traces: Vec<trace::CommandTrace>,
    /// A report of its own form, line by line; none for most workloads.
    pub lines: Vec<String>,
}

/// Runs a workload in virtual time by the policy named `transfer`, else by the cell's: the same arguments give the same
/// numbers on any machine.
///
/// # Errors
/// [`LabError`].
pub fn in_virtual(
    profile: &str,
    settings: &Settings,
    operations: u64,
    transfer: &str,
    cell: &Cell,
) -> Result<BenchReport, LabError> {
    settings.check(profile)?;
    settings.check_engines("this workload in virtual time", &[])?;
    let profile = settings.profile_named(profile)?;
    let seed = settings.seed.unwrap_or(1);
    let load = Load { threads: cell.threads, depth: cell.depth };
    let policy = policy_named(transfer, &profile, cell.pacing, load)?;
    let cell = &Cell { policy: policy.unwrap_or_else(|| cell.policy.clone()), ..cell.clone() };
    let mut run = stores(&profile, seed, operations, cell)?;
    let traces = std::mem::take(&mut run.result.traces);
    let mut point = Point::at([
        ("workload", json!(cell.suite.name())),
        ("timing", json!("virtual")),
        ("profile", json!(settings.describe(std::slice::from_ref(&profile.name)))),
        ("transfer", json!(transfer)),
        ("threads", json!(cell.threads)),
        ("depth", json!(cell.depth)),
    ]);
    add_numbers(&mut point, &run);
    Ok(BenchReport { point, traces, lines: Vec::new() })
}

/// When the device's engine stopped or delayed writes, if it tells.
fn stalls_of(kv: &mut Kv) -> Result<Stalls, HostError> {
    Ok(kv.write_control()?.unwrap_or_default().stalls)
}

/// Redirections, rollbacks and the metadata of a store over both interfaces of a device: since it was opened.
const REDIRECTION: [&str; 9] = [
    "redirected_writes",
    "redirected_bytes",
    "redirections",
    "rollbacks",
    "rollback_moved",
    "device_emptied",
    "device_swept",
    "metadata_keys_peak",
    "metadata_bytes",
];

/// What such a store tells; of others nothing.
fn add_redirection(point: &mut Point, kv: &mut Kv) -> Result<(), HostError> {
    let told = kv.counters()?.unwrap_or_default();
    for name in REDIRECTION {
        let counted = told.iter().find(|counter| counter.name == name);
        counted.into_iter().for_each(|counter| point.add(name, counter.value as f64));
    }
    Ok(())
}

fn add_numbers(point: &mut Point, run: &Stored) {
    add_metrics(point, run);
    let result = &run.result;
    point.add("operations", result.operations as f64);
    point.add("elapsed_s", result.elapsed.as_secs_f64());
    point.add("latency_us_mean", result.latency.mean() / 1e3);
    for (name, quantile) in [("p50", 0.5), ("p99", 0.99), ("p999", 0.999)] {
        point.add(&format!("latency_us_{name}"), result.latency.value_at_quantile(quantile) as f64 / 1e3);
    }
    point.add_stalls(&result.stalls);
    add_cpu(point, result);
    point.values.insert("digest".to_owned(), json!(format!("{:016x}", result.digest)));
}
