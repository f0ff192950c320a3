// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The requests of a vfio-user client, from bytes.
//!
//! Layouts and numbers: libvfio-user's `docs/vfio-user.rst` (nutanix/libvfio-user) and QEMU's `hw/vfio-user/protocol.h`
//! (qemu/qemu); where the two differ in the number of a command, those of QEMU and of libvfio-user's code, which agree. Numbers
//! are in the byte order of the machine that both sides share: little endian here.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use thiserror::Error;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 16;
/// The longest message that is taken: a region write of 64 KiB with its head.
pub const MESSAGE_BYTES_MAX: usize = HEADER_BYTES + 16 + DATA_BYTES_MAX;
/// Data of one message.
pub const DATA_BYTES_MAX: usize = 64 << 10;
/// File descriptors of one message.
pub const DESCRIPTORS_MAX: usize = 16;

/// Numbers of commands.
pub mod command {
    /// Version and capabilities.
    pub const VERSION: u16 = 1;
    /// Memory that the device may reach.
    pub const DMA_MAP: u16 = 2;
    /// Memory that it may not reach any more.
    pub const DMA_UNMAP: u16 = 3;
    /// What the device has.
    pub const DEVICE_INFO: u16 = 4;
    /// What a region is.
    pub const REGION_INFO: u16 = 5;
    /// Descriptors that stand for writes of a region.
    pub const REGION_IO_FDS: u16 = 6;
    /// What a kind of interrupts is.
    pub const IRQ_INFO: u16 = 7;
    /// How interrupts are told.
    pub const SET_IRQS: u16 = 8;
    /// A read of a region.
    pub const REGION_READ: u16 = 9;
    /// A write of a region.
    pub const REGION_WRITE: u16 = 10;
    /// A reset of the device.
    pub const RESET: u16 = 13;
}

/// Bits of a header's flags.
mod header_flags {
    pub const TYPE: u32 = 0xF;
    pub const NO_REPLY: u32 = 1 << 4;
}

/// What every message begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Echoed in the reply.
    pub id: u16,
    /// The command.
    pub command: u16,
    /// Bytes of the message, these included.
    pub size: u32,
    /// Flags.
    pub flags: u32,
    /// Of a reply that tells an error: errno.
    pub error: u32,
}

impl Header {
    /// The header in the first bytes of a message.
    ///
    /// # Errors
    /// [`MessageError::Size`] for a length that no message has: where the next one begins is not known then.
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Result<Self, MessageError> {
        let mut fields = Fields(bytes);
        let header = fields.header().ok_or(MessageError::Short)?;
        if !(HEADER_BYTES..=MESSAGE_BYTES_MAX).contains(&(header.size as usize)) {
            return Err(MessageError::Size(header.size));
        }
        Ok(header)
    }

    /// Bytes behind the header.
    #[must_use]
    pub const fn body_bytes(&self) -> usize {
        (self.size as usize).saturating_sub(HEADER_BYTES)
    }

    /// Whether nobody waits for a reply.
    #[must_use]
    pub const fn wants_no_reply(&self) -> bool {
        self.flags & header_flags::NO_REPLY != 0
    }

    /// Whether it is a reply.
    #[must_use]
    pub const fn is_reply(&self) -> bool {
        self.flags & header_flags::TYPE == 1
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> [u8; HEADER_BYTES] {
        let words = [u32::from(self.id) | u32::from(self.command) << 16, self.size, self.flags, self.error];
        let mut bytes = [0; HEADER_BYTES];
        for (part, word) in bytes.chunks_exact_mut(4).zip(words) {
            part.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

/// Why a message cannot be obeyed. One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MessageError {
    /// The length cannot be.
    #[error("a message of {0} bytes; at most {MESSAGE_BYTES_MAX}, and 16 at least")]
    Size(u32),
    /// Something is missing.
    #[error("a message that ends before its fields do")]
    Short,
    /// It is a reply, or neither request nor reply.
    #[error("a message of type {0} where a request was due")]
    Type(u32),
    /// No such command, or none that is served.
    #[error("command {0} is not served")]
    Command(u16),
    /// A field says what cannot be.
    #[error("command {command}: {field} has the impossible value {value:#x}")]
    Field {
        /// The command.
        command: u16,
        /// The field.
        field: &'static str,
        /// What it says.
        value: u64,
    },
    /// Descriptors that the command does not have, or too few of them.
    #[error("command {command} came with {came} file descriptors")]
    Descriptors {
        /// The command.
        command: u16,
        /// How many came.
        came: usize,
    },
}

/// What interrupts of a kind are to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IrqAction {
    /// From now on they are told by the descriptors that came, one for each.
    Descriptors,
    /// They are not told any more.
    Forget,
    /// They are told once, now.
    Trigger,
    /// The kind of masking that a client does by itself.
    Mask,
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'m> {
    /// Version and capabilities.
    Version {
        /// Major.
        major: u16,
        /// Minor.
        minor: u16,
    },
    /// Memory that the device may reach.
    DmaMap {
        /// Whether the device may write it.
        writable: bool,
        /// Offset in the file.
        offset: u64,
        /// Address.
        iova: u64,
        /// Bytes.
        bytes: u64,
    },
    /// Memory that it may not reach any more; `None`: all of it.
    DmaUnmap {
        /// Flags, for the reply.
        flags: u32,
        /// Address.
        iova: u64,
        /// Bytes.
        bytes: u64,
        /// Whether everything is unmapped.
        all: bool,
    },
    /// What the device has.
    DeviceInfo,
    /// What a region is.
    RegionInfo {
        /// The region.
        index: u32,
        /// Bytes of the answer that the client has room for, without the header.
        room: u32,
    },
    /// What a kind of interrupts is.
    IrqInfo {
        /// The kind.
        index: u32,
    },
    /// How interrupts are told.
    SetIrqs {
        /// The kind.
        index: u32,
        /// The first one.
        start: u32,
        /// How many.
        count: u32,
        /// What they do.
        action: IrqAction,
    },
    /// A read of a region.
    RegionRead {
        /// The region.
        region: u32,
        /// Offset.
        offset: u64,
        /// Bytes.
        count: u32,
    },
    /// A write of a region.
    RegionWrite {
        /// The region.
        region: u32,
        /// Offset.
        offset: u64,
        /// What is written.
        data: &'m [u8],
    },
    /// A reset of the device.
    Reset,
}

impl<'m> Request<'m> {
    /// The request that a header and what follows it make, with so many file descriptors.
    ///
    /// # Errors
    /// [`MessageError`]: the client is told, and the next message is as good as any.
    pub fn parse(header: &Header, body: &'m [u8], descriptors: usize) -> Result<Self, MessageError> {
        let kind = header.flags & header_flags::TYPE;
        if kind != 0 {
            return Err(MessageError::Type(kind));
        }
        let mut fields = Fields(body);
        let request = fields.request(header.command, descriptors)?;
        let takes = match request {
            Self::DmaMap { .. } => 1,
            Self::SetIrqs { action: IrqAction::Descriptors, .. } => DESCRIPTORS_MAX,
            _ => 0,
        };
        if descriptors > takes {
            return Err(MessageError::Descriptors { command: header.command, came: descriptors });
        }
        Ok(request)
    }
}

/// What is left of a message.
struct Fields<'m>(&'m [u8]);

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

    fn header(&mut self) -> Option<Header> {
        Some(Header {
            id: self.u16()?,
            command: self.u16()?,
            size: self.u32()?,
            flags: self.u32()?,
            error: self.u32()?,
        })
    }

    fn request(&mut self, command: u16, descriptors: usize) -> Result<Request<'m>, MessageError> {
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
