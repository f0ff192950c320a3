//! Benches and experiments: from arguments to the lab.

use saker_host::{Pacing, TransferPolicy};
use saker_lab::bench::{BenchReport, RealOptions, in_virtual, on_url};
use saker_lab::rig::Cell;
use saker_lab::settings::setting;
use saker_lab::{LabError, Settings};
use saker_realtime::Kv;
use saker_workload::{Suite, SuiteOptions};

use super::opened::refused;
use crate::commands::bench::{self, BenchArgs, Switch};
use crate::error::CliError;
use crate::limits::VALUE_BYTES_MAX;

/// Runs a workload on the device of a URL, or in virtual time.
pub(super) fn bench(args: &BenchArgs, device: Option<&str>) -> Result<BenchReport, CliError> {
    let suite = bench::suite(args)?;
    let value_bytes = u32::try_from(args.value_size).unwrap_or(u32::MAX).min(VALUE_BYTES_MAX as u32);
    let options =
        SuiteOptions { operations: args.operations, value_bytes, key_bytes: args.key_size, seed: args.seed };
    let result = match device {
        Some(url) => {
            let mut kv = Kv::open(url).map_err(|e| refused(&e))?;
            on_url(&mut kv, url, &RealOptions { suite, options, queued: args.qd > 1 })
        }
        None => virtually(args, suite, value_bytes),
    };
    result.map_err(|e| failed(&e, "bench"))
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
    in_virtual(&args.profile, &settings, args.operations, &args.transfer, &cell)
}

/// What went wrong, and where to look.
pub(super) fn failed(error: &LabError, command: &str) -> CliError {
    match error {
        LabError::Setting(_) => CliError::usage(error.to_string(), "see `saker profile show`"),
        LabError::Workload(_) | LabError::Profile(_) => {
            CliError::usage(error.to_string(), format!("see `saker {command} --help`"))
        }
        other => CliError::failed(other.to_string(), format!("see `saker {command} --help`")),
    }
}
