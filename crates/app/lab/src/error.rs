// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why an experiment cannot be run.

use crate::settings::SettingError;
use saker_assembly::BuildError;
use saker_history::HistoryError;
use saker_host::HostError;
use saker_profile::ProfileError;
use saker_workload::WorkloadError;
use saker_world::calibrate::CalibrationError;
use saker_world::{Failure, Refusal};
use thiserror::Error;

/// An experiment that cannot be run. A claim that does not hold is no error.
#[derive(Debug, Error)]
pub enum LabError {
    /// No experiment of that name.
    #[error("there is no experiment `{0}`: see `saker reproduce list`")]
    Unknown(String),
    /// A change that cannot be made.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A profile that cannot be used.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A workload that makes no sense.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A device that cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A profile that could not be fitted.
    #[error("{0}")]
    Fit(String),
    /// Methods that could not be measured.
    #[error(transparent)]
    Calibration(#[from] CalibrationError),
    /// A device that could not be used.
    #[error(transparent)]
    Host(#[from] HostError),
    /// What a store refused, by name.
    #[error(transparent)]
    Store(#[from] Refusal),
    /// An operation that a store carried out, and that failed.
    #[error(transparent)]
    Operation(#[from] Failure),
    /// A history that could not be told.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// A key that was stored is not there.
    #[error("{0} is not there: the device lost it")]
    Missing(String),
    /// A trace that cannot be read, or parameters that make no workload.
    #[error("{0}")]
    Trace(String),
    /// A workload whose operations follow each other's answers.
    #[error(
        "`{0}` scans, deletes or reads what was inserted just before: it runs on a device (--device), not in virtual time"
    )]
    OnDeviceOnly(&'static str),
    /// Operations that the device refused.
    #[error("{errors} of {operations} operations failed at {place}: the device is too small for the run")]
    Refused {
        /// Operations that failed.
        errors: u64,
        /// Operations in all.
        operations: u64,
        /// Where.
        place: String,
    },
}
