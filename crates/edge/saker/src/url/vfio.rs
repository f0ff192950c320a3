// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A PCIe function behind a vfio-user socket: the parts of its URL.

use super::tcp::seconds;
use std::path::PathBuf;

/// A server's socket.
///
/// ```
/// use saker::{DeviceUrl, VfioPlace, url::Backing};
/// let Backing::VfioUser(place) = DeviceUrl::parse("vfio-user:disk.sock?reconnect=5")?.place else { panic!() };
/// let VfioPlace { path, reconnect_s } = place;
/// assert_eq!((path.to_str(), reconnect_s), (Some("disk.sock"), 5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VfioPlace {
    /// The socket.
    pub path: PathBuf,
    /// Seconds that a server which has gone is tried again.
    pub reconnect_s: u64,
}

/// Seconds, as for targets.
const PATIENCE_S: u64 = 30;

impl VfioPlace {
    pub(crate) fn new(path: &str) -> Self {
        Self { path: path.into(), reconnect_s: PATIENCE_S }
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        if name != "reconnect" {
            return Err("the device has its own; options here are depth, nsid and reconnect");
        }
        self.reconnect_s = seconds(value)?;
        Ok(())
    }
}
