// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker scrub`

use saker::ScrubNews;
use serde::Serialize;

use crate::args::scrub::ScrubArgs;
use crate::context::{Context, Exit};
use crate::error::{CliError, one_line};
use crate::linked::backup;
use crate::progress::Progress;
use crate::size::{grouped, show};

/// Damaged places that are kept for the document.
const DAMAGE_MAX: usize = 10_000;

#[derive(Serialize)]
struct Report<'a> {
    device: &'a str,
    read: &'a str,
    sound: u64,
    damaged: u64,
    bytes: u64,
    damage: &'a [String],
}

/// Reads all there is; the answer is no when something is damaged.
///
/// # Errors
/// `Usage` or `Failed` when it cannot be read at all.
pub fn run(args: &ScrubArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let progress = Progress::new(cx.shows_progress(), None);
    let mut damage = Vec::new();
    let found = backup::scrub(&args.url, args.rate, &mut |news| {
        match news {
            ScrubNews::Read(bytes) => progress.set(bytes),
            ScrubNews::Damage(what) if damage.len() < DAMAGE_MAX => damage.push(one_line(what)),
            ScrubNews::Damage(_) => {}
        }
        true
    })?;
    progress.finish();
    if cx.global.json {
        let saker::Scrubbed { read, sound, damaged, bytes, .. } = found;
        cx.document(
            "saker.scrub.v1",
            &Report { device: &args.url, read, sound, damaged, bytes, damage: &damage },
        )?;
    } else {
        damage.iter().for_each(|what| drop(writeln!(cx.streams.errors, "{what}")));
        let verdict = if found.damaged == 0 { "sound" } else { "DAMAGED" };
        let (sound, bytes, damaged) = (grouped(found.sound), show(found.bytes), grouped(found.damaged));
        let line =
            format!("{}: {verdict}; {sound} {} sound, {bytes} read, {damaged} damaged", args.url, found.read);
        cx.print(one_line(&line) + "\n")?;
    }
    Ok(if found.damaged == 0 { Exit::Good } else { Exit::No })
}
