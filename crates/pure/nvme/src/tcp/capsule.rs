// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Capsules (NVMe/TCP 1.0, sections 3.6.2.6 and 3.6.2.7).

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{CommonHeader, pdu_type};
use crate::{Cqe, Sqe};

/// Header of a command capsule, 72 bytes; data may follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct CapsuleCmd {
    /// Common header.
    pub ch: CommonHeader,
    /// The submission queue entry.
    pub sqe: Sqe,
}

layout!(CapsuleCmd, 72, ch @ 0, sqe @ 8);

impl CapsuleCmd {
    /// A capsule without data and digests.
    #[must_use]
    pub const fn new(sqe: Sqe) -> Self {
        Self { ch: CommonHeader::new(pdu_type::CAPSULE_CMD, 72), sqe }
    }
}

/// A response capsule, 24 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct CapsuleResp {
    /// Common header.
    pub ch: CommonHeader,
    /// The completion queue entry.
    pub cqe: Cqe,
}

layout!(CapsuleResp, 24, ch @ 0, cqe @ 8);

impl CapsuleResp {
    /// A capsule without a digest.
    #[must_use]
    pub const fn new(cqe: Cqe) -> Self {
        Self { ch: CommonHeader::new(pdu_type::CAPSULE_RESP, 24), cqe }
    }
}
