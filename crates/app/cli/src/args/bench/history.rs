// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker bench history`.

use clap::{Args, ValueEnum};
use saker_history::Side;

use super::{BenchArgs, PhaseChoice, Switch};

/// The workload's name.
pub const NAME: &str = "history";
/// Operations that are given to no workload.
const OPERATIONS_DEFAULT: u64 = 10_000;

/// Parameters of a history.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "history: a fixed history on a device so small that everything happens")]
pub struct HistoryArgs {
    /// The engine [default: hash_store]
    #[arg(long, value_name = "NAME")]
    pub engine: Option<String>,
    /// Where it runs [default: device]
    #[arg(long, value_name = "SIDE")]
    pub side: Option<SideChoice>,
    /// Cut power at N programs or erases all over a shorter history, each with and without a capacitor, and tell what
    /// recovery finds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub cuts: Option<u32>,
}

/// Where an engine runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SideChoice {
    /// In the device: DiskKV.
    Device,
    /// At the host over a block namespace: HostKV.
    Host,
    /// Over flash without time, its work metered by unit.
    Engine,
}

impl HistoryArgs {
    /// Whether any is given.
    pub fn is_given(&self) -> bool {
        self.engine.is_some() || self.side.is_some() || self.cuts.is_some()
    }

    /// The engine's name.
    pub fn engine(&self) -> &str {
        self.engine.as_deref().unwrap_or("hash_store")
    }

    /// Where it runs.
    pub fn side(&self) -> Side {
        match self.side {
            None | Some(SideChoice::Device) => Side::Device,
            Some(SideChoice::Host) => Side::Host,
            Some(SideChoice::Engine) => Side::Engine,
        }
    }
}

/// An option that a history would not heed.
pub fn unused(args: &BenchArgs, on_device: bool) -> Option<&'static str> {
    let given = [
        (on_device, "--device"),
        (args.operations != OPERATIONS_DEFAULT, "--operations"),
        (args.threads != 1, "--threads"),
        (args.qd != 1, "--qd"),
        (args.transfer.is_some(), "--transfer"),
        (args.profile.is_some(), "--profile"),
        (!args.set.is_empty(), "--set"),
        (args.passthrough, "--passthrough"),
        (args.nand == Switch::Off, "--nand off"),
        (args.trace.is_some(), "--trace"),
        (args.properties.is_some(), "--properties"),
        (args.phase != PhaseChoice::Both, "--phase"),
    ];
    let found = given.into_iter().find(|(given, _)| *given && args.workload == NAME);
    found.map(|(_, option)| option)
}
