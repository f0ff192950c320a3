//! Benches and experiments: from arguments to the lab.

use saker_host::transfer::Adaptive;
use saker_host::{Method, Pacing, TransferPolicy};
use saker_lab::bench::db::{DbOptions, db_on_url};
use saker_lab::bench::{BenchReport, RealOptions, in_virtual, on_url};
use saker_lab::rig::Cell;
use saker_lab::settings::setting;
use saker_lab::{LabError, Settings};
use saker_realtime::Kv;
use saker_sim::profile::Profile;
use saker_workload::{Suite, SuiteOptions};

use super::opened::refused;
use crate::commands::bench::{self, BenchArgs, Switch};
use crate::error::CliError;
use crate::limits::VALUE_BYTES_MAX;
use crate::report::{Calibrated, CalibratedSize};

/// Runs a workload on the device of a URL, or in virtual time.
pub(super) fn bench(args: &BenchArgs, device: Option<&str>) -> Result<BenchReport, CliError> {
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
    if let (Some(url), Some(options)) = (device, bench::db::options(args, value_bytes)?) {
        return on_device(args, url, &options);
    }
    let suite = bench::suite(args)?;
    let options =
        SuiteOptions { operations: args.operations, value_bytes, key_bytes: args.key_size, seed: args.seed };
    let result = match device {
        Some(url) => {
            let url = &with_transfer(url, args.transfer.as_deref());
            let mut kv = Kv::open(url).map_err(|e| refused(&e))?;
            on_url(&mut kv, url, &RealOptions { suite, options, queued: args.qd > 1 })
        }
        None => virtually(args, suite, value_bytes),
    };
    result.map_err(|e| failed(&e, "bench"))
}

/// One of db_bench's benchmarks.
fn on_device(args: &BenchArgs, url: &str, options: &DbOptions) -> Result<BenchReport, CliError> {
    let kv = Kv::open(&with_transfer(url, args.transfer.as_deref())).map_err(|e| refused(&e))?;
    let (kv, report) = db_on_url(kv, url, options).map_err(|e| failed(&e, "bench"))?;
    kv.close().map_err(|e| refused(&e))?;
    Ok(report)
}

/// The URL of a device whose values are sent by that method, if one is asked for.
fn with_transfer(url: &str, method: Option<&str>) -> String {
    let join = if url.contains('?') { '&' } else { '?' };
    method.map_or_else(|| url.to_owned(), |method| format!("{url}{join}transfer={method}"))
}

/// Response times of the transfer methods on a profile, and BandSlim's thresholds that follow.
pub(super) fn calibrate(profile: &Profile, passthrough: bool) -> Result<Calibrated, CliError> {
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
    in_virtual(&args.profile, &settings, args.operations, bench::method(args), &cell)
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
