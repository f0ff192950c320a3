// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `Auto` against every single method, on every workload and every profile, one value at a time and under load: at most 2 %
//! worse in what it is asked for.

use crate::methods::tier;
use saker_assembly::Build;
use saker_host::transfer::{Auto, Objective};
use saker_host::{Method, Pacing, TransferOptions, TransferPolicy};
use saker_link::Rule;
use saker_profile::Profile;
use saker_workload::{Suite, SuiteOptions};
use saker_world::calibrate::{Load, calibrate_at};
use saker_world::{Job, Op, RunResult, StoreKind, run_virtual};

/// Workload A's sizes; the others have their own.
const FIXED_BYTES: [u32; 12] = [4, 32, 35, 36, 64, 128, 200, 500, 1000, 2048, 4096, 4100];

/// One value after the other, and loads under which the device's resources queue up.
fn loads(profile: &str) -> Vec<(Pacing, u16)> {
    let one = [(Pacing::Passthrough, 1), (Pacing::Pipelined, 1)];
    let deep: &[_] =
        if matches!(profile, "cosmos-plus" | "default") { &[(Pacing::Pipelined, 8)] } else { &[] };
    let all = [4, 32].map(|depth| [(Pacing::Passthrough, depth), (Pacing::Pipelined, depth)]).concat();
    one.into_iter().chain(tier(deep, &all).iter().copied()).collect()
}

fn workloads() -> Vec<(String, Vec<Op>)> {
    let mut all = Vec::new();
    let mut add = |suite: Suite, value_bytes: u32| {
        let number = all.len() as u64;
        let options = SuiteOptions { operations: tier(60, 600), value_bytes, key_bytes: None, seed: number };
        let plan = suite.plan(&options).expect("a plan");
        let keys = plan.key_space().expect("keys");
        let put = |o: saker_workload::Operation| Op::Put(keys.key(o.key), vec![3; o.size as usize]);
        all.push((
            format!("{} {value_bytes}", suite.name()),
            plan.operations().expect("a plan").map(put).collect(),
        ));
    };
    FIXED_BYTES.into_iter().for_each(|bytes| add(Suite::A, bytes));
    [Suite::B, Suite::C, Suite::D, Suite::M].into_iter().for_each(|suite| add(suite, 0));
    all
}

/// What every workload costs under every option, workload by workload.
fn runs(build: &Build, depth: u16, options: &[TransferOptions]) -> Vec<(String, Vec<RunResult>)> {
    let workloads = workloads();
    let job = |operations: &Vec<Op>, transfer: &TransferOptions| Job {
        threads: 1,
        depth,
        operations: operations.clone(),
        flush: false,
        transfer: transfer.clone(),
    };
    let jobs: Vec<_> = workloads.iter().flat_map(|(_, ops)| options.iter().map(|o| job(ops, o))).collect();
    let results = run_virtual(StoreKind::Disk, build, &jobs).expect("runs");
    assert!(results.iter().all(|r| r.errors == 0 || r.operations > r.errors));
    let by_workload = results.chunks(options.len()).map(<[_]>::to_vec);
    workloads.into_iter().map(|(name, _)| name).zip(by_workload).collect()
}

/// Every single method, then `auto`.
fn options(objective: Objective, pacing: Pacing) -> Vec<TransferOptions> {
    let mut options: Vec<_> = Method::ALL.iter().map(|m| TransferOptions::fixed(*m, pacing)).collect();
    let policy = TransferPolicy::Auto(Auto { objective });
    options.push(TransferOptions { policy, pacing, small_reads: 0 });
    options
}

fn quiet(profile: &Profile) -> Build {
    let build = Build::kv(profile, 64 << 30, 1).expect("large enough");
    Build { nand: false, ..build }
}

/// Percent that `auto` may be above the best.
const PERCENT: u64 = 2;

/// The workloads where `auto` is further above the best.
fn misses(place: &str, runs: &[(String, Vec<RunResult>)], cost: impl Fn(&RunResult) -> u64) -> Vec<String> {
    let mut misses = Vec::new();
    for (workload, results) in runs {
        let costs: Vec<u64> = results.iter().map(&cost).collect();
        let (auto, single) = costs.split_last().expect("auto is the last");
        let best = *single.iter().min().expect("six methods");
        if *auto > best + best * PERCENT / 100 {
            misses.push(format!(
                "{place}, {workload}: auto {auto}, {single:?}, {:.3}",
                *auto as f64 / best as f64
            ));
        }
    }
    misses
}

fn builtin() -> impl Iterator<Item = (&'static str, Profile)> {
    Profile::builtin_names().map(|name| (name, Profile::builtin(name).expect("built in")))
}

#[test]
fn auto_by_time_is_never_far_from_the_best_method() {
    let mut all = Vec::new();
    for (name, profile) in builtin() {
        let build = quiet(&profile);
        for (pacing, depth) in loads(name) {
            let table = calibrate_at(&profile, pacing, Load { threads: 1, depth }).expect("measures").table;
            let runs = runs(&build, depth, &options(Objective::Time(table), pacing));
            let place = format!("{name}, {pacing:?}, depth {depth}");
            all.extend(misses(&place, &runs, |r| r.elapsed.as_nanos()));
        }
    }
    println!("{}", all.join("\n"));
    assert!(all.is_empty(), "{} misses", all.len());
}

#[test]
fn auto_by_bytes_is_never_far_from_the_best_method() {
    let mut all = Vec::new();
    for (name, profile) in builtin() {
        let build = quiet(&profile);
        for (pacing, depth) in loads(name) {
            let runs = runs(&build, depth, &options(Objective::Bytes, pacing));
            let place = format!("{name}, {pacing:?}, depth {depth}");
            all.extend(misses(&place, &runs, |r| r.traffic.bytes(&Rule::Protocol).total()));
        }
    }
    println!("{}", all.join("\n"));
    assert!(all.is_empty(), "{} misses", all.len());
}
