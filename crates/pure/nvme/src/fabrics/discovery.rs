// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The discovery log page, 70h (Base 2.0, section 5.16.1.23).

use zerocopy::little_endian::{U16, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::NqnField;

/// Bytes of the header and of each record.
pub const RECORD_BYTES: usize = 1024;

/// Transport types.
pub mod trtype {
    /// TCP.
    pub const TCP: u8 = 3;
}

/// Address families.
pub mod adrfam {
    /// IPv4.
    pub const IPV4: u8 = 1;
    /// IPv6.
    pub const IPV6: u8 = 2;
}

/// Kinds of subsystems.
pub mod subtype {
    /// An NVM subsystem.
    pub const NVM: u8 = 2;
}

/// The beginning of the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct DiscoveryHeader {
    /// GENCTR: changes with the page.
    pub genctr: U64,
    /// NUMREC: records that follow.
    pub numrec: U64,
    /// RECFMT: 0.
    pub recfmt: U16,
    /// Reserved.
    pub reserved_18: [u8; 1006],
}

layout!(DiscoveryHeader, 1024, genctr @ 0, numrec @ 8, recfmt @ 16, reserved_18 @ 18);

impl DiscoveryHeader {
    /// The header of a page with `records` records.
    #[must_use]
    pub fn new(generation: u64, records: u64) -> Self {
        let mut header = Self::new_zeroed();
        (header.genctr, header.numrec) = (U64::new(generation), U64::new(records));
        header
    }
}

/// A record: how to reach a subsystem.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct DiscoveryEntry {
    /// TRTYPE: see [`trtype`].
    pub trtype: u8,
    /// ADRFAM: see [`adrfam`].
    pub adrfam: u8,
    /// SUBTYPE: see [`subtype`].
    pub subtype: u8,
    /// TREQ: bits 1:0 secure channel, 0 unspecified; bit 2 the host may disable SQ flow control.
    pub treq: u8,
    /// PORTID.
    pub portid: U16,
    /// CNTLID: FFFFh for the dynamic controller model.
    pub cntlid: U16,
    /// ASQSZ: entries of the largest admin queue, at least 32.
    pub asqsz: U16,
    /// EFLAGS.
    pub eflags: U16,
    /// Reserved.
    pub reserved_12: [u8; 20],
    /// TRSVCID: the port in ASCII.
    pub trsvcid: [u8; 32],
    /// Reserved.
    pub reserved_64: [u8; 192],
    /// SUBNQN, NUL terminated.
    pub subnqn: NqnField,
    /// TRADDR: the address in ASCII.
    pub traddr: [u8; 256],
    /// TSAS: transport specific; of TCP, byte 0 is SECTYPE.
    pub tsas: [u8; 256],
}

layout!(
    DiscoveryEntry, 1024, trtype @ 0, adrfam @ 1, subtype @ 2, treq @ 3, portid @ 4, cntlid @ 6, asqsz @ 8,
    eflags @ 10, trsvcid @ 32, subnqn @ 256, traddr @ 512, tsas @ 768,
);

/// Entries of the smallest admin queue a record may name.
const ASQSZ_MIN: u16 = 32;

impl DiscoveryEntry {
    /// An NVM subsystem over TCP; `port` and `address` are cut to their fields.
    #[must_use]
    pub fn tcp(subnqn: NqnField, is_ipv6: bool, address: &str, port: u16) -> Self {
        let mut entry = Self::new_zeroed();
        entry.trtype = trtype::TCP;
        entry.adrfam = if is_ipv6 { adrfam::IPV6 } else { adrfam::IPV4 };
        entry.subtype = subtype::NVM;
        entry.cntlid = U16::new(0xFFFF);
        entry.asqsz = U16::new(ASQSZ_MIN);
        entry.subnqn = subnqn;
        entry.traddr.iter_mut().zip(address.bytes()).for_each(|(at, byte)| *at = byte);
        let mut digits = [0; 5];
        decimal(port, &mut digits).iter().zip(&mut entry.trsvcid).for_each(|(byte, at)| *at = *byte);
        entry
    }
}

/// `number` in decimal, in the end of `digits`.
fn decimal(mut number: u16, digits: &mut [u8; 5]) -> &[u8] {
    let mut used = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        used += 1;
        if number == 0 {
            break;
        }
    }
    digits.get(5 - used..).unwrap_or_default()
}
