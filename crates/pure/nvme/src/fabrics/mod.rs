// SPDX-License-Identifier: Apache-2.0 OR MIT
//! NVMe over Fabrics: Connect, authentication, properties, Disconnect, and the discovery log (Base 2.0, chapter 6 and section
//! 5.16.1.23).
//!
//! Every entry has opcode 7Fh and PSDT 01b; the first byte of the NSID field is FCTYPE.

mod auth;
mod connect;
pub mod dhchap;
mod discovery;

pub use auth::{AuthCommand, AuthDirection, PROTOCOL as AUTH_PROTOCOL, auth_required};
pub use connect::{Connect, ConnectData, InvalidParameter};
pub use discovery::{DiscoveryEntry, DiscoveryHeader, RECORD_BYTES, adrfam, subtype, trtype};

use zerocopy::little_endian::U32;

use crate::sqe::{PointerRule, Psdt, Sqe};
use crate::status::Status;

/// The opcode of every Fabrics command.
pub const OPCODE: u8 = 0x7F;

/// Longest NVMe Qualified Name in bytes, without its NUL (Base 2.0, section 4.5).
pub const NQN_BYTES_MAX: usize = 223;

/// The name of every discovery subsystem.
pub const DISCOVERY_NQN: &str = "nqn.2014-08.org.nvmexpress.discovery";

/// Fabrics Command Types, byte 4 of the entry.
pub mod fctype {
    /// Property Set.
    pub const PROPERTY_SET: u8 = 0x00;
    /// Connect: 1024 bytes from the host.
    pub const CONNECT: u8 = 0x01;
    /// Property Get.
    pub const PROPERTY_GET: u8 = 0x04;
    /// Authentication Send.
    pub const AUTH_SEND: u8 = 0x05;
    /// Authentication Receive.
    pub const AUTH_RECEIVE: u8 = 0x06;
    /// Disconnect.
    pub const DISCONNECT: u8 = 0x08;
}

/// Offsets of the properties a controller over Fabrics has: the registers of the same names.
pub mod property {
    /// Controller Capabilities, 8 bytes.
    pub const CAP: u32 = 0x00;
    /// Version, 4 bytes.
    pub const VS: u32 = 0x08;
    /// Controller Configuration, 4 bytes.
    pub const CC: u32 = 0x14;
    /// Controller Status, 4 bytes.
    pub const CSTS: u32 = 0x1C;
}

/// A decoded Fabrics command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FabricsCommand {
    /// Binds a queue to a controller.
    Connect(Connect),
    /// Reads a property.
    PropertyGet {
        /// Offset in bytes.
        offset: u32,
        /// Whether it has 8 bytes instead of 4.
        wide: bool,
    },
    /// Writes a property.
    PropertySet {
        /// Offset in bytes.
        offset: u32,
        /// Whether it has 8 bytes instead of 4.
        wide: bool,
        /// The value.
        value: u64,
    },
    /// Carries a message of authentication.
    Authenticate(AuthCommand),
    /// Ends an I/O queue.
    Disconnect,
}

impl Sqe {
    /// FCTYPE of an entry with [`OPCODE`].
    #[inline]
    #[must_use]
    pub const fn fctype(&self) -> u8 {
        self.nsid.get() as u8
    }
}

impl FabricsCommand {
    /// Decodes an entry with [`OPCODE`].
    ///
    /// # Errors
    /// 01h for an unknown type; 02h for fused commands, PRPs, a property size that does not exist, and an unknown
    /// protocol of authentication.
    pub fn decode(sqe: &Sqe) -> Result<Self, Status> {
        let command = match sqe.fctype() {
            fctype::CONNECT => Self::Connect(Connect::decode(sqe)),
            fctype::PROPERTY_GET => {
                Self::PropertyGet { offset: sqe.cdw11.get(), wide: property_is_wide(sqe)? }
            }
            fctype::PROPERTY_SET => {
                let value = u64::from(sqe.cdw12.get()) | u64::from(sqe.cdw13.get()) << 32;
                Self::PropertySet { offset: sqe.cdw11.get(), wide: property_is_wide(sqe)?, value }
            }
            fctype::AUTH_SEND => Self::Authenticate(AuthCommand::decode(sqe, AuthDirection::Send)?),
            fctype::AUTH_RECEIVE => Self::Authenticate(AuthCommand::decode(sqe, AuthDirection::Receive)?),
            fctype::DISCONNECT => Self::Disconnect,
            _ => return Err(Status::INVALID_OPCODE),
        };
        sqe.check_flags(PointerRule::Sgl)?;
        Ok(command)
    }
}

/// ATTRIB bits 2:0: 0 for 4 bytes, 1 for 8.
fn property_is_wide(sqe: &Sqe) -> Result<bool, Status> {
    match sqe.cdw10.get() & 7 {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Status::INVALID_FIELD),
    }
}

fn entry(fctype: u8) -> Sqe {
    let mut sqe = Sqe::new(OPCODE, u32::from(fctype));
    sqe.flags = 0x40;
    debug_assert!(sqe.psdt() == Psdt::Sgl);
    sqe
}

/// Property Get.
#[must_use]
pub fn property_get(offset: u32, wide: bool) -> Sqe {
    let mut sqe = entry(fctype::PROPERTY_GET);
    (sqe.cdw10, sqe.cdw11) = (U32::new(u32::from(wide)), U32::new(offset));
    sqe
}

/// Property Set.
#[must_use]
pub fn property_set(offset: u32, wide: bool, value: u64) -> Sqe {
    let mut sqe = entry(fctype::PROPERTY_SET);
    (sqe.cdw10, sqe.cdw11) = (U32::new(u32::from(wide)), U32::new(offset));
    (sqe.cdw12, sqe.cdw13) = (U32::new(value as u32), U32::new((value >> 32) as u32));
    sqe
}

/// Disconnect of the queue it is sent on.
#[must_use]
pub fn disconnect() -> Sqe {
    entry(fctype::DISCONNECT)
}

/// A field of 256 bytes that holds a qualified name and its NULs.
pub type NqnField = [u8; 256];

/// The name in a field: 1 to 223 bytes before a NUL, UTF-8; `None` for anything else.
#[must_use]
pub fn nqn_of(field: &NqnField) -> Option<&str> {
    let bytes = field.iter().position(|byte| *byte == 0)?;
    let name = field.get(..bytes).filter(|name| (1..=NQN_BYTES_MAX).contains(&name.len()))?;
    core::str::from_utf8(name).ok()
}

/// The field of a name; `None` if it has not 1 to 223 bytes.
#[must_use]
pub fn nqn_field(name: &str) -> Option<NqnField> {
    let mut field = [0; 256];
    if !(1..=NQN_BYTES_MAX).contains(&name.len()) {
        return None;
    }
    field.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
    Some(field)
}
