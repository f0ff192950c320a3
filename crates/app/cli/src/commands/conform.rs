// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker conform`

use saker_conform::{Finding, Report};
use serde_json::json;

use crate::args::conform::ConformArgs;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::linked::conform;

/// Examines a device.
///
/// # Errors
/// Those of opening; `Failed` if the device stops answering.
pub fn run(args: &ConformArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let url = args.url.clone().map_or_else(|| cx.device(), Ok)?;
    let mut printed = Ok(());
    let report = conform::conform(&url, &mut |finding| {
        if !cx.global.json && printed.is_ok() {
            printed = cx.print(line(finding));
        }
    })?;
    printed?;
    if cx.global.json {
        let body = json!({
            "device": url, "conforms": report.is_conforming(), "passed": report.count("pass"),
            "failed": report.count("FAIL"), "open": report.count("open"), "skipped": report.count("skipped"),
            "findings": report.findings,
        });
        cx.document("saker.conform.v1", &body)?;
    } else {
        cx.print(summary(&report))?;
    }
    Ok(if report.is_conforming() { Exit::Good } else { Exit::No })
}

fn line(finding: &Finding) -> String {
    let Finding { id, source, says, verdict } = finding;
    let detail = if verdict.detail().is_empty() { String::new() } else { format!(": {}", verdict.detail()) };
    format!("{:<8}{id:<22}{source:<22}{says}{detail}\n", verdict.word())
}

fn summary(report: &Report) -> String {
    let count = |word| report.count(word);
    let (passed, failed) = (count("pass"), count("FAIL"));
    format!("{passed} passed, {failed} failed, {} open, {} skipped\n", count("open"), count("skipped"))
}
