// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From submission queue entries to [`AdminCommand`].

use super::{AdminCommand, CreateCq, CreateSq, FeatureSelect, FormatNvm, GetFeatures, GetLogPage, Identify};
use super::{SetFeatures, opcode};
use crate::bits::{field, flag};
use crate::sqe::{PointerRule, Sqe};
use crate::status::Status;

impl AdminCommand {
    /// Decodes an entry of an admin queue with PRP data pointers. Reserved bits are ignored.
    ///
    /// # Errors
    /// The status to complete the command with: 01h for an unknown opcode; 02h for fused commands, data pointers not
    /// admitted, a reserved SEL of Get Features, and a log page offset in bytes that is no multiple of 4.
    pub fn decode(sqe: &Sqe) -> Result<Self, Status> {
        Self::decode_with(sqe, PointerRule::Prp)
    }

    /// [`AdminCommand::decode`] for a transport that admits other data pointers.
    pub fn decode_with(sqe: &Sqe, rule: PointerRule) -> Result<Self, Status> {
        let command = match sqe.opcode {
            opcode::DELETE_SQ => Ok(Self::DeleteSq { qid: low_half(sqe.cdw10.get()) }),
            opcode::CREATE_SQ => Ok(Self::CreateSq(create_sq(sqe))),
            opcode::GET_LOG_PAGE => get_log_page(sqe).map(Self::GetLogPage),
            opcode::DELETE_CQ => Ok(Self::DeleteCq { qid: low_half(sqe.cdw10.get()) }),
            opcode::CREATE_CQ => Ok(Self::CreateCq(create_cq(sqe))),
            opcode::IDENTIFY => Ok(Self::Identify(identify(sqe))),
            opcode::ABORT => {
                Ok(Self::Abort { sqid: low_half(sqe.cdw10.get()), cid: high_half(sqe.cdw10.get()) })
            }
            opcode::SET_FEATURES => Ok(Self::SetFeatures(set_features(sqe))),
            opcode::GET_FEATURES => get_features(sqe).map(Self::GetFeatures),
            opcode::ASYNC_EVENT_REQUEST => Ok(Self::AsyncEventRequest),
            opcode::KEEP_ALIVE => Ok(Self::KeepAlive),
            opcode::FORMAT_NVM => Ok(Self::FormatNvm(format_nvm(sqe))),
            _ => return Err(Status::INVALID_OPCODE),
        };
        sqe.check_flags(rule).and(command)
    }
}

const fn low_half(dword: u32) -> u16 {
    dword as u16
}

const fn high_half(dword: u32) -> u16 {
    (dword >> 16) as u16
}

const fn byte(dword: u32, low: u32) -> u8 {
    (dword >> low) as u8
}

fn create_sq(sqe: &Sqe) -> CreateSq {
    let (cdw10, cdw11) = (sqe.cdw10.get(), sqe.cdw11.get());
    CreateSq {
        qid: low_half(cdw10),
        entries: u32::from(high_half(cdw10)) + 1,
        contiguous: flag(cdw11, 0),
        priority: field(cdw11, 1, 2) as u8,
        cqid: high_half(cdw11),
        base: sqe.prp1.get(),
    }
}

fn create_cq(sqe: &Sqe) -> CreateCq {
    let (cdw10, cdw11) = (sqe.cdw10.get(), sqe.cdw11.get());
    CreateCq {
        qid: low_half(cdw10),
        entries: u32::from(high_half(cdw10)) + 1,
        contiguous: flag(cdw11, 0),
        interrupts_enabled: flag(cdw11, 1),
        interrupt_vector: high_half(cdw11),
        base: sqe.prp1.get(),
    }
}

fn get_log_page(sqe: &Sqe) -> Result<GetLogPage, Status> {
    let (cdw10, cdw11, cdw14) = (sqe.cdw10.get(), sqe.cdw11.get(), sqe.cdw14.get());
    let numd = u64::from(high_half(cdw10)) | u64::from(low_half(cdw11)) << 16;
    let command = GetLogPage {
        nsid: sqe.nsid.get(),
        lid: byte(cdw10, 0),
        lsp: field(cdw10, 8, 7) as u8,
        retain_event: flag(cdw10, 15),
        bytes: (numd + 1) * 4,
        lsi: high_half(cdw11),
        offset: u64::from(sqe.cdw12.get()) | u64::from(sqe.cdw13.get()) << 32,
        offset_is_index: flag(cdw14, 23),
        uuid_index: field(cdw14, 0, 7) as u8,
        csi: byte(cdw14, 24),
    };
    if !command.offset_is_index && !command.offset.is_multiple_of(4) {
        return Err(Status::INVALID_FIELD);
    }
    Ok(command)
}

fn identify(sqe: &Sqe) -> Identify {
    let (cdw10, cdw11) = (sqe.cdw10.get(), sqe.cdw11.get());
    Identify {
        nsid: sqe.nsid.get(),
        cns: byte(cdw10, 0),
        cntid: high_half(cdw10),
        specific_id: low_half(cdw11),
        csi: byte(cdw11, 24),
        uuid_index: field(sqe.cdw14.get(), 0, 7) as u8,
    }
}

fn set_features(sqe: &Sqe) -> SetFeatures {
    let cdw10 = sqe.cdw10.get();
    SetFeatures { nsid: sqe.nsid.get(), fid: byte(cdw10, 0), save: flag(cdw10, 31), cdw11: sqe.cdw11.get() }
}

fn get_features(sqe: &Sqe) -> Result<GetFeatures, Status> {
    let cdw10 = sqe.cdw10.get();
    let select = FeatureSelect::decode(field(cdw10, 8, 3)).ok_or(Status::INVALID_FIELD)?;
    Ok(GetFeatures { nsid: sqe.nsid.get(), fid: byte(cdw10, 0), select, cdw11: sqe.cdw11.get() })
}

fn format_nvm(sqe: &Sqe) -> FormatNvm {
    let cdw10 = sqe.cdw10.get();
    FormatNvm {
        nsid: sqe.nsid.get(),
        format_index: (field(cdw10, 0, 4) | field(cdw10, 12, 2) << 4) as u8,
        secure_erase: field(cdw10, 9, 3) as u8,
    }
}
