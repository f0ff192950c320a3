// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Processors of the device's thread.

use crate::{DeviceUrl, Error};
use saker_runtime::cpus::are_there;

/// The device's thread can run where the URL says.
///
/// # Errors
/// It cannot.
pub(super) fn refuse_missing(url: &DeviceUrl) -> Result<(), Error> {
    if are_there(&url.device_cpus) {
        return Ok(());
    }
    let (named, todo) =
        (named(url), "write processors that this machine has and gives to this process, from 0 on");
    Err(Error::Setting { what: format!("{named}: one of them is not there"), todo: todo.into() })
}

/// A device that its caller drives has no thread of its own.
///
/// # Errors
/// The URL has processors for one.
pub(super) fn refuse_idle(url: &DeviceUrl) -> Result<(), Error> {
    if url.device_cpus.is_empty() {
        return Ok(());
    }
    let todo = "leave it out: who serves a device drives it on threads of its own, which `taskset` puts where you want them";
    Err(Error::Setting { what: format!("{} of a device that is served", named(url)), todo: todo.into() })
}

fn named(url: &DeviceUrl) -> String {
    let cpus: Vec<_> = url.device_cpus.iter().map(usize::to_string).collect();
    format!("device_cpus={}", cpus.join(","))
}
