// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Comparisons: from arguments to the lab, and from its rows to a report.

use saker::EngineKind;
use saker_bench::clock::{Cpus, HYBRID_COUNTERS};
use saker_bench::compare::{self, Cell, HybridOptions, Input, Plan, RollbackPolicy, Row, Timing};
use saker_host::CacheOptions;
use saker_lab::Settings as Changes;
use saker_lab::report::stalls;
use saker_lab::rig::cpu;
use saker_lab::settings::{SettingError, setting};
use saker_workload::RecordSet;
use saker_world::RunResult;
use serde_json::Value;

use crate::args::compare::{CompareArgs, HybridChoice, TimingChoice};
use crate::error::CliError;
use crate::report::{ByPhase, Comparison, Metric, System, TimedRun};

/// Sizes of values when neither an input nor sizes are given.
const SIZES: [usize; 5] = [16, 64, 256, 1024, 4096];

/// Runs one workload on HostKV, DiskKV and DiskKV+SAKER: the records of `args.input`, or pairs that it makes. `note` takes
/// one line of progress.
///
/// # Errors
/// `Usage` for arguments that make no sense, `Failed` otherwise.
pub fn compare(
    args: &CompareArgs,
    records: Option<RecordSet>,
    note: &mut dyn FnMut(&str),
) -> Result<Comparison, CliError> {
    let (mut plan, workload) = plan(args, records)?;
    let (mut runs, mut operations) = (Vec::new(), None::<u64>);
    for threads in &args.threads {
        warn_of_few_cores(args, *threads, note);
        for qd in &args.qd {
            (plan.threads, plan.depth) = (*threads as usize, (*qd).min(4095) as u16);
            let rows = compare::compare(&plan, note).map_err(|e| not_compared(&e))?;
            let puts = rows.iter().flat_map(|row| &row.cells).map(|cell| cell.put.operations);
            operations = operations.into_iter().chain(puts).min();
            runs.extend(rows.into_iter().map(|row| timed_run(row, *threads, *qd)));
        }
    }
    let operations = operations.unwrap_or(0);
    Ok(Comparison { seed: args.seed, profile: args.profile.clone(), workload, operations, runs })
}

fn plan(args: &CompareArgs, records: Option<RecordSet>) -> Result<(Plan, String), CliError> {
    let (input, workload) = input(args, records);
    let timings = match args.timing {
        TimingChoice::Virtual => vec![Timing::Virtual],
        TimingChoice::Real => vec![Timing::Real],
        TimingChoice::Off => vec![Timing::Off],
        TimingChoice::All => vec![Timing::Virtual, Timing::Real, Timing::Off],
    };
    let plan = Plan {
        input,
        timings,
        profile: args.profile.clone(),
        threads: 1,
        depth: 1,
        stores: stores(args)?,
        groups: args.group.clone(),
        batches: args.batch.clone(),
        hybrids: hybrids(args)?,
        skew: args.skew,
        cache: CacheOptions::sized(args.read_cache.unwrap_or(0) as usize),
        store_cache: args.store_cache,
        block_cache_bytes: args.block_cache.unwrap_or(0),
        changes: changes(args)?,
        cpus: Cpus { host: args.host_cpus.clone(), device: args.device_cpus.clone() },
        seed: args.seed,
    };
    Ok((plan, workload))
}

fn changes(args: &CompareArgs) -> Result<Changes, CliError> {
    let profile = args.set.iter().map(|text| setting(text)).collect::<Result<_, _>>();
    let profile = profile.map_err(|e: SettingError| CliError::usage(e.to_string(), TODO))?;
    Ok(Changes { profile, ..Changes::default() })
}

const TODO: &str = "change the arguments; see `saker compare --help`";

/// A device that failed is no fault of the command line.
fn not_compared(error: &compare::CompareError) -> CliError {
    let todo = TODO;
    match error {
        compare::CompareError::Host(_) => CliError::failed(error.to_string(), todo),
        _ => CliError::usage(error.to_string(), todo),
    }
}

fn input(args: &CompareArgs, records: Option<RecordSet>) -> (Input, String) {
    if let (Some(path), Some(records)) = (&args.input, records) {
        let (count, path) = (records.len(), path.display());
        let workload = format!("{count} records of {path}; {}", steps(args));
        return (Input::Records(records), workload);
    }
    let sizes: Vec<usize> =
        if args.sizes.is_empty() { SIZES.to_vec() } else { args.sizes.iter().map(|s| *s as usize).collect() };
    let pairs = args.operations as usize;
    let workload = format!("{pairs} random pairs of each size, 16-byte keys; {}", steps(args));
    (Input::Made { sizes, pairs }, workload)
}

fn steps(args: &CompareArgs) -> String {
    match args.skew {
        None => "put all, flush, get all in another order".to_owned(),
        Some(skew) => format!("put all, flush, get as many by a zipfian choice with exponent {skew}"),
    }
}

/// The stores of the names, each once.
fn stores(args: &CompareArgs) -> Result<Vec<EngineKind>, CliError> {
    let mut stores = Vec::new();
    for name in &args.store {
        let there = || format!("the stores there are: {}", EngineKind::names());
        let store = EngineKind::named(name)
            .ok_or_else(|| CliError::usage(format!("there is no store `{name}`"), there()))?;
        if stores.contains(&store) {
            return Err(CliError::usage(format!("store `{name}` is named twice"), "name each store once"));
        }
        stores.push(store);
    }
    if args.store_cache.is_some() && !stores.iter().any(|store| compare::has_cache(*store)) {
        let todo = "leave --store-cache out, or add --store tree";
        return Err(CliError::usage("no store that is asked for has a cache of its own", todo));
    }
    Ok(stores)
}

/// The hybrids of the policies, of a store that can be one.
fn hybrids(args: &CompareArgs) -> Result<Vec<HybridOptions>, CliError> {
    let has_hybrid = |store: &String| EngineKind::named(store).is_some_and(compare::has_hybrid);
    if !args.hybrid.is_empty() && !args.store.iter().any(has_hybrid) {
        return Err(CliError::usage(
            "only the store `lsm` has a hybrid",
            "add --store lsm, or leave --hybrid out",
        ));
    }
    let policy = |choice: &HybridChoice| match choice {
        HybridChoice::Eager => RollbackPolicy::Eager,
        HybridChoice::Lazy => RollbackPolicy::Lazy,
        HybridChoice::Adaptive => RollbackPolicy::Adaptive,
    };
    Ok(args
        .hybrid
        .iter()
        .map(|choice| HybridOptions { rollback: policy(choice), ..HybridOptions::default() })
        .collect())
}

/// Threads of the operating system that share cores measure the scheduler.
fn warn_of_few_cores(args: &CompareArgs, threads: u32, note: &mut dyn FnMut(&str)) {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let needed = threads as usize + 1;
    if args.timing != TimingChoice::Virtual && needed > cores {
        note(&format!(
            "warning: {threads} application threads and the device need {needed} cores, this machine has {cores}: \
             rates in real and off are the scheduler's, too"
        ));
    }
}

fn timed_run(row: Row, threads: u32, qd: u32) -> TimedRun {
    let system = |c: &Cell| System {
        name: c.system.clone(),
        store: c.store.name().into(),
        group: c.group,
        metrics: metrics(c),
        cpu: by_phase(c, cpu),
        stalls: by_phase(c, |r| stalls(&r.stalls)),
    };
    TimedRun {
        timing: row.timing.name().into(),
        store: row.store.name().into(),
        values: row.values.clone(),
        threads,
        qd,
        events: row.lag.map(|(events, _)| events),
        late_events: row.lag.map(|(_, late)| late),
        invalid: row.invalid.clone(),
        systems: row.cells.iter().map(system).collect(),
    }
}

fn by_phase(cell: &Cell, of: impl Fn(&RunResult) -> Option<Value>) -> Option<ByPhase> {
    let (put, get) = (of(&cell.put), of(&cell.get));
    (put.is_some() || get.is_some()).then_some(ByPhase { put, get })
}

/// Percent of the cores' time, of those that are modelled.
fn add_percents(r: &RunResult, add: &mut dyn FnMut(&str, f64)) {
    for (name, busy) in [("host_cpu_percent", &r.busy), ("device_cpu_percent", &r.device_busy)] {
        if !busy.cores().is_empty() {
            add(name, r.cpu_percent(busy));
        }
    }
    if r.user_bytes > 0 && !r.busy.cores().is_empty() {
        add("megabytes_per_s_per_host_cpu_percent", r.write_megabytes_per_s_per_cpu_percent());
    }
}

fn metrics(cell: &Cell) -> Vec<Metric> {
    let mut all = Vec::new();
    for (phase, r) in [("put", &cell.put), ("get", &cell.get)] {
        let mut add = |name: &str, value: f64| all.push(Metric { name: format!("{phase}_{name}"), value });
        let per_op = |n: u64| n as f64 / r.operations.max(1) as f64;
        add("operations_per_s", r.rate().round());
        add("latency_ns_p50", quantile(r, 0.5));
        add("latency_ns_p99", quantile(r, 0.99));
        add("latency_ns_p999", quantile(r, 0.999));
        add("commands_per_operation", per_op(r.commands));
        add("link_bytes_per_operation", per_op(r.link_bytes));
        add("nand_pages_programmed", r.nand_pages as f64);
        add("errors", r.errors as f64);
        for (name, n) in r.counters.iter().filter(|(name, _)| HYBRID_COUNTERS.contains(name)) {
            add(name, *n as f64);
        }
        add_percents(r, &mut add);
        match phase {
            "put" => add("write_amplification", r.write_amplification()),
            _ => {
                add("cache_hit_ratio", r.cache.hits as f64 / r.operations.max(1) as f64);
                let blocks = r.reads.block_hits + r.reads.block_misses;
                add("block_cache_hit_ratio", r.reads.block_hits as f64 / blocks.max(1) as f64);
            }
        }
    }
    all
}

fn quantile(r: &RunResult, q: f64) -> f64 {
    r.latency.value_at_quantile(q) as f64
}
