// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Opens a device behind a vfio-user socket.

use super::attach::dma_space;
use crate::url::VfioPlace;
use saker_host::Port;
use saker_link::BarBuffer;
use saker_runtime::AnyDriver;
use saker_vfio_client::{Options, Relay, VfioError};
use std::sync::Arc;
use std::time::Duration;

/// Opens the device of a URL.
pub(crate) fn open(place: &VfioPlace, depth: u16) -> Result<(AnyDriver, Port), VfioError> {
    let reconnect = Duration::from_secs(place.reconnect_s);
    let options = Options { path: place.path.clone(), depth, reconnect };
    let relay = Relay::open(options, dma_space(depth))?;
    let port = Port {
        space: Arc::clone(relay.space()),
        registers: Arc::clone(relay.registers()),
        doorbells: Arc::clone(relay.doorbells()),
        // Nothing reads it: values go by commands.
        bar: BarBuffer::new(1),
    };
    Ok((AnyDriver::VfioUser(Box::new(relay)), port))
}
