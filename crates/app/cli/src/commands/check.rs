// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker check`

use crate::args::check::CheckArgs;
use crate::context::{Context, Exit};
use crate::error::{CliError, one_line};
use crate::linked::images;
use crate::report::{CheckReport, CheckedNamespace};
use crate::size::{grouped, show};

/// Verifies an image file.
///
/// # Errors
/// `File` or `Failed` when it cannot be read at all.
pub fn run(args: &CheckArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    tell(&images::check(&args.image)?, cx)
}

/// What a check found; the answer is no when there is damage.
///
/// # Errors
/// `Output`.
pub fn tell(report: &CheckReport, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    if cx.global.json {
        cx.document("saker.check.v1", report)?;
    } else {
        cx.print(lines(report))?;
    }
    Ok(if report.damage.is_empty() { Exit::Good } else { Exit::No })
}

fn lines(report: &CheckReport) -> String {
    let verdict = match report.damage.len() as u64 {
        0 => "sound".to_owned(),
        1 => "DAMAGED in 1 place".to_owned(),
        places => format!("DAMAGED in {} places", grouped(places)),
    };
    let image = report.image.display();
    let (records, bytes, torn) = (grouped(report.records), show(report.bytes), grouped(report.torn));
    let damage = report.damage.iter().map(|d| one_line(&format!("{}: {}", d.place, d.what)) + "\n");
    let repairable =
        report.repairable.iter().map(|d| one_line(&format!("repairable: {}: {}", d.place, d.what)) + "\n");
    let namespaces = report.namespaces.iter().filter(|_| report.namespaces.len() > 1).map(namespace);
    // What lives is known of sound images only.
    let found = match report.damage.is_empty() {
        true => format!("{records} records, {bytes} verified, {torn} unfinished writes"),
        false => format!("{bytes} read, live records not counted"),
    };
    let text = format!("{image}: {verdict}; {found}\n");
    text + &namespaces.chain(damage).chain(repairable).chain(losses(report)).collect::<String>()
}

fn losses(report: &CheckReport) -> Vec<String> {
    let Some(losses) = &report.losses else { return Vec::new() };
    let mended = losses.mended.iter().map(|place| format!("can be put right without loss: {place}"));
    let sound = losses.namespaces.iter().map(|n| {
        let what = if n.kind == "block" { "blocks" } else { "pairs" };
        format!("namespace {}: {}, {} {what} can be saved", n.nsid, n.kind, grouped(n.sound))
    });
    let next = report.next.iter().map(|command| format!("next: {command}"));
    let lines = mended.chain(sound).chain(losses.lines()).chain(next);
    lines.map(|line| one_line(&line) + "\n").collect()
}

fn namespace(n: &CheckedNamespace) -> String {
    let live = show(n.live_bytes);
    match n.kind {
        "block" => format!("namespace {}: block, {live} live\n", n.nsid),
        kind => format!("namespace {}: {kind}, {} records, {live} live\n", n.nsid, grouped(n.records)),
    }
}
