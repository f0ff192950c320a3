// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The NVMe wire: layouts, encoding and decoding, and nothing else.
//!
//! Names are those of the NVM Express specifications: the Base Specification 2.0 ("Base"), the Key Value Command
//! Set Specification 1.0d ("KV"), the NVM Command Set Specification 1.0 ("NVM"). Every multi-byte field is
//! little-endian. This crate imports nothing of ours, allocates nothing, and never panics on bytes from outside:
//! they become a [`Status`] or an error type.
//!
//! | module | holds |
//! |---|---|
//! | [`sqe`], [`cqe`], [`status`] | queue entries and the status word |
//! | [`key`], [`kv`], [`kv_list`] | the Key Value command set |
//! | [`group`] | many key-value operations in one payload |
//! | [`nvm`] | the few logical block commands of the block namespaces |
//! | [`admin`], [`identify`], [`log`] | admin commands and the pages they return |
//! | [`regs`] | controller registers and doorbells |
//! | [`prp`], [`sgl`], [`transfer`] | data pointers, and how much data there is |
//! | [`vendor_specific`] | our own commands: small values without pages |
//! | [`fabrics`], [`tcp`] | Fabrics commands, the discovery log, the PDUs of NVMe/TCP |
#![forbid(unsafe_code)]
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "everything here may be fed bytes from outside"
)]

#[macro_use]
mod bits;

pub mod admin;
pub mod cqe;
pub mod fabrics;
pub mod group;
pub mod identify;
pub mod key;
pub mod kv;
pub mod kv_list;
pub mod log;
pub mod nvm;
pub mod prp;
pub mod regs;
pub mod sgl;
pub mod sqe;
pub mod status;
pub mod tcp;
pub mod transfer;
pub mod vendor_specific;
mod words;

pub use cqe::Cqe;
pub use key::{Key, KeyLengthError};
pub use kv::KvCommand;
pub use sqe::{PointerRule, Sqe};
pub use status::Status;
pub use words::padded_words;

/// Command Set Identifiers (Base, section 3.1.1 and Figure 290 of revision 2.0: "CSI").
pub mod csi {
    /// NVM Command Set: logical blocks.
    pub const NVM: u8 = 0x00;
    /// Key Value Command Set.
    pub const KV: u8 = 0x01;
}

/// The NSID that names every namespace at once (Base, "broadcast value").
pub const NSID_ALL: u32 = 0xFFFF_FFFF;

/// Bytes of every Identify data structure.
pub const IDENTIFY_BYTES: usize = 4096;
