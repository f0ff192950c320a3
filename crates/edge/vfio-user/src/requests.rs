// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a client asks, and what it is answered.

use std::os::fd::{AsFd, OwnedFd};

use saker_pcie::bar::{irq, region};
use saker_pcie::message::DATA_BYTES_MAX;
use saker_pcie::reply::{self, DMA_MAPS_MAX, Mappable};
use saker_pcie::{Effect, Header, Request};

use crate::engine::Engine;
use crate::memory;
use crate::probe::Counts;
use crate::refused::{Refused, no_such};
use crate::session::{Message, SessionError};

/// What came of a request.
struct Outcome {
    reply: Vec<u8>,
    /// The region whose file goes along with it.
    with_file: Option<u32>,
    /// The device has to look before the next one.
    look: bool,
}

impl From<Vec<u8>> for Outcome {
    fn from(reply: Vec<u8>) -> Self {
        Self { reply, with_file: None, look: false }
    }
}

impl Engine {
    /// Obeys a message. True if the device has to look before the next one.
    pub(crate) fn request(&mut self, message: Message) -> Result<bool, SessionError> {
        let header = message.header;
        let outcome = self.obey(message).unwrap_or_else(|refused| {
            let Refused { errno, why } = refused;
            Counts::add(&self.counts.refused);
            tracing::debug!(
                socket = self.socket,
                command = header.command,
                errno,
                why,
                "a request is refused"
            );
            reply::failed(&header, errno.unsigned_abs()).into()
        });
        if outcome.look {
            // The client waits for what its write does: CSTS after CC, completions after a doorbell.
            self.advance();
        }
        let is_greeted = self.client.as_ref().is_some_and(|client| client.is_greeted);
        let Some(client) = &mut self.client else { return Ok(true) };
        if !header.wants_no_reply() {
            let file = match outcome.with_file {
                Some(region::BAR0) => self.doorbells.as_ref(),
                Some(_) => self.memory_file.as_ref(),
                None => None,
            };
            let descriptor = file.map(AsFd::as_fd);
            client.session.send(&outcome.reply, descriptor)?;
        }
        // Who does not say what he speaks is not listened to.
        if is_greeted { Ok(outcome.look) } else { Err(SessionError::Closed) }
    }

    fn obey(&mut self, message: Message) -> Result<Outcome, Refused> {
        let Message { header, body, descriptors } = message;
        let request = Request::parse(&header, &body, descriptors.len())?;
        self.greet(&request)?;
        match request {
            Request::Version { .. } => Ok(reply::version(&header).into()),
            Request::DmaMap { writable, offset, iova, bytes } => {
                self.map(descriptors.first(), (offset, bytes), iova, writable)?;
                Ok(reply::done(&header).into())
            }
            Request::DmaUnmap { flags, iova, bytes, all } => {
                self.unmap(iova, bytes, all)?;
                Ok(reply::unmapped(&header, flags, iova, bytes).into())
            }
            Request::DeviceInfo => Ok(reply::device_info(&header).into()),
            Request::RegionInfo { index, .. } if index >= region::COUNT => Err(no_such("region", index)),
            Request::RegionInfo { index, room } => {
                let (doorbells, memory) = (self.doorbells.is_some(), self.memory_file.is_some());
                let (reply, with_file) =
                    reply::region_info(&header, index, room, Mappable { doorbells, memory });
                Ok(Outcome { reply, with_file: with_file.then_some(index), look: false })
            }
            Request::IrqInfo { index } if index >= irq::COUNT => Err(no_such("kind of interrupts", index)),
            Request::IrqInfo { index } => Ok(reply::irq_info(&header, index).into()),
            Request::SetIrqs { index, start, count, action } => {
                self.set_irqs(index, (start, count), action, descriptors)?;
                Ok(reply::done(&header).into())
            }
            Request::RegionRead { region, offset, count } => self.read(&header, region, offset, count),
            Request::RegionWrite { region, offset, data } => self.write(&header, region, offset, data),
            Request::Reset => {
                self.reset();
                Ok(reply::done(&header).into())
            }
        }
    }

    /// The first message says which version the client speaks; no other one does.
    fn greet(&mut self, request: &Request<'_>) -> Result<(), Refused> {
        let Some(client) = &mut self.client else { return Ok(()) };
        match request {
            Request::Version { major, minor } if !client.is_greeted => {
                if *major != 0 {
                    let why = format!("version {major}.{minor}, where 0.x is spoken");
                    return Err(Refused::new(libc::EINVAL, &why));
                }
                client.is_greeted = true;
                Ok(())
            }
            Request::Version { .. } => Err(Refused::new(libc::EINVAL, &"a second greeting")),
            _ if client.is_greeted => Ok(()),
            _ => Err(Refused::new(libc::EINVAL, &"no greeting")),
        }
    }

    fn map(
        &mut self,
        file: Option<&OwnedFd>,
        (offset, bytes): (u64, u64),
        iova: u64,
        writable: bool,
    ) -> Result<(), Refused> {
        let memory = file.map(|file| memory::map(file, offset, bytes, writable)).transpose()?;
        self.space.map_foreign(iova, bytes, memory, DMA_MAPS_MAX)?;
        if self.without_memory.is_some() {
            self.follow_memory();
        }
        Ok(())
    }

    fn unmap(&mut self, iova: u64, bytes: u64, all: bool) -> Result<(), Refused> {
        if all {
            self.space.unmap_all_foreign();
        } else {
            self.space.unmap_foreign(iova, bytes)?;
        }
        self.follow_memory();
        Ok(())
    }

    fn read(&self, header: &Header, region: u32, offset: u64, count: u32) -> Result<Outcome, Refused> {
        if count as usize > DATA_BYTES_MAX {
            return Err(Refused::new(libc::EINVAL, &"a read of more than one message has room for"));
        }
        let mut data = vec![0; count as usize];
        self.function.read(region, offset, &mut data)?;
        Ok(reply::region(header, offset, region, count, &data).into())
    }

    fn write(&mut self, header: &Header, region: u32, offset: u64, data: &[u8]) -> Result<Outcome, Refused> {
        let effect = self.function.write(region, offset, data)?;
        match effect {
            Effect::None => {}
            Effect::Look if self.without_memory.is_some() => {
                self.lose_memory("a queue without memory was used");
            }
            Effect::Look => {}
            Effect::Reset => self.reset(),
            Effect::Memory => self.move_memory(),
        }
        let reply = reply::region(header, offset, region, data.len() as u32, &[]);
        Ok(Outcome { reply, with_file: None, look: effect == Effect::Look })
    }
}
