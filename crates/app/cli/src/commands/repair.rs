// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker repair`

use std::path::Path;

use serde::Serialize;

use crate::args::repair::RepairArgs;
use crate::context::{Context, Exit};
use crate::error::{CliError, one_line};
use crate::linked::salvage;
use crate::progress::Progress;
use crate::report::LossReport;
use crate::size::grouped;

#[derive(Serialize)]
struct Report<'a> {
    old: &'a Path,
    new: &'a Path,
    #[serde(flatten)]
    losses: &'a LossReport,
}

/// Makes a sound image of a damaged one.
///
/// # Errors
/// `File` or `Failed` when one image cannot be read or the other not be made.
pub fn run(args: &RepairArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let progress = Progress::counter(cx.shows_progress());
    let losses = salvage::repair(&args.old, &args.new, &mut |copied| progress.set(copied))?;
    progress.finish();
    if cx.global.json {
        cx.document("saker.repair.v1", &Report { old: &args.old, new: &args.new, losses: &losses })?;
    } else {
        for line in losses.lines() {
            let _ = writeln!(cx.streams.errors, "{}", one_line(&line));
        }
        let sound: u64 = losses.namespaces.iter().map(|n| n.sound).sum();
        let lost: usize = losses.namespaces.iter().map(|n| n.lost.len() + n.unknown.len()).sum();
        let (old, new) = (args.old.display(), args.new.display());
        let (sound, lost) = (grouped(sound), grouped(lost as u64));
        cx.print(one_line(&format!("{new}: {sound} pairs and blocks of {old}, {lost} losses")) + "\n")?;
    }
    Ok(if losses.is_lossy() { Exit::No } else { Exit::Good })
}
