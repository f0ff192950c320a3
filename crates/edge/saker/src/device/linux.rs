// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Opens a namespace behind the Linux kernel's driver.

use super::attach::dma_space;
use crate::url::LinuxPlace;
use saker_host::Port;
use saker_link::BarBuffer;
use saker_linux::{LinuxError, Options, Passthrough};
use saker_runtime::AnyDriver;
use std::sync::Arc;
use std::time::Duration;

/// Opens the namespace of a URL.
pub(crate) fn open(place: &LinuxPlace, depth: u16) -> Result<(AnyDriver, Port), LinuxError> {
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
    Ok((AnyDriver::Linux(Box::new(namespace)), port))
}
