// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The controller memory buffer: registers that say where it is (NVMe Base 2.0, sections 3.1.3.11 to 3.1.3.14 and 8.5).

use std::sync::Arc;

use saker_link::ForeignMemory;

use crate::bar::{BAR4_BYTES, region};

/// Controller Memory Buffer Location.
const CMBLOC: u64 = 0x38;
/// Controller Memory Buffer Size.
const CMBSZ: u64 = 0x3C;
/// Controller Memory Buffer Memory Space Control, 8 bytes.
const CMBMSC: u64 = 0x50;
/// Controller Memory Buffer Status.
const CMBSTS: u64 = 0x58;

/// CMBLOC: in BAR 4 from its begin on; queues, lists and data may be in it in part, in any mixture (CQMMS, CQPDS, CDPMLS, CDPCILS,
/// CDMMMS, CQDA).
const LOCATION: u32 = region::BAR4 | 0x1F8;
/// CMBSZ: submission and completion queues, lists, data of reads and writes (SQS, CQS, LISTS, RDS, WDS); units of 1 MiB (SZU 2).
const SIZE: u32 = 0x1F | 2 << 8 | ((BAR4_BYTES >> 20) as u32) << 12;
/// CMBMSC.CRE: CMBLOC and CMBSZ tell.
const CRE: u64 = 1;
/// CMBMSC.CMSE: the device reaches it at CMBMSC.CBA.
const CMSE: u64 = 2;
/// CMBMSC.CBA.
const CBA: u64 = !0xFFF;
/// CMBSTS.CBAI: CBA cannot be.
const CBAI: u32 = 1;

/// The buffer and its registers.
#[derive(Debug)]
pub struct MemoryBuffer {
    memory: Arc<ForeignMemory>,
    control: u64,
}

impl MemoryBuffer {
    /// A buffer of that memory.
    ///
    /// # Panics
    /// Unless it has as many bytes as BAR 4.
    #[must_use]
    pub fn new(memory: Arc<ForeignMemory>) -> Self {
        assert!(memory.bytes() as u64 == BAR4_BYTES, "the buffer is all of BAR 4");
        Self { memory, control: 0 }
    }

    /// Its memory.
    #[must_use]
    pub const fn memory(&self) -> &Arc<ForeignMemory> {
        &self.memory
    }

    /// Where the device is to reach it, if anywhere.
    #[must_use]
    pub fn window(&self) -> Option<u64> {
        let is_reached = self.control & (CRE | CMSE) == CRE | CMSE && !self.is_nowhere();
        is_reached.then_some(self.control & CBA)
    }

    /// The end would be beyond that of the address space.
    const fn is_nowhere(&self) -> bool {
        self.control & CMSE != 0 && (self.control & CBA).checked_add(BAR4_BYTES - 1).is_none()
    }

    /// A register of the buffer; nothing for other offsets.
    pub(crate) fn register(&self, at: u64) -> Option<u32> {
        let is_told = self.control & CRE != 0;
        Some(match at {
            CMBLOC => u32::from(is_told) * LOCATION,
            CMBSZ => u32::from(is_told) * SIZE,
            CMBMSC => self.control as u32,
            _ if at == CMBMSC + 4 => (self.control >> 32) as u32,
            CMBSTS => u32::from(self.is_nowhere()) * CBAI,
            _ => return None,
        })
    }

    /// Writes a register; false for those that are not the driver's to write.
    pub(crate) fn write(&mut self, at: u64, value: u32) -> bool {
        let (low, high) = (self.control as u32, (self.control >> 32) as u32);
        let (low, high) = match at {
            CMBMSC => (value, high),
            _ if at == CMBMSC + 4 => (low, value),
            _ => return false,
        };
        self.control = (u64::from(high) << 32 | u64::from(low)) & (CBA | CRE | CMSE);
        true
    }

    /// As after a function-level reset; one by CC.EN leaves CMBMSC alone. What is in the buffer stays.
    pub(crate) const fn reset(&mut self) {
        self.control = 0;
    }
}
