// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command line: which commands there are, and what is said about a line that makes no sense.

pub mod backup;
pub mod bench;
pub mod block;
pub mod check;
pub mod compare;
pub mod conform;
pub mod create;
pub mod delete;
pub mod dump;
pub mod exists;
pub mod fs;
pub mod get;
pub mod grow;
pub mod info;
pub mod list;
pub mod load;
pub mod namespaces;
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
pub mod top;
pub mod txn;

use std::ffi::OsString;
use std::io::Write;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::error::CliError;
use crate::exit::Exit;

/// How keys are written; part of the help of every command that takes one.
pub const KEY_HELP: &str = "\
Keys are 1 to 255 bytes, written as UTF-8 text. For other bytes write hex:00ff or base64:AP8=.
Text that itself begins with hex:, base64: or str: gets str: in front (str:hex:00ff).";

const OVERVIEW: &str = "\
Devices (--device, or the variable SAKER_DEVICE):
  mem:                        in memory, for this one command
  file:disk.img               an image file; make one with `saker create`
  tcp://127.0.0.1:4420/NQN    an NVMe/TCP target
  vfio-user:SOCKET            a PCIe function that `saker serve --vfio-user` makes
  /dev/ng0n1                  a namespace behind the Linux kernel's driver

Exit codes: 0 done, 1 failed or the answer is no, 2 the command line makes no sense, 70 an internal error (a panic, on
whatever thread: one line on standard error).

Examples:
  saker create disk.img --size 1GiB
  saker put --device file:disk.img user:1 Ada
  saker get --device file:disk.img user:1
  saker load --device file:disk.img UnicodeData.txt
  saker compare --timing virtual --profile saker-mid";

/// A key-value SSD in user space
#[derive(Debug, Parser)]
#[command(name = "saker", version, after_help = OVERVIEW, disable_help_subcommand = true)]
pub struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Args, Clone, Debug, Default)]
pub struct Global {
    /// The device, such as file:IMAGE, with options such as ?nsid=2; otherwise the variable SAKER_DEVICE
    #[arg(long, global = true, value_name = "URL")]
    pub device: Option<String>,
    /// Write one versioned JSON document to standard output, and nothing else there
    #[arg(long, global = true)]
    pub json: bool,
    /// No progress and no summary on standard error
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare HostKV and DiskKV on one workload
    Compare(compare::CompareArgs),
    /// Run one workload and show what it costs
    Bench(Box<bench::BenchArgs>),
    /// Repeat published experiments and check their claims
    Reproduce(reproduce::ReproduceArgs),
    /// Make an image file
    Create(create::CreateArgs),
    /// Verify an image file
    Check(check::CheckArgs),
    /// Make a sound image of what can be saved of a damaged one
    Repair(repair::RepairArgs),
    /// Make an image file larger
    Grow(grow::GrowArgs),
    /// Write all pairs and blocks of a device to a file, or what has changed
    Backup(backup::BackupArgs),
    /// Write a backup to a device
    Restore(restore::RestoreArgs),
    /// Read all there is of a device and verify it
    Scrub(scrub::ScrubArgs),
    /// Store a value under a key
    Put(put::PutArgs),
    /// Write the value of a key to standard output or a file
    Get(get::GetArgs),
    /// Remove a key
    Delete(delete::DeleteArgs),
    /// Tell whether there is a key
    Exists(exists::ExistsArgs),
    /// Run the operations of a script as one transaction
    Txn(txn::TxnArgs),
    /// List keys
    List(list::ListArgs),
    /// Show keys and values, a range of them if asked
    Scan(scan::ScanArgs),
    /// Store the records of a file
    Load(load::LoadArgs),
    /// Write all records to a file
    Dump(dump::DumpArgs),
    /// Read, write or trim blocks of a block namespace
    Block(block::BlockArgs),
    /// Keep files on a block namespace: make a file system, list, copy, check
    Fs(fs::FsArgs),
    /// Serve devices to the network as an NVMe/TCP target
    Serve(serve::ServeArgs),
    /// Make secrets by which hosts and targets authenticate
    Secret(secret::SecretArgs),
    /// Examine whether a device does what the specification says
    Conform(conform::ConformArgs),
    /// Show what the device says of itself
    Info(info::InfoArgs),
    /// Watch a device at work: rates, latencies, queues, stalls, capacity
    Top(top::TopArgs),
    /// Change settings of a device that is being served, while it is
    Set(set::SetArgs),
    /// Show the timing profiles and where their numbers come from
    Profile(profile::ProfileArgs),
}

/// Prints help or the version when that was asked for.
///
/// # Errors
/// `Usage` with the refusal on one line.
pub fn answer(
    refusal: &clap::Error,
    arguments: &[OsString],
    output: &mut dyn Write,
) -> Result<Exit, CliError> {
    match refusal.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            write!(output, "{}", refusal.render()).map_err(CliError::Output)?;
            Ok(Exit::Good)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            Err(CliError::usage("no command is given", see_help(arguments)))
        }
        _ => Err(one_line(&refusal.render().to_string(), arguments)),
    }
}

/// The parser's message as one line. It comes in paragraphs: the error, tips, the usage, a hint to the help.
fn one_line(text: &str, arguments: &[OsString]) -> CliError {
    let mut paragraphs = text.split("\n\n").map(|p| p.split_whitespace().collect::<Vec<_>>().join(" "));
    let what = paragraphs.next().unwrap_or_default();
    let what = what.strip_prefix("error: ").unwrap_or(&what).to_owned();
    // A number below zero is no value behind `--` either.
    let is_of_use = |tip: &&str| !tip.contains("as a value, use");
    let tip = paragraphs.find_map(|p| p.strip_prefix("tip: ").filter(is_of_use).map(str::to_owned));
    CliError::usage(what, tip.unwrap_or_else(|| see_help(arguments)))
}

/// Where the help of the command among the arguments is.
fn see_help(arguments: &[OsString]) -> String {
    let words = arguments.iter().skip(1).filter_map(|a| a.to_str());
    let command = words.into_iter().find(|word| Cli::command().find_subcommand(word).is_some());
    command.map_or("see `saker --help`".to_owned(), |name| format!("see `saker {name} --help`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_examples() {
        for command in Cli::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let example = format!("saker {} ", command.get_name());
            assert!(help.contains("Example") && help.contains(&example), "{}", command.get_name());
        }
    }
}
