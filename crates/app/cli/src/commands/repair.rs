//! `saker repair`

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::context::{Context, Exit};
use crate::error::{CliError, one_line};
use crate::progress::Progress;
use crate::report::LossReport;
use crate::size::grouped;

/// Arguments of `saker repair`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Makes a new image of the pairs and blocks of OLD that are sound. OLD is only read, and NEW must not exist. NEW has the size, \
the engine, the settings, the namespaces and the identity of OLD, whose place it is to take: hosts take both for one device, \
so do not serve both at once. What is lost is listed on standard error (or in the document of --json), and the exit code is \
1 if something is.

Examples:
  saker check disk.img
  saker repair disk.img repaired.img
  saker check repaired.img")]
pub struct RepairArgs {
    /// The damaged image; nothing of it changes
    pub old: PathBuf,
    /// The image to make
    pub new: PathBuf,
}

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
/// Those of the backend.
pub fn run(args: &RepairArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let progress = Progress::counter(cx.shows_progress());
    let losses = cx.backend.repair(&args.old, &args.new, &mut |copied| progress.set(copied))?;
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
