// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The conformance suite on a device.

use saker_conform::{Finding, OpenedSubject, Report, run};

use super::opened;
use crate::error::CliError;

/// Examines a device; `heard` is told each finding as it comes.
///
/// # Errors
/// `Usage` for a URL that makes no sense; `Failed` for a device that cannot be opened, or stops answering.
pub fn conform(url: &str, heard: &mut dyn FnMut(&Finding)) -> Result<Report, CliError> {
    let mut subject = OpenedSubject::open(url).map_err(|error| opened::refused(&error))?;
    let report = run(&mut subject, heard)
        .map_err(|broken| CliError::failed(broken.to_string(), "see whether the device still works"))?;
    subject.close().map_err(|error| opened::failed(&error))?;
    Ok(report)
}
