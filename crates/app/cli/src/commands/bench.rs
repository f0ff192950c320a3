// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker bench`

use std::io::{BufWriter, Write};
use std::path::Path;

use saker_bench::db::DbBench;
use saker_bench::{BenchReport, trace};
use saker_workload::Suite;
use serde_json::{Map, Value};

use super::info::flatten;
use super::target::{Target, can_be_made};
use crate::args::bench::{BenchArgs, db, limits, refusals};
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::linked::experiments;
use crate::output::{self, VERSION, table};
use crate::size;

/// Runs a workload and shows what it measured.
///
/// # Errors
/// `Usage` for arguments that make no sense, `File` for the trace, and those of the workload.
pub fn run(args: &BenchArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let device = cx.global.device.clone().or_else(|| cx.streams.device.clone()).filter(|url| !url.is_empty());
    if device.is_some() && args.trace.is_some() {
        return Err(CliError::usage(
            "a device keeps no virtual time to trace",
            "leave out --device or --trace",
        ));
    }
    refusals::check(args, device.is_some())?;
    limits::check(args, device.is_some())?;
    args.trace.iter().try_for_each(|path| can_be_made(path))?;
    let is_timed = device.is_none() && Suite::named(&args.workload).is_some() && args.db.rate.is_none();
    let device = device
        .or_else(|| (!is_timed && DbBench::named(&args.workload).is_some()).then(|| db::device_for(args)));
    tell(args, &experiments::bench(args, device.as_deref())?, cx)
}

/// What a workload measured.
///
/// # Errors
/// `File` for the trace, `Output`.
pub fn tell(args: &BenchArgs, report: &BenchReport, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    if let Some(path) = &args.trace {
        write_trace(path, report)?;
        cx.note(&format!("{} commands in {}", report.traces.len(), path.display()));
    }
    if cx.global.json {
        output::document(cx.streams.output, "saker.bench.v1", Some(args.seed), &report.point)?;
    } else if !report.lines.is_empty() {
        cx.print(report.lines.join("\n") + "\n")?;
    } else {
        let head = format!("saker {VERSION}  seed {}  {}\n", args.seed, place(&report.point.at));
        cx.print(head + &numbers(&report.point.values))?;
    }
    Ok(Exit::Good)
}

fn write_trace(path: &Path, report: &BenchReport) -> Result<(), CliError> {
    let mut target = Target::create(path)?;
    let mut out = BufWriter::new(target.file());
    let lines = path.extension().is_some_and(|e| e == "jsonl");
    let write = if lines { trace::json_lines } else { trace::events };
    write(&mut out, &report.traces).and_then(|()| out.flush()).map_err(CliError::file("write", path))?;
    drop(out);
    target.commit()
}

fn place(at: &Map<String, Value>) -> String {
    let text = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
    at.iter().map(|(name, value)| format!("{name} {}", text(value))).collect::<Vec<_>>().join("  ")
}

fn numbers(values: &Map<String, Value>) -> String {
    let shown = |v: &Value| match v.as_f64() {
        Some(n) if n.fract() == 0.0 && n >= 0.0 => size::grouped(n as u64),
        Some(n) => format!("{n:.3}"),
        None => v.as_str().map_or_else(|| v.to_string(), str::to_owned),
    };
    let mut rows = Vec::new();
    for (name, value) in values {
        match value {
            Value::Object(_) => flatten(name, value, &mut rows),
            value => rows.push(vec![name.clone(), shown(value)]),
        }
    }
    table(&rows)
}
