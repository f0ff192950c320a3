// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Connect (Base 2.0, section 6.3).

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{NqnField, entry, fctype};
use crate::bits::field;
use crate::sqe::Sqe;

/// The fields of a Connect entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Connect {
    /// RECFMT: 0.
    pub record_format: u16,
    /// QID: 0 for the admin queue.
    pub qid: u16,
    /// SQSIZE: entries of the queue, 0's based.
    pub sqsize: u16,
    /// CATTR bit 2: completions do not report SQHD.
    pub no_flow_control: bool,
    /// KATO: keep alive time-out in milliseconds, 0 for none; of the admin queue only.
    pub keep_alive_ms: u32,
}

/// CATTR bit 2.
const NO_FLOW_CONTROL: u32 = 1 << 2;

impl Connect {
    pub(super) fn decode(sqe: &Sqe) -> Self {
        let (cdw10, cdw11) = (sqe.cdw10.get(), sqe.cdw11.get());
        Self {
            record_format: cdw10 as u16,
            qid: (cdw10 >> 16) as u16,
            sqsize: cdw11 as u16,
            no_flow_control: field(cdw11, 16, 8) & NO_FLOW_CONTROL != 0,
            keep_alive_ms: sqe.cdw12.get(),
        }
    }

    /// The entry, without CID and data pointer.
    #[must_use]
    pub fn encode(&self) -> Sqe {
        let mut sqe = entry(fctype::CONNECT);
        let attributes = if self.no_flow_control { NO_FLOW_CONTROL } else { 0 };
        sqe.cdw10 = U32::new(u32::from(self.record_format) | u32::from(self.qid) << 16);
        sqe.cdw11 = U32::new(u32::from(self.sqsize) | attributes << 16);
        sqe.cdw12 = U32::new(self.keep_alive_ms);
        sqe
    }
}

/// The data of Connect, 1024 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ConnectData {
    /// HOSTID.
    pub hostid: [u8; 16],
    /// CNTLID: [`ConnectData::ANY_CONTROLLER`] asks for a new one.
    pub cntlid: U16,
    /// Reserved.
    pub reserved_18: [u8; 238],
    /// SUBNQN, NUL terminated.
    pub subnqn: NqnField,
    /// HOSTNQN, NUL terminated.
    pub hostnqn: NqnField,
    /// Reserved.
    pub reserved_768: [u8; 256],
}

layout!(
    ConnectData, 1024, hostid @ 0, cntlid @ 16, reserved_18 @ 18, subnqn @ 256, hostnqn @ 512, reserved_768 @ 768,
);

impl ConnectData {
    /// CNTLID of a host that takes any controller (dynamic controller model).
    pub const ANY_CONTROLLER: u16 = 0xFFFF;

    /// All zeros.
    #[must_use]
    pub fn empty() -> Self {
        Self::new_zeroed()
    }
}

/// What Connect Invalid Parameters (SCT 1, SC 82h) points at, in DW0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InvalidParameter {
    /// A byte of the entry.
    Entry(u16),
    /// A byte of the data.
    Data(u16),
}

impl InvalidParameter {
    /// RECFMT of the entry.
    pub const RECORD_FORMAT: Self = Self::Entry(40);
    /// QID of the entry.
    pub const QID: Self = Self::Entry(42);
    /// SQSIZE of the entry.
    pub const SQSIZE: Self = Self::Entry(44);
    /// HOSTID of the data.
    pub const HOSTID: Self = Self::Data(0);
    /// CNTLID of the data.
    pub const CNTLID: Self = Self::Data(16);
    /// SUBNQN of the data.
    pub const SUBNQN: Self = Self::Data(256);
    /// HOSTNQN of the data.
    pub const HOSTNQN: Self = Self::Data(512);

    /// IPO in bits 15:0, IATTR in bit 16.
    #[must_use]
    pub const fn dw0(self) -> u32 {
        match self {
            Self::Entry(offset) => offset as u32,
            Self::Data(offset) => offset as u32 | 1 << 16,
        }
    }
}
