// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Options of `saker bench` that would change nothing are refused.

use saker_bench::db::DbBench;

use super::{BenchArgs, OnDevice, PhaseChoice, Switch, history};
use crate::error::CliError;

/// Looks for an option that the workload has no use for.
///
/// # Errors
/// `Usage` names it.
pub fn check(args: &BenchArgs, on_device: bool) -> Result<(), CliError> {
    if let Some(option) = virtual_only(args).filter(|_| on_device) {
        let what = format!("{option} is for virtual time");
        return Err(CliError::usage(what, format!("leave out --device or {option}")));
    }
    if let Some((option, whose)) = of_others(args) {
        return Err(CliError::usage(format!("{option} is for {whose}"), format!("leave out {option}")));
    }
    if let Some(option) = history::unused(args, on_device) {
        return Err(CliError::usage(
            format!("a history has operations and a device of its own, and no use for {option}"),
            format!("leave out {option}"),
        ));
    }
    match alone(args).filter(|_| on_device) {
        Some(option) => {
            let what = format!("on a device `{}` has one client, one operation at a time", args.workload);
            Err(CliError::usage(what, format!("leave out {option}")))
        }
        None => Ok(()),
    }
}

/// An option that changes nothing on a device, which has a profile of its own.
fn virtual_only(args: &BenchArgs) -> Option<&'static str> {
    first([
        (args.passthrough, "--passthrough"),
        (args.nand == Switch::Off, "--nand off"),
        (!args.set.is_empty(), "--set"),
        (args.profile.is_some(), "--profile"),
    ])
}

/// An option of other workloads, and of which.
fn of_others(args: &BenchArgs) -> Option<(&'static str, &'static str)> {
    let is_tpcc = matches!(OnDevice::named(&args.workload), Some(OnDevice::Tpcc(_)));
    let is_ycsb = args.workload.to_ascii_lowercase().starts_with("ycsb");
    first([
        (
            args.history.is_given() && args.workload != history::NAME,
            ("--engine, --side or --cuts", "history"),
        ),
        (args.warehouses != 1 && !is_tpcc, ("--warehouses", "tpcc")),
        (args.phase != PhaseChoice::Both && !is_ycsb, ("--phase", "YCSB's workloads")),
    ])
}

/// An option for more than a workload does at once on a device. db_bench's have threads and queues, BandSlim's queues.
fn alone(args: &BenchArgs) -> Option<&'static str> {
    let is_db = DbBench::named(&args.workload).is_some();
    let is_whole = OnDevice::named(&args.workload).is_some();
    first([(args.threads != 1 && !is_db, "--threads"), (args.qd != 1 && is_whole, "--qd")])
}

fn first<T: Copy>(given: impl IntoIterator<Item = (bool, T)>) -> Option<T> {
    given.into_iter().find_map(|(given, option)| given.then_some(option))
}
