// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arrays of numbers: active namespaces (CNS 02h and 07h) and command set combinations (CNS 1Ch).

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::status::Status;

/// Namespaces that one list holds.
pub const NSID_LIST_MAX: usize = 1024;

/// The first NSID that a list may not begin after.
const FIRST_INVALID_START: u32 = 0xFFFF_FFFE;

/// Active Namespace ID list: 1024 NSIDs in ascending order, ended by 0 if fewer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ActiveNamespaces {
    /// The NSIDs.
    pub nsids: [U32; NSID_LIST_MAX],
}

layout!(ActiveNamespaces, 4096, nsids @ 0);

impl ActiveNamespaces {
    /// The NSIDs above `after`, the NSID of the command, out of `active`, which ascends.
    ///
    /// # Errors
    /// 0Bh where `after` is FFFFFFFEh or FFFFFFFFh.
    pub fn after(after: u32, active: impl IntoIterator<Item = u32>) -> Result<Self, Status> {
        if after >= FIRST_INVALID_START {
            return Err(Status::INVALID_NAMESPACE_OR_FORMAT);
        }
        let mut list = Self::new_zeroed();
        let above = active.into_iter().filter(|nsid| *nsid > after);
        for (slot, nsid) in list.nsids.iter_mut().zip(above) {
            *slot = U32::new(nsid);
        }
        Ok(list)
    }

    /// The NSIDs up to the first 0.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.nsids.iter().map(|nsid| nsid.get()).take_while(|nsid| *nsid != 0)
    }
}

/// I/O Command Set data structure: 512 vectors, the index of each being what feature 19h chooses by; ended by 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct CommandSetCombinations {
    /// Bit n of a vector: the command set with CSI n.
    pub vectors: [U64; 512],
}

layout!(CommandSetCombinations, 4096, vectors @ 0);

impl CommandSetCombinations {
    /// These combinations, each a vector of bits. Linux never chooses one, so the first must hold every set in use.
    #[must_use]
    pub fn new(combinations: &[u64]) -> Self {
        let mut data = Self::new_zeroed();
        for (slot, vector) in data.vectors.iter_mut().zip(combinations) {
            *slot = U64::new(*vector);
        }
        data
    }

    /// The combinations up to the first 0.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.vectors.iter().map(|vector| vector.get()).take_while(|vector| *vector != 0)
    }
}
