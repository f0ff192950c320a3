// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The status field of a completion (Base, Status Field; KV, Status Values).

mod codes;

use core::fmt;

use crate::bits::field;

/// Status code types (SCT).
pub mod sct {
    /// Generic command status.
    pub const GENERIC: u8 = 0;
    /// Command specific status.
    pub const COMMAND_SPECIFIC: u8 = 1;
    /// Media and data integrity errors.
    pub const MEDIA: u8 = 2;
    /// Path related status.
    pub const PATH: u8 = 3;
    /// Vendor specific.
    pub const VENDOR: u8 = 7;
}

/// The 15 bits of a status field: SC, SCT, CRD, M and DNR. All are kept when decoded.
///
/// The constants carry the DNR bit of the rule below, so equality between a constant and a decoded field holds only if
/// the other side chose the same bits; compare with [`Status::is`] to look at SCT and SC alone.
///
/// **The rule for DNR** ("do not retry"): it is set on every error that the same command would meet again, and clear
/// where time, room or another path can cure it: data transfer, internal and transport errors, aborts, commands
/// interrupted, sanitize or format in progress, a namespace or medium not ready, a busy controller, the abort limit and
/// a command identifier in use. Capacity Exceeded carries DNR: only the host can make room.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Status(u16);

const DNR: u16 = 1 << 14;
const MORE: u16 = 1 << 13;
const CRD_LOW: u32 = 11;
const CODE: u16 = 0x07FF;

impl Status {
    /// A status with CRD, M and DNR clear. Only the low three bits of `sct` count.
    #[inline]
    #[must_use]
    pub const fn new(sct: u8, sc: u8) -> Self {
        Self(((sct & 7) as u16) << 8 | sc as u16)
    }

    /// Reads bytes 14-15 of a completion, leaving the phase tag (bit 0) out.
    #[inline]
    #[must_use]
    pub const fn from_word(word: u16) -> Self {
        Self(word >> 1)
    }

    /// Bytes 14-15 of a completion with the phase tag in bit 0.
    #[inline]
    #[must_use]
    pub const fn to_word(self, phase: bool) -> u16 {
        self.0 << 1 | phase as u16
    }

    /// Reads the form without phase tag, as Linux hands it to user space; bit 15 is dropped.
    #[inline]
    #[must_use]
    pub const fn from_shifted(bits: u16) -> Self {
        Self(bits & 0x7FFF)
    }

    /// The field without the phase tag: SC 7:0, SCT 10:8, CRD 12:11, M 13, DNR 14.
    #[inline]
    #[must_use]
    pub const fn shifted(self) -> u16 {
        self.0
    }

    /// SC, the status code.
    #[inline]
    #[must_use]
    pub const fn sc(self) -> u8 {
        self.0 as u8
    }

    /// SCT, the status code type: see [`sct`].
    #[inline]
    #[must_use]
    pub const fn sct(self) -> u8 {
        field(self.0 as u32, 8, 3) as u8
    }

    /// CRD: 0 to retry at once, 1 to 3 to wait CRDT1 to CRDT3 of Identify Controller.
    #[inline]
    #[must_use]
    pub const fn retry_delay(self) -> u8 {
        field(self.0 as u32, CRD_LOW, 2) as u8
    }

    /// M: the Error Information log page tells more.
    #[inline]
    #[must_use]
    pub const fn more(self) -> bool {
        self.0 & MORE != 0
    }

    /// DNR: the same command would fail again.
    #[inline]
    #[must_use]
    pub const fn do_not_retry(self) -> bool {
        self.0 & DNR != 0
    }

    /// The status with DNR replaced.
    #[inline]
    #[must_use]
    pub const fn with_do_not_retry(self, dnr: bool) -> Self {
        Self(if dnr { self.0 | DNR } else { self.0 & !DNR })
    }

    /// The status with M replaced.
    #[inline]
    #[must_use]
    pub const fn with_more(self, more: bool) -> Self {
        Self(if more { self.0 | MORE } else { self.0 & !MORE })
    }

    /// The status with CRD replaced. Only the low two bits of `index` count.
    #[inline]
    #[must_use]
    pub const fn with_retry_delay(self, index: u8) -> Self {
        Self(self.0 & !(3 << CRD_LOW) | ((index & 3) as u16) << CRD_LOW)
    }

    /// Whether SCT and SC are those of `other`, whatever CRD, M and DNR say.
    #[inline]
    #[must_use]
    pub const fn is(self, other: Self) -> bool {
        (self.0 ^ other.0) & CODE == 0
    }

    /// Whether SCT and SC are zero.
    #[inline]
    #[must_use]
    pub const fn is_success(self) -> bool {
        self.0 & CODE == 0
    }

    /// The specification's name of the code, if it is one of the constants.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        codes::ALL.iter().find(|(status, _)| self.is(*status)).map(|(_, name)| *name)
    }

    /// Every named status with the specification's name.
    #[must_use]
    pub fn all() -> &'static [(Self, &'static str)] {
        codes::ALL
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name().unwrap_or("Unknown Status");
        write!(f, "{name} (SCT {:X}h, SC {:02X}h)", self.sct(), self.sc())
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        if self.retry_delay() != 0 {
            write!(f, " CRD{}", self.retry_delay())?;
        }
        f.write_str(if self.more() { " M" } else { "" })?;
        f.write_str(if self.do_not_retry() { " DNR" } else { "" })
    }
}

impl core::error::Error for Status {}
