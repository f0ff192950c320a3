// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker bench ycsb` and `ycsb-a` to `ycsb-f`.

use saker::Kv;
use saker_bench::{BenchReport, ycsb};
use saker_workload::{CoreWorkload, Plan};

use super::experiments::{failed, profile_of, with_transfer};
use super::opened::refused;
use crate::args::bench::{BenchArgs, PhaseChoice, Switch};
use crate::error::CliError;

/// Key size unless one is asked for: the device's largest. YCSB's own keys, `user` and a number, are longer.
const KEY_BYTES: usize = 16;

/// Whether nothing is asked for that only the other workloads have.
pub(super) fn is_plain(args: &BenchArgs, device: Option<&str>) -> bool {
    let alone = args.qd == 1 && args.threads == 1 && args.trace.is_none();
    let moved = args.transfer.is_some() || args.passthrough || args.nand == Switch::Off;
    alone && (device.is_some() || !moved)
}

/// Runs a property file.
pub(super) fn of_properties(
    args: &BenchArgs,
    is_own: bool,
    device: Option<&str>,
) -> Result<BenchReport, CliError> {
    let usage = |what: &str| {
        CliError::usage(what.to_owned(), "as in `saker bench ycsb --properties workloads/workloada`")
    };
    let Some(path) = &args.properties else { return Err(usage("workload `ycsb` needs --properties")) };
    if !is_own {
        return Err(usage("--properties belongs to workload `ycsb`"));
    }
    if !is_plain(args, device) {
        return Err(usage("YCSB has one client here: leave out --threads, --qd, --trace and --transfer"));
    }
    let text = std::fs::read_to_string(path).map_err(CliError::file("read", path))?;
    let workload = CoreWorkload::parse(&text).map_err(|e| usage(&e.to_string()))?;
    run(args, &workload.plan(args.seed, args.key_size.unwrap_or(KEY_BYTES)), device)
}

/// Runs the phases of a plan.
pub(super) fn run(args: &BenchArgs, plan: &Plan, device: Option<&str>) -> Result<BenchReport, CliError> {
    let which = match args.phase {
        PhaseChoice::Load => ycsb::Phases::Load,
        PhaseChoice::Run => ycsb::Phases::Run,
        PhaseChoice::Both => ycsb::Phases::Both,
    };
    let found = match device {
        Some(url) => {
            let url = &with_transfer(url, args.transfer.as_deref());
            let mut kv = Kv::open(url).map_err(|e| refused(&e))?;
            ycsb::OnUrl::new(&mut kv).and_then(|mut on_url| ycsb::phases(&mut on_url, plan, which))
        }
        None => profile_of(args).and_then(|profile| ycsb::in_virtual(&profile, plan, which)),
    };
    let found = found.map_err(|e| failed(&e, "bench"))?;
    Ok(ycsb::report(&args.workload, device.unwrap_or(args.profile_name()), &found))
}
