// SPDX-License-Identifier: Apache-2.0 OR MIT
//! I/O Command Set Independent Identify Namespace, CNS 08h (Base).

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// What a namespace of any command set says of itself, 4096 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct IndependentNamespace {
    /// NSFEAT: bit 3 UIDREUSE, 4 RMEDIA (rotational), 5 VWCNP (no volatile write cache).
    pub nsfeat: u8,
    /// NMIC: bit 0, the namespace may be shared.
    pub nmic: u8,
    /// RESCAP: reservation capabilities.
    pub rescap: u8,
    /// FPI: format progress.
    pub fpi: u8,
    /// ANAGRPID.
    pub anagrpid: U32,
    /// NSATTR: bit 0, write protected.
    pub nsattr: u8,
    /// Reserved.
    pub reserved_9: u8,
    /// NVMSETID.
    pub nvmsetid: U16,
    /// ENDGID.
    pub endgid: U16,
    /// NSTAT: bit 0 NRDY, the namespace is ready.
    pub nstat: u8,
    /// Reserved.
    pub reserved_15: [u8; 4081],
}

layout!(
    IndependentNamespace, 4096, nsfeat @ 0, nmic @ 1, rescap @ 2, fpi @ 3, anagrpid @ 4, nsattr @ 8, nvmsetid @ 10,
    endgid @ 12, nstat @ 14, reserved_15 @ 15,
);

impl IndependentNamespace {
    /// All zeros but NRDY.
    #[must_use]
    pub fn new(ready: bool) -> Self {
        let mut namespace = Self::new_zeroed();
        namespace.nstat = u8::from(ready);
        namespace
    }
}
