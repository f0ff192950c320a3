// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Benches and experiments: from arguments to the lab.

use saker::{EngineKind, Kv, KvCache, RetentionOptions};
use saker_bench::db::{DbOptions, db_on_url};
use saker_bench::{BenchReport, RealOptions, in_virtual, on_url};
use saker_history::Setup;
use saker_host::transfer::Adaptive;
use saker_host::{Method, Pacing, TransferPolicy};
use saker_lab::rig::Cell;
use saker_lab::run::{self as lab, Finished, Progress};
use saker_lab::settings::setting;
use saker_lab::{Experiment, LabError, Settings};
use saker_profile::Profile;
use saker_workload::kv_cache::KvCacheLoad;
use saker_workload::tpcc::Tpcc;
use saker_workload::{Suite, SuiteOptions};

use super::opened::refused;
use super::ycsb;
use crate::args::bench::{self, BenchArgs, Switch};
use crate::error::CliError;
use crate::limits::VALUE_BYTES_MAX;
use crate::report::{Calibrated, CalibratedSize, Listed};

/// Runs a workload: in virtual time, or on the device of a URL.
///
/// # Errors
/// `Usage` for arguments that make no sense, `Failed` otherwise.
pub fn bench(args: &BenchArgs, device: Option<&str>) -> Result<BenchReport, CliError> {
    if args.workload == bench::history::NAME {
        return history(args);
    }
    let is_own = args.workload.eq_ignore_ascii_case("ycsb");
    if is_own || args.properties.is_some() {
        return ycsb::of_properties(args, is_own, device);
    }
    let value_bytes =
        u32::try_from(args.value_size).ok().filter(|n| *n <= VALUE_BYTES_MAX as u32).ok_or_else(|| {
            CliError::usage(
                format!(
                    "values of {} bytes are too long, the most is {VALUE_BYTES_MAX} (2MiB)",
                    args.value_size
                ),
                "give a smaller --value-size",
            )
        })?;
    if let Some(workload) = bench::OnDevice::named(&args.workload) {
        return on_device(workload, args, value_bytes, device);
    }
    if let (Some(url), Some(options)) = (device, bench::db::options(args, value_bytes)?) {
        return database(args, url, &options);
    }
    let suite = bench::suite(args)?;
    let options =
        SuiteOptions { operations: args.operations, value_bytes, key_bytes: args.key_size, seed: args.seed };
    if suite.is_ycsb() && ycsb::is_plain(args, device) {
        let plan = suite.plan(&options).map_err(|e| failed(&e.into(), "bench"))?;
        return ycsb::run(args, &plan, device);
    }
    let result = match device {
        Some(url) => {
            let url = &with_transfer(url, args.transfer.as_deref());
            let mut kv = Kv::open(url).map_err(|e| refused(&e))?;
            if suite.value_bytes_fixed() {
                check_room(&mut kv, args)?;
            }
            on_url(&mut kv, url, &RealOptions { suite, options, queued: args.qd > 1 })
        }
        None => virtually(args, suite, value_bytes),
    };
    result.map_err(|e| failed(&e, "bench"))
}

/// A history of an engine, or where it is cut.
fn history(args: &BenchArgs) -> Result<BenchReport, CliError> {
    let asked = &args.history;
    let engine = EngineKind::named(asked.engine()).ok_or_else(|| {
        let todo = format!("choose one of {}", EngineKind::names());
        CliError::usage(format!("there is no engine `{}`", asked.engine()), todo)
    })?;
    if engine.has_workers() {
        let what =
            format!("engine `{}` has threads of its own, which virtual time cannot follow", engine.name());
        return Err(CliError::usage(what, "choose another engine, or run a workload with --device"));
    }
    let setup = Setup::new(engine, asked.side(), args.seed);
    let told = match asked.cuts {
        Some(cuts) => saker_bench::history::of_cuts(&setup, u64::from(cuts)),
        None => saker_bench::history::whole(&setup),
    };
    told.map_err(|e| failed(&e, "bench"))
}

/// How much smaller than the standard's a warehouse is.
const TPCC_SCALE: u32 = 50;
/// Blocks of a request, about; and a block's size if the values asked for are smaller than a page.
const REQUEST_BLOCKS: u64 = 10;
const BLOCK_BYTES: u32 = 1 << 20;

/// Workloads that are more than one operation after the other.
fn on_device(
    workload: bench::OnDevice,
    args: &BenchArgs,
    value_bytes: u32,
    device: Option<&str>,
) -> Result<BenchReport, CliError> {
    let Some(url) = device else {
        return Err(CliError::usage(
            format!("`{}` needs a device", args.workload),
            "add --device mem:, or see `saker reproduce run saker-tpcc` for virtual time",
        ));
    };
    let url = &with_transfer(url, args.transfer.as_deref());
    let done = match workload {
        bench::OnDevice::KvCache => {
            let mut cache = KvCache::open(url, RetentionOptions::default()).map_err(|e| refused(&e))?;
            let block_bytes = if value_bytes < 4096 { BLOCK_BYTES } else { value_bytes };
            let requests = args.operations.div_ceil(REQUEST_BLOCKS);
            let load = KvCacheLoad { requests, block_bytes, seed: args.seed, ..KvCacheLoad::default() };
            saker_bench::kv_cache::on_url(&mut cache, url, &load)
        }
        bench::OnDevice::Tpcc(lines) => {
            let mut kv = Kv::open(url).map_err(|e| refused(&e))?;
            let tpcc = Tpcc::scaled(args.warehouses, TPCC_SCALE, lines, args.seed);
            saker_bench::tpcc::on_url(&mut kv, url, &tpcc, args.operations as usize)
        }
    };
    done.map_err(|e| failed(&e, "bench"))
}

/// One of db_bench's benchmarks.
fn database(args: &BenchArgs, url: &str, options: &DbOptions) -> Result<BenchReport, CliError> {
    let mut kv = Kv::open(&with_transfer(url, args.transfer.as_deref())).map_err(|e| refused(&e))?;
    if options.bench.stores_num() && !options.use_existing_db {
        check_room(&mut kv, args)?;
    }
    let (kv, report) = db_on_url(kv, url, options).map_err(|e| failed(&e, "bench"))?;
    kv.close().map_err(|e| refused(&e))?;
    Ok(report)
}

/// Refuses pairs that the device cannot hold, before the first is stored: those of a device that can be asked.
fn check_room(kv: &mut Kv, args: &BenchArgs) -> Result<(), CliError> {
    let Some(device) = kv.stats() else { return Ok(()) };
    let capacity = device.namespaces.iter().filter(|n| n.kind == "kv").map(|n| n.capacity_bytes).max();
    let pair = args.value_size + args.key_size.unwrap_or(KEY_BYTES_MIN) as u64;
    match capacity.map(|bytes| bytes / pair.max(1)) {
        Some(most) if args.operations > most => Err(CliError::usage(
            format!(
                "{} pairs of {pair} bytes do not fit the device: it holds at most {most}",
                args.operations
            ),
            "give fewer --operations, shorter values or a larger device",
        )),
        _ => Ok(()),
    }
}

/// Keys of workloads have so many bytes at least.
const KEY_BYTES_MIN: usize = 4;

/// The URL of a device whose values are sent by that method, if one is asked for.
pub(super) fn with_transfer(url: &str, method: Option<&str>) -> String {
    let join = if saker::DeviceUrl::split(url).1.is_some() { '&' } else { '?' };
    method.map_or_else(|| url.to_owned(), |method| format!("{url}{join}transfer={method}"))
}

/// Measures the methods of transfer on a profile, in virtual time.
///
/// # Errors
/// `Failed` when the profile makes no device.
pub fn calibrate(profile: &Profile, passthrough: bool) -> Result<Calibrated, CliError> {
    let pacing = if passthrough { Pacing::Passthrough } else { Pacing::Pipelined };
    let found = saker_world::calibrate(profile, pacing)
        .map_err(|e| CliError::failed(e.to_string(), "choose another profile; see `saker profile list`"))?;
    let sizes = found.table.rows.iter().map(|(bytes, costs)| {
        let ns = Method::ALL.map(|method| (method.name(), costs[method.index()]));
        let quickest = ns.iter().filter(|(_, ns)| ns.is_some()).min_by_key(|(_, ns)| *ns);
        CalibratedSize {
            bytes: *bytes,
            quickest: quickest.map_or(Method::Prp.name(), |(name, _)| *name),
            ns: ns.into(),
        }
    });
    let Adaptive { threshold1, threshold2, .. } = found.adaptive;
    Ok(Calibrated { threshold1, threshold2, sizes: sizes.collect() })
}

/// The experiments there are.
pub fn experiments() -> Vec<Listed> {
    lab::plans().map(|plan| Listed { id: plan.id, title: plan.title, source: plan.source }).collect()
}

/// Runs experiments of [`experiments`], each with each of the settings, on `threads` threads; settings within experiments. A
/// claim that does not hold is a verdict, no error. `note` hears of progress, `done` of each result.
///
/// # Errors
/// `Usage` for settings that cannot be made, `Failed` otherwise.
pub fn reproduce(
    ids: &[String],
    settings: &[Settings],
    threads: usize,
    note: &mut dyn FnMut(Progress),
    done: &mut dyn FnMut(&Finished<'_>),
) -> Result<Vec<Experiment>, CliError> {
    lab::run_all(ids, settings, threads, note, done).map_err(|e| failed(&e, "reproduce"))
}

fn virtually(args: &BenchArgs, suite: Suite, value_bytes: u32) -> Result<BenchReport, LabError> {
    let profile = args.set.iter().map(|text| setting(text)).collect::<Result<_, _>>()?;
    let settings = Settings { seed: Some(args.seed), profile, ..Settings::default() };
    let cell = Cell {
        suite,
        value_bytes,
        key_bytes: args.key_size,
        policy: TransferPolicy::default(),
        pacing: if args.passthrough { Pacing::Passthrough } else { Pacing::Pipelined },
        nand: args.nand == Switch::On,
        threads: args.threads as usize,
        depth: args.qd as u16,
        traces: args.trace.is_some(),
    };
    in_virtual(args.profile_name(), &settings, args.operations, bench::method(args), &cell)
}

/// The profile of a run in virtual time, as changed for it.
pub(super) fn profile_of(args: &BenchArgs) -> Result<Profile, LabError> {
    let profile = args.set.iter().map(|text| setting(text)).collect::<Result<_, _>>()?;
    let settings = Settings { seed: Some(args.seed), profile, ..Settings::default() };
    settings.check(args.profile_name())?;
    settings.check_engines("YCSB in virtual time", &[])?;
    Ok(settings.profile_named(args.profile_name())?)
}

/// What went wrong, and where to look.
pub(super) fn failed(error: &LabError, command: &str) -> CliError {
    match error {
        LabError::Setting(_) => CliError::usage(error.to_string(), "see `saker profile show`"),
        LabError::Workload(_) | LabError::Profile(_) | LabError::Trace(_) => {
            CliError::usage(error.to_string(), format!("see `saker {command} --help`"))
        }
        other => CliError::failed(other.to_string(), format!("see `saker {command} --help`")),
    }
}
