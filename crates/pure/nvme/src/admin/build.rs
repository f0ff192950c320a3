// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Entries of admin commands, without CID and data pointer.
//!
//! Counts that do not fit their 0's based field are programming errors and are asserted.

use zerocopy::little_endian::{U32, U64};

use super::{CreateCq, CreateSq, FormatNvm, GetFeatures, GetLogPage, Identify, SetFeatures, opcode};
use crate::sqe::Sqe;

/// The 0's based form of a count of 1 to 65,536.
fn zeroes_based(entries: u32) -> u32 {
    assert!((1..=1 << 16).contains(&entries), "a queue has 1 to 65536 entries, not {entries}");
    entries - 1
}

fn halves(low: u16, high: u16) -> U32 {
    U32::new(u32::from(low) | u32::from(high) << 16)
}

/// Create I/O Submission Queue.
#[must_use]
pub fn create_sq(command: &CreateSq) -> Sqe {
    let mut sqe = Sqe::new(opcode::CREATE_SQ, 0);
    sqe.prp1 = U64::new(command.base);
    sqe.cdw10 = U32::new(u32::from(command.qid) | zeroes_based(command.entries) << 16);
    let flags = u32::from(command.contiguous) | u32::from(command.priority & 3) << 1;
    sqe.cdw11 = U32::new(flags | u32::from(command.cqid) << 16);
    sqe
}

/// Create I/O Completion Queue.
#[must_use]
pub fn create_cq(command: &CreateCq) -> Sqe {
    let mut sqe = Sqe::new(opcode::CREATE_CQ, 0);
    sqe.prp1 = U64::new(command.base);
    sqe.cdw10 = U32::new(u32::from(command.qid) | zeroes_based(command.entries) << 16);
    let flags = u32::from(command.contiguous) | u32::from(command.interrupts_enabled) << 1;
    sqe.cdw11 = U32::new(flags | u32::from(command.interrupt_vector) << 16);
    sqe
}

/// Delete I/O Submission Queue.
#[must_use]
pub fn delete_sq(qid: u16) -> Sqe {
    let mut sqe = Sqe::new(opcode::DELETE_SQ, 0);
    sqe.cdw10 = halves(qid, 0);
    sqe
}

/// Delete I/O Completion Queue.
#[must_use]
pub fn delete_cq(qid: u16) -> Sqe {
    let mut sqe = Sqe::new(opcode::DELETE_CQ, 0);
    sqe.cdw10 = halves(qid, 0);
    sqe
}

/// Get Log Page. Asserts that `bytes` is a multiple of 4 from 4 to 16 GiB.
#[must_use]
pub fn get_log_page(command: &GetLogPage) -> Sqe {
    assert!(command.bytes.is_multiple_of(4) && (4..=1 << 34).contains(&command.bytes));
    let numd = command.bytes / 4 - 1;
    let mut sqe = Sqe::new(opcode::GET_LOG_PAGE, command.nsid);
    let low =
        u16::from(command.lid) | u16::from(command.lsp & 0x7F) << 8 | u16::from(command.retain_event) << 15;
    sqe.cdw10 = halves(low, numd as u16);
    sqe.cdw11 = halves((numd >> 16) as u16, command.lsi);
    sqe.cdw12 = U32::new(command.offset as u32);
    sqe.cdw13 = U32::new((command.offset >> 32) as u32);
    let index = u32::from(command.offset_is_index) << 23;
    sqe.cdw14 = U32::new(u32::from(command.uuid_index & 0x7F) | index | u32::from(command.csi) << 24);
    sqe
}

/// Identify.
#[must_use]
pub fn identify(command: &Identify) -> Sqe {
    let mut sqe = Sqe::new(opcode::IDENTIFY, command.nsid);
    sqe.cdw10 = halves(u16::from(command.cns), command.cntid);
    sqe.cdw11 = U32::new(u32::from(command.specific_id) | u32::from(command.csi) << 24);
    sqe.cdw14 = U32::new(u32::from(command.uuid_index & 0x7F));
    sqe
}

/// Abort the command `cid` of submission queue `sqid`.
#[must_use]
pub fn abort(sqid: u16, cid: u16) -> Sqe {
    let mut sqe = Sqe::new(opcode::ABORT, 0);
    sqe.cdw10 = halves(sqid, cid);
    sqe
}

/// Set Features.
#[must_use]
pub fn set_features(command: &SetFeatures) -> Sqe {
    let mut sqe = Sqe::new(opcode::SET_FEATURES, command.nsid);
    sqe.cdw10 = U32::new(u32::from(command.fid) | u32::from(command.save) << 31);
    sqe.cdw11 = U32::new(command.cdw11);
    sqe
}

/// Get Features.
#[must_use]
pub fn get_features(command: &GetFeatures) -> Sqe {
    let mut sqe = Sqe::new(opcode::GET_FEATURES, command.nsid);
    sqe.cdw10 = U32::new(u32::from(command.fid) | (command.select as u32) << 8);
    sqe.cdw11 = U32::new(command.cdw11);
    sqe
}

/// Asynchronous Event Request.
#[must_use]
pub const fn async_event_request() -> Sqe {
    Sqe::new(opcode::ASYNC_EVENT_REQUEST, 0)
}

/// Keep Alive.
#[must_use]
pub const fn keep_alive() -> Sqe {
    Sqe::new(opcode::KEEP_ALIVE, 0)
}

/// Format NVM.
#[must_use]
pub fn format_nvm(command: &FormatNvm) -> Sqe {
    let mut sqe = Sqe::new(opcode::FORMAT_NVM, command.nsid);
    let index = u32::from(command.format_index);
    let erase = u32::from(command.secure_erase & 7) << 9;
    sqe.cdw10 = U32::new(index & 0xF | erase | (index >> 4 & 3) << 12);
    sqe
}
