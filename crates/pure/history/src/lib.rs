// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Seeded histories of operations, told in digests and counters: two programs that behave alike tell the same, so a change of
//! code that is to change nothing is checked by them (`cargo xtask baseline`).
//!
//! One script (`script.rs`) runs on three sides: DiskKV in virtual time, HostKV in virtual time, and the engine alone over
//! flash that keeps no time, as the contract suites drive it. Flash is so small that every mechanism of an engine is at work.
#![forbid(unsafe_code)]

mod bare;
mod cuts;
mod device;
mod host;
mod payload;
mod script;
mod small;
mod tale;

pub use cuts::{CutTale, cut_points, tell_cut};
pub use small::Setup;
pub use tale::{MediaOps, Tale};

use bare::Bare;
use device::DiskKv;
use host::HostSide;
use saker_host::HostError;
use thiserror::Error;

/// Where the engine of a history runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// In the device: DiskKV.
    Device,
    /// At the host over a block namespace: HostKV.
    Host,
    /// Over flash, without device or host.
    Engine,
}

impl Side {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Device, Self::Host, Self::Engine];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Host => "host",
            Self::Engine => "engine",
        }
    }

    /// The side of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|side| side.name() == name)
    }
}

/// Why a history could not be told.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The device cannot be connected to.
    #[error(transparent)]
    Host(#[from] HostError),
    /// An operation never came to its end.
    #[error("operation {0} of the history never ends")]
    Stuck(u64),
    /// What a cut left cannot be opened.
    #[error("after a cut: {0}")]
    Damaged(String),
    /// Cuts are told of devices and of engines.
    #[error("there are no cuts at the host: its store is cut with its device")]
    NoCuts,
}

/// Runs the whole history.
///
/// # Errors
/// [`HistoryError`].
pub fn tell(setup: &Setup) -> Result<Tale, HistoryError> {
    match setup.side {
        Side::Device => {
            let mut subject = DiskKv::new(&setup.build())?;
            let missing = script::play(&mut subject, setup);
            subject.tale(missing)
        }
        Side::Host => {
            let mut subject = HostSide::new(setup)?;
            let missing = script::play(&mut subject, setup);
            subject.tale(missing)
        }
        Side::Engine => {
            let mut subject = Bare::new(&setup.build());
            let missing = script::play(&mut subject, setup);
            subject.tale(missing)
        }
    }
}
