//! A namespace behind the Linux kernel's driver: the parts of its URL, and how it is opened.

use crate::any::AnyTurn;
use crate::open::dma_space;
use saker_host::Port;
use saker_link::BarBuffer;
use saker_linux::{LinuxError, Options, Passthrough, Submission};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A namespace's device file.
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
                self.reconnect_s = crate::remote::seconds(value)?;
            }
            _ => return Err("the device has its own; options here are depth, nsid, io and reconnect"),
        }
        Ok(())
    }
}

/// Opens the namespace of a URL.
pub(crate) fn open(place: &LinuxPlace, depth: u16) -> Result<(AnyTurn, Port), LinuxError> {
    let options = Options {
        path: place.path.clone(),
        submission: place.submission,
        depth,
        patience: Duration::from_secs(place.reconnect_s),
    };
    let namespace = Passthrough::open(options, dma_space(depth))?;
    let port = Port {
        space: Arc::clone(namespace.space()),
        registers: Arc::clone(namespace.registers()),
        doorbells: Arc::clone(namespace.doorbells()),
        // Nothing reads it: the kernel's queues are its own.
        bar: BarBuffer::new(1),
    };
    Ok((AnyTurn::Linux(Box::new(namespace)), port))
}
