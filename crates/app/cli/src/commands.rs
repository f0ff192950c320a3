// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The commands, one a file: what is done with the arguments, and the output.

pub mod backup;
pub mod bench;
pub mod block;
pub mod check;
pub mod compare;
mod compare_html;
pub mod conform;
pub mod create;
pub mod delete;
pub mod dump;
pub mod exists;
pub mod fs;
mod fs_copy;
pub mod get;
pub mod grow;
pub mod info;
pub mod list;
pub mod load;
pub mod profile;
pub mod put;
pub mod repair;
pub mod reproduce;
pub mod restore;
pub mod scan;
pub mod scrub;
pub mod secret;
pub mod serve;
pub mod set;
mod target;
pub mod top;
pub mod txn;
mod walk;

use crate::context::{Context, Exit};
use crate::error::{CliError, one_line};
use crate::key;
use crate::linked::backup::Told;
use crate::progress::Progress;

/// Does work that counts pairs and blocks, and tells what came of it.
fn counted(
    cx: &mut Context<'_, '_>,
    schema: &str,
    work: impl FnOnce(&mut dyn FnMut(u64)) -> Result<Told, CliError>,
) -> Result<Exit, CliError> {
    let progress = Progress::counter(cx.shows_progress());
    let told = work(&mut |count| progress.set(count))?;
    progress.finish();
    if cx.global.json {
        cx.document(schema, &told.document)?;
    } else {
        let lines = told.line.lines().map(|line| one_line(line) + "\n");
        cx.print(lines.collect::<String>())?;
    }
    Ok(Exit::Good)
}

/// The error of a command that needs a key which is not there.
fn no_such_key(bytes: &[u8]) -> CliError {
    CliError::failed(format!("there is no key `{}`", key::show(bytes)), "see the keys with `saker list`")
}
