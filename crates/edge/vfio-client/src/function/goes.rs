// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device that is wanted back, and its controller memory buffer.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};
use saker_link::ForeignMemory;

use super::{BAR0, Function};
use crate::error::VfioError;
use crate::memory;

/// The interrupt by which a server asks its client to leave (linux/vfio.h, `VFIO_PCI_REQ_IRQ_INDEX`).
const REQUEST: u32 = 4;
/// Where a controller memory buffer is.
const BAR4: u32 = 4;
const CMBMSC: u64 = 0x50;

impl Function {
    /// An event that the server tells when it wants the device back: what is under way is to end, then the function to be
    /// [left](Self::leave), for which the server waits. `None`: it does not ask.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn hear_requests(&mut self) -> Result<Option<OwnedFd>, VfioError> {
        if self.socket.interrupts(REQUEST)? == 0 {
            return Ok(None);
        }
        let event = new_event()?;
        self.socket.set_interrupt(REQUEST, 0, event.as_fd())?;
        Ok(Some(event))
    }

    /// Maps the controller memory buffer, and has the device reach it at that address, a multiple of the page size. `None`: there is
    /// none.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn memory_buffer(&mut self, at: u64) -> Result<Option<Arc<ForeignMemory>>, VfioError> {
        let region = self.socket.region(BAR4)?;
        let Some(file) = region.file else { return Ok(None) };
        let memory = memory::mapped(&file, region.bytes)?;
        // CRE, CMSE, CBA.
        self.socket.write(BAR0, CMBMSC, &(at | 3).to_le_bytes())?;
        Ok(Some(memory))
    }

    /// Shuts the controller down, disables it, and says goodbye.
    ///
    /// # Errors
    /// [`VfioError`]; the server sees a goodbye all the same.
    pub fn leave(&mut self) -> Result<(), VfioError> {
        let ended = self.shut_down().and_then(|()| self.disable());
        self.socket.close();
        ended
    }
}

pub(crate) fn new_event() -> io::Result<OwnedFd> {
    Ok(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)
}
