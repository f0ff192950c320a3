// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The admin command set (Base, section 5): what a controller and a host of this project exchange.

pub mod build;
mod decode;
pub mod event;
pub mod feature;

pub use feature::FeatureSelect;

/// Opcodes of the admin command set (Base, Figure "Opcodes for Admin Commands").
pub mod opcode {
    /// Delete I/O Submission Queue.
    pub const DELETE_SQ: u8 = 0x00;
    /// Create I/O Submission Queue.
    pub const CREATE_SQ: u8 = 0x01;
    /// Get Log Page: data to the host.
    pub const GET_LOG_PAGE: u8 = 0x02;
    /// Delete I/O Completion Queue.
    pub const DELETE_CQ: u8 = 0x04;
    /// Create I/O Completion Queue.
    pub const CREATE_CQ: u8 = 0x05;
    /// Identify: data to the host.
    pub const IDENTIFY: u8 = 0x06;
    /// Abort.
    pub const ABORT: u8 = 0x08;
    /// Set Features.
    pub const SET_FEATURES: u8 = 0x09;
    /// Get Features.
    pub const GET_FEATURES: u8 = 0x0A;
    /// Asynchronous Event Request.
    pub const ASYNC_EVENT_REQUEST: u8 = 0x0C;
    /// Keep Alive.
    pub const KEEP_ALIVE: u8 = 0x18;
    /// Format NVM.
    pub const FORMAT_NVM: u8 = 0x80;
}

/// The commands that make and remove queues in memory: none over Fabrics, where Connect does (Base, section 3.1.2).
pub const QUEUE_OPCODES: [u8; 4] =
    [opcode::DELETE_SQ, opcode::CREATE_SQ, opcode::DELETE_CQ, opcode::CREATE_CQ];

/// A decoded admin command. Fields that no device of ours looks at are left in the entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdminCommand {
    /// Delete an I/O submission queue.
    DeleteSq {
        /// QID.
        qid: u16,
    },
    /// Create an I/O submission queue.
    CreateSq(CreateSq),
    /// Get Log Page.
    GetLogPage(GetLogPage),
    /// Delete an I/O completion queue.
    DeleteCq {
        /// QID.
        qid: u16,
    },
    /// Create an I/O completion queue.
    CreateCq(CreateCq),
    /// Identify.
    Identify(Identify),
    /// Abort a command; DW0 bit 0 of the completion is 1 if it was not aborted.
    Abort {
        /// The submission queue of the command.
        sqid: u16,
        /// The command's identifier.
        cid: u16,
    },
    /// Set Features.
    SetFeatures(SetFeatures),
    /// Get Features.
    GetFeatures(GetFeatures),
    /// Asynchronous Event Request: held until there is an [`event`].
    AsyncEventRequest,
    /// Keep Alive.
    KeepAlive,
    /// Format NVM.
    FormatNvm(FormatNvm),
}

/// Create I/O Submission Queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CreateSq {
    /// QID, CDW10 bits 15:0.
    pub qid: u16,
    /// Entries, 1 to 65,536 (QSIZE, CDW10 bits 31:16, is one less). Whether a queue of one entry is refused is the device's matter.
    pub entries: u32,
    /// PC, CDW11 bit 0: physically contiguous.
    pub contiguous: bool,
    /// QPRIO, CDW11 bits 2:1: 0 urgent to 3 low, under weighted round robin.
    pub priority: u8,
    /// CQID, CDW11 bits 31:16.
    pub cqid: u16,
    /// PRP1: base of the queue, or of its PRP list unless contiguous.
    pub base: u64,
}

/// Create I/O Completion Queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CreateCq {
    /// QID, CDW10 bits 15:0.
    pub qid: u16,
    /// Entries, 1 to 65,536 (QSIZE, CDW10 bits 31:16, is one less).
    pub entries: u32,
    /// PC, CDW11 bit 0: physically contiguous.
    pub contiguous: bool,
    /// IEN, CDW11 bit 1.
    pub interrupts_enabled: bool,
    /// IV, CDW11 bits 31:16.
    pub interrupt_vector: u16,
    /// PRP1: base of the queue, or of its PRP list unless contiguous.
    pub base: u64,
}

/// Get Log Page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GetLogPage {
    /// The namespace, where the page is kept per namespace.
    pub nsid: u32,
    /// LID, CDW10 bits 7:0: see [`crate::log::lid`].
    pub lid: u8,
    /// LSP, CDW10 bits 14:8.
    pub lsp: u8,
    /// RAE, CDW10 bit 15: keep the asynchronous event.
    pub retain_event: bool,
    /// Bytes to return, a multiple of 4 (NUMD, CDW10 bits 31:16 and CDW11 bits 15:0, is dwords less one).
    pub bytes: u64,
    /// LSI, CDW11 bits 31:16.
    pub lsi: u16,
    /// LPO, CDW12-13: bytes, a multiple of 4; with `offset_is_index`, an entry's index.
    pub offset: u64,
    /// OT, CDW14 bit 23.
    pub offset_is_index: bool,
    /// UUID index, CDW14 bits 6:0.
    pub uuid_index: u8,
    /// CSI, CDW14 bits 31:24.
    pub csi: u8,
}

/// Identify. The data is always 4096 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identify {
    /// NSID, for the values that use it.
    pub nsid: u32,
    /// CNS, CDW10 bits 7:0: see [`crate::identify::cns`].
    pub cns: u8,
    /// CNTID, CDW10 bits 31:16.
    pub cntid: u16,
    /// CNS specific identifier, CDW11 bits 15:0.
    pub specific_id: u16,
    /// CSI, CDW11 bits 31:24.
    pub csi: u8,
    /// UUID index, CDW14 bits 6:0.
    pub uuid_index: u8,
}

/// Set Features.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetFeatures {
    /// The namespace, where the feature is per namespace.
    pub nsid: u32,
    /// FID, CDW10 bits 7:0: see [`feature::fid`].
    pub fid: u8,
    /// SV, CDW10 bit 31: keep over power cycles and resets.
    pub save: bool,
    /// The attribute, CDW11: see [`feature`].
    pub cdw11: u32,
}

/// Get Features.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GetFeatures {
    /// The namespace, where the feature is per namespace.
    pub nsid: u32,
    /// FID, CDW10 bits 7:0: see [`feature::fid`].
    pub fid: u8,
    /// SEL, CDW10 bits 10:8.
    pub select: FeatureSelect,
    /// CDW11, which few features use.
    pub cdw11: u32,
}

/// Format NVM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormatNvm {
    /// The namespace, or [`NSID_ALL`](crate::NSID_ALL).
    pub nsid: u32,
    /// Format index: CDW10 bits 3:0 and, above them, bits 13:12. A KV format or an LBA format.
    pub format_index: u8,
    /// SES, CDW10 bits 11:9: 0 no secure erase, 1 user data erase, 2 cryptographic erase.
    pub secure_erase: u8,
}
