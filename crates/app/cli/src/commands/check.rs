//! `saker check`

use std::path::PathBuf;

use clap::Args;

use crate::context::{Context, Exit};
use crate::error::{CliError, one_line};
use crate::report::{CheckReport, CheckedNamespace};
use crate::size::{grouped, show};

/// Arguments of `saker check`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Reads every page and record of an image and verifies checksums and sequences; changes nothing. Unfinished writes at \
the tail are what a power cut leaves and no damage; what the next writer repairs by itself is told and no damage either. \
The exit code is 1 when there is damage. Then it is told what is lost, by key where that can be known, and which commands \
save the rest: `saker dump --salvage` writes the sound pairs to a file, `saker repair` makes a sound image of them.

Examples:
  saker check disk.img
  saker check disk.img --json")]
pub struct CheckArgs {
    /// The image file
    pub image: PathBuf,
}

/// Verifies an image file.
///
/// # Errors
/// Those of the backend.
pub fn run(args: &CheckArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let report = cx.backend.check(&args.image)?;
    if cx.global.json {
        cx.document("saker.check.v1", &report)?;
    } else {
        cx.print(lines(&report))?;
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
