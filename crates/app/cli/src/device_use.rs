// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `--device` where it says nothing is refused: a device that was named and not used is a mistake in the line.

use std::ffi::OsString;

use crate::args::{Cli, Command};
use crate::error::CliError;

/// Looks at the line as a whole.
///
/// # Errors
/// `Usage` when `--device` is given to a command that has none, beside another device, or twice.
pub fn check(line: &Cli, arguments: &[OsString]) -> Result<(), CliError> {
    if times_given(arguments) > 1 {
        return Err(CliError::usage("--device is given twice", "name one device"));
    }
    match (&line.global.device, todo(&line.command)) {
        (Some(_), Some((command, todo))) => {
            Err(CliError::usage(format!("`saker {command}` takes no --device here"), todo))
        }
        _ => Ok(()),
    }
}

/// How often, before and behind the command's name.
fn times_given(arguments: &[OsString]) -> usize {
    let words = arguments.iter().filter_map(|word| word.to_str()).take_while(|word| *word != "--");
    words.filter(|word| *word == "--device" || word.starts_with("--device=")).count()
}

/// What to write instead, for commands that use no device that is named so.
fn todo(command: &Command) -> Option<(&'static str, &'static str)> {
    Some(match command {
        Command::Compare(_) => {
            ("compare", "leave it out: it makes its devices; --store and --profile choose them")
        }
        Command::Reproduce(_) => ("reproduce", "leave it out: each plan has its devices"),
        Command::Create(_) => ("create", "leave it out: the image to make is the first argument"),
        Command::Check(_) => ("check", "leave it out: the image is the first argument"),
        Command::Grow(_) => ("grow", "leave it out: the image is the first argument"),
        Command::Backup(_) => ("backup", "leave it out: the device is the first argument"),
        Command::Restore(_) => ("restore", "leave it out: the device is the second argument"),
        Command::Scrub(_) => ("scrub", "leave it out: the device is the first argument"),
        Command::Serve(_) => ("serve", "name what to serve with --image or --url"),
        Command::Profile(_) => ("profile", "leave it out"),
        Command::Secret(_) => ("secret", "leave it out"),
        Command::Conform(args) if args.url.is_some() => ("conform", "name the device once"),
        Command::Top(args) if args.url.is_some() => ("top", "name the device once"),
        _ => return None,
    })
}
