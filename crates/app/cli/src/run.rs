// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From arguments to an exit code.

use std::ffi::OsString;

use clap::Parser;

use crate::args::{self, Cli, Command};
use crate::commands as c;
use crate::context::{Context, Exit, Streams};
use crate::device_use;
use crate::error::{CliError, one_line};
use crate::linked::opened;
use crate::store::OpenStore;

/// Runs one command line, `arguments` beginning with the program's name, and returns the exit code: 0 when it did
/// what it was asked, 1 when it could not or the answer is no, 2 when the command line makes no sense.
pub fn run(arguments: impl IntoIterator<Item = OsString>, streams: &mut Streams<'_>) -> u8 {
    run_on(arguments, streams, &opened::open)
}

/// The same, with the devices that `open` opens in place of key-value namespaces.
pub fn run_on(
    arguments: impl IntoIterator<Item = OsString>,
    streams: &mut Streams<'_>,
    open: OpenStore<'_>,
) -> u8 {
    run_by(arguments, streams, open, execute)
}

/// The same, with `execute` for the work.
pub fn run_by(
    arguments: impl IntoIterator<Item = OsString>,
    streams: &mut Streams<'_>,
    open: OpenStore<'_>,
    execute: impl FnOnce(Command, &mut Context<'_, '_>) -> Result<Exit, CliError>,
) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let result = match Cli::try_parse_from(&arguments) {
        Ok(line) => device_use::check(&line, &arguments).and_then(|()| {
            let Cli { global, command } = line;
            execute(command, &mut Context { streams, open, global })
        }),
        Err(refusal) => args::answer(&refusal, &arguments, streams.output),
    };
    let flushed = streams.output.flush().map_err(CliError::Output);
    finish(result.and_then(|exit| flushed.map(|()| exit)), streams)
}

/// What a command does.
///
/// # Errors
/// The command's.
pub fn execute(command: Command, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    match command {
        Command::Put(a) => c::put::run(&a, cx),
        Command::Get(a) => c::get::run(&a, cx),
        Command::Delete(a) => c::delete::run(&a, cx),
        Command::Exists(a) => c::exists::run(&a, cx),
        Command::Txn(a) => c::txn::run(&a, cx),
        Command::List(a) => c::list::run(&a, cx),
        Command::Scan(a) => c::scan::run(&a, cx),
        Command::Load(a) => c::load::run(&a, cx),
        Command::Dump(a) => c::dump::run(&a, cx),
        Command::Block(a) => c::block::run(&a, cx),
        Command::Fs(a) => c::fs::run(&a, cx),
        Command::Serve(a) => c::serve::run(&a, cx),
        Command::Secret(a) => c::secret::run(&a, cx),
        Command::Conform(a) => c::conform::run(&a, cx),
        Command::Info(a) => c::info::run(&a, cx),
        Command::Top(a) => c::top::run(&a, cx),
        Command::Set(a) => c::set::run(&a, cx),
        Command::Profile(a) => c::profile::run(&a, cx),
        Command::Create(a) => c::create::run(&a, cx),
        Command::Check(a) => c::check::run(&a, cx),
        Command::Repair(a) => c::repair::run(&a, cx),
        Command::Grow(a) => c::grow::run(&a, cx),
        Command::Backup(a) => c::backup::run(&a, cx),
        Command::Restore(a) => c::restore::run(&a, cx),
        Command::Scrub(a) => c::scrub::run(&a, cx),
        Command::Compare(a) => c::compare::run(&a, cx),
        Command::Bench(a) => c::bench::run(&a, cx),
        Command::Reproduce(a) => c::reproduce::run(&a, cx),
    }
}

fn finish(result: Result<Exit, CliError>, streams: &mut Streams<'_>) -> u8 {
    match result {
        Ok(Exit::Good) => 0,
        Ok(Exit::No) => CliError::FAILED_CODE,
        Err(error) if error.is_broken_pipe() => 0,
        Err(error) => {
            let _ = writeln!(streams.errors, "saker: error: {}", one_line(&error.to_string()));
            error.exit_code()
        }
    }
}
