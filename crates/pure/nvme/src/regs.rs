// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Controller registers and doorbells (Base, section 3.1.3; PCIe Transport, section 3.1.2).

mod doorbell;
mod words;

pub use doorbell::Doorbell;
pub use words::{Aqa, Cap, Cc, Csts, Vs};

/// Byte offsets of the registers from BAR0, or in Property Get and Set.
pub mod offset {
    /// CAP, 8 bytes.
    pub const CAP: u64 = 0x00;
    /// VS, 4 bytes.
    pub const VS: u64 = 0x08;
    /// INTMS, 4 bytes.
    pub const INTMS: u64 = 0x0C;
    /// INTMC, 4 bytes.
    pub const INTMC: u64 = 0x10;
    /// CC, 4 bytes.
    pub const CC: u64 = 0x14;
    /// CSTS, 4 bytes.
    pub const CSTS: u64 = 0x1C;
    /// NSSR, 4 bytes.
    pub const NSSR: u64 = 0x20;
    /// AQA, 4 bytes.
    pub const AQA: u64 = 0x24;
    /// ASQ, 8 bytes.
    pub const ASQ: u64 = 0x28;
    /// ACQ, 8 bytes.
    pub const ACQ: u64 = 0x30;
    /// CMBLOC, 4 bytes.
    pub const CMBLOC: u64 = 0x38;
    /// CMBSZ, 4 bytes.
    pub const CMBSZ: u64 = 0x3C;
    /// CRTO, 4 bytes.
    pub const CRTO: u64 = 0x68;
    /// The first doorbell.
    pub const DOORBELLS: u64 = 0x1000;
}

/// What a host writes to NSSR to reset the subsystem: "NVMe".
pub const NSSR_RESET: u32 = 0x4E56_4D65;
