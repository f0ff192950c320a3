// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A namespace behind the Linux kernel's driver: the parts of its URL.

use super::tcp::seconds;
use saker_linux::Submission;
use std::path::PathBuf;

/// A namespace's device file.
///
/// ```
/// use saker::{DeviceUrl, LinuxPlace, Submission, url::Backing};
/// let Backing::Linux(place) = DeviceUrl::parse("/dev/ng0n1?io=ioctl")?.place else { panic!() };
/// let LinuxPlace { submission, reconnect_s, .. } = place;
/// assert_eq!((submission, reconnect_s), (Submission::Ioctl, 30));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinuxPlace {
    /// `/dev/ngXnY`.
    pub path: PathBuf,
    /// How commands are handed to the kernel.
    pub submission: Submission,
    /// Seconds that reading commands are repeated while the kernel has no connection.
    pub reconnect_s: u64,
}

/// Seconds, as for targets.
const PATIENCE_S: u64 = 30;

impl LinuxPlace {
    pub(crate) fn new(path: &str) -> Self {
        Self { path: path.into(), submission: Submission::Any, reconnect_s: PATIENCE_S }
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        match name {
            "io" => {
                self.submission = match value {
                    "any" => Submission::Any,
                    "uring" => Submission::Uring,
                    "ioctl" => Submission::Ioctl,
                    _ => return Err("write any, uring or ioctl"),
                }
            }
            "reconnect" => {
                self.reconnect_s = seconds(value)?;
            }
            _ => return Err("the device has its own; options here are depth, nsid, io and reconnect"),
        }
        Ok(())
    }
}
