// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The fields of a message, one after the other.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::{Header, IrqAction, MessageError, Request, command};

/// What is left of a message.
pub(super) struct Fields<'m>(pub &'m [u8]);

impl<'m> Fields<'m> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    pub fn header(&mut self) -> Option<Header> {
        Some(Header {
            id: self.u16()?,
            command: self.u16()?,
            size: self.u32()?,
            flags: self.u32()?,
            error: self.u32()?,
        })
    }

    pub fn request(&mut self, command: u16, descriptors: usize) -> Result<Request<'m>, MessageError> {
        let parsed = match command {
            command::VERSION => self.version(),
            command::DMA_MAP => self.dma_map(),
            command::DMA_UNMAP => self.dma_unmap(),
            command::DEVICE_INFO => Some(Request::DeviceInfo),
            command::REGION_INFO => self.region_info(),
            command::IRQ_INFO => self.irq_info(),
            command::SET_IRQS => return self.set_irqs(descriptors),
            command::REGION_READ => self.region_read(),
            command::REGION_WRITE => return self.region_write(),
            command::RESET => Some(Request::Reset),
            _ => return Err(MessageError::Command(command)),
        };
        parsed.ok_or(MessageError::Short)
    }

    /// The capabilities that follow ask for nothing that a server has to know.
    fn version(&mut self) -> Option<Request<'m>> {
        Some(Request::Version { major: self.u16()?, minor: self.u16()? })
    }

    fn dma_map(&mut self) -> Option<Request<'m>> {
        let (_argsz, flags) = (self.u32()?, self.u32()?);
        let (offset, iova, bytes) = (self.u64()?, self.u64()?, self.u64()?);
        Some(Request::DmaMap { writable: flags & 2 != 0, offset, iova, bytes })
    }

    fn dma_unmap(&mut self) -> Option<Request<'m>> {
        let (_argsz, flags) = (self.u32()?, self.u32()?);
        Some(Request::DmaUnmap { flags, iova: self.u64()?, bytes: self.u64()?, all: flags & 2 != 0 })
    }

    fn region_info(&mut self) -> Option<Request<'m>> {
        let (room, _flags, index) = (self.u32()?, self.u32()?, self.u32()?);
        Some(Request::RegionInfo { index, room })
    }

    fn irq_info(&mut self) -> Option<Request<'m>> {
        let (_argsz, _flags, index) = (self.u32()?, self.u32()?, self.u32()?);
        Some(Request::IrqInfo { index })
    }

    fn set_irqs(&mut self, descriptors: usize) -> Result<Request<'m>, MessageError> {
        let mut fields = || Some([self.u32()?, self.u32()?, self.u32()?, self.u32()?, self.u32()?]);
        let [_argsz, flags, index, start, count] = fields().ok_or(MessageError::Short)?;
        let refused = |field, value: u32| MessageError::Field {
            command: command::SET_IRQS,
            field,
            value: u64::from(value),
        };
        let action = match (flags & 0x7, flags & 0x38) {
            // Data none, bool, eventfd; action trigger, mask, unmask (linux/vfio.h).
            (4, 0x20) if descriptors > 0 => IrqAction::Descriptors,
            (4 | 1, 0x20) if descriptors == 0 && (count == 0 || flags & 4 != 0) => IrqAction::Forget,
            (1, 0x20) => IrqAction::Trigger,
            (_, 0x08 | 0x10) => IrqAction::Mask,
            _ => return Err(refused("flags", flags)),
        };
        if action == IrqAction::Descriptors && descriptors != count as usize {
            return Err(MessageError::Descriptors { command: command::SET_IRQS, came: descriptors });
        }
        if start.checked_add(count).is_none() {
            return Err(refused("count", count));
        }
        Ok(Request::SetIrqs { index, start, count, action })
    }

    fn access(&mut self) -> Option<(u64, u32, u32)> {
        Some((self.u64()?, self.u32()?, self.u32()?))
    }

    fn region_read(&mut self) -> Option<Request<'m>> {
        let (offset, region, count) = self.access()?;
        Some(Request::RegionRead { region, offset, count })
    }

    fn region_write(&mut self) -> Result<Request<'m>, MessageError> {
        let (offset, region, count) = self.access().ok_or(MessageError::Short)?;
        let data = self.0.get(..count as usize).filter(|_| count > 0);
        let refused =
            MessageError::Field { command: command::REGION_WRITE, field: "count", value: u64::from(count) };
        data.map(|data| Request::RegionWrite { region, offset, data }).ok_or(refused)
    }
}
