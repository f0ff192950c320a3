// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The requests of a vfio-user client, from bytes.
//!
//! Layouts and numbers: libvfio-user's `docs/vfio-user.rst` (nutanix/libvfio-user) and QEMU's `hw/vfio-user/protocol.h`
//! (qemu/qemu); where the two differ in the number of a command, those of QEMU and of libvfio-user's code, which agree. Numbers
//! are in the byte order of the machine that both sides share: little endian here.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod fields;
mod header;

use thiserror::Error;

use fields::Fields;
pub use header::Header;
use header::flags;

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
        let kind = header.flags & flags::TYPE;
        if kind != 0 {
            return Err(MessageError::Type(kind));
        }
        let mut fields = Fields(body);
        let request = fields.request(header.command, descriptors)?;
        let takes = match request {
            // SPDK's client sends the file along when it unmaps as well, for nothing (spdk/spdk, `lib/vfio_user/host/vfio_user.c`).
            Self::DmaMap { .. } | Self::DmaUnmap { .. } => 1,
            Self::SetIrqs { action: IrqAction::Descriptors, .. } => DESCRIPTORS_MAX,
            _ => 0,
        };
        if descriptors > takes {
            return Err(MessageError::Descriptors { command: header.command, came: descriptors });
        }
        Ok(request)
    }
}
