// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bits of a group command that make it a transaction.

use crate::sqe::Sqe;
use crate::status::Status;

/// How a group is carried out: CDW11 bits 9:8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupMode {
    /// Bit 8: all or nothing.
    pub is_transaction: bool,
    /// Bit 9: each result has a version; only with bit 8.
    pub has_versions: bool,
}

const BIT_TRANSACTION: u32 = 1 << 8;
const BIT_VERSIONS: u32 = 1 << 9;

impl GroupMode {
    /// A group like any other.
    pub const PLAIN: Self = Self { is_transaction: false, has_versions: false };

    /// The bits of CDW11.
    #[must_use]
    pub const fn bits(self) -> u32 {
        (if self.is_transaction { BIT_TRANSACTION } else { 0 })
            | (if self.has_versions { BIT_VERSIONS } else { 0 })
    }

    /// Takes the bits of an entry out.
    ///
    /// # Errors
    /// 02h for versions without a transaction.
    #[inline]
    pub(super) fn take(sqe: &mut Sqe) -> Result<Self, Status> {
        let bits = sqe.cdw11.get();
        let mode =
            Self { is_transaction: bits & BIT_TRANSACTION != 0, has_versions: bits & BIT_VERSIONS != 0 };
        if mode.has_versions && !mode.is_transaction {
            return Err(Status::INVALID_FIELD);
        }
        sqe.cdw11.set(bits & !(BIT_TRANSACTION | BIT_VERSIONS));
        Ok(mode)
    }
}
