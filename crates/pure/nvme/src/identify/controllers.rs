// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Controller List: CNS 12h and 13h (Base, section 4.4.1).

use zerocopy::little_endian::U16;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Controllers that one list holds.
pub const CONTROLLER_LIST_MAX: usize = 2047;

/// Up to 2047 CNTLIDs in ascending order, 4096 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ControllerList {
    /// How many there are.
    pub count: U16,
    /// The CNTLIDs; zeros behind the last.
    pub cntlids: [U16; CONTROLLER_LIST_MAX],
}

layout!(ControllerList, 4096, count @ 0, cntlids @ 2);

impl ControllerList {
    /// The CNTLIDs from `first` on, the CNTID of the command, out of `all`, which ascends.
    #[must_use]
    pub fn from(first: u16, all: impl IntoIterator<Item = u16>) -> Self {
        let mut list = Self::new_zeroed();
        let chosen = all.into_iter().filter(|cntlid| *cntlid >= first);
        for (slot, cntlid) in list.cntlids.iter_mut().zip(chosen) {
            *slot = U16::new(cntlid);
            list.count += 1;
        }
        list
    }

    /// The CNTLIDs. Takes any bytes: a count beyond the list counts as the whole list.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        self.cntlids.iter().take(usize::from(self.count.get())).map(|cntlid| cntlid.get())
    }
}
