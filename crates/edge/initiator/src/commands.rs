//! What is known of the commands that pass: how much data they have, and whether they may be sent twice.

use saker_nvme::{IDENTIFY_BYTES, Sqe, admin, kv};

/// Data of a command, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// None.
    None,
    /// From the host.
    Send(u32),
    /// To the host.
    Receive(u32),
}

/// Data of an admin command; `None` for one that this host never sends.
pub(crate) fn admin_shape(sqe: &Sqe) -> Option<Shape> {
    let cdw = |dword: u32, low: u32| (dword >> low) & 0xFFFF;
    match sqe.opcode {
        admin::opcode::IDENTIFY => Some(Shape::Receive(IDENTIFY_BYTES as u32)),
        admin::opcode::GET_LOG_PAGE => {
            let numd = u64::from(cdw(sqe.cdw10.get(), 16)) | u64::from(cdw(sqe.cdw11.get(), 0)) << 16;
            u32::try_from((numd + 1) * 4).ok().map(Shape::Receive)
        }
        admin::opcode::SET_FEATURES
        | admin::opcode::GET_FEATURES
        | admin::opcode::ABORT
        | admin::opcode::FORMAT_NVM
        | admin::opcode::ASYNC_EVENT_REQUEST
        | admin::opcode::KEEP_ALIVE => Some(Shape::None),
        _ => None,
    }
}

/// Data of a command of the Key Value command set; unknown commands have none.
pub(crate) fn kv_shape(sqe: &Sqe) -> Shape {
    match sqe.opcode {
        kv::opcode::STORE => Shape::Send(sqe.cdw10.get()),
        kv::opcode::RETRIEVE | kv::opcode::LIST => Shape::Receive(sqe.cdw10.get()),
        _ => Shape::None,
    }
}

/// Whether executing a Key Value command twice is as good as once, whatever other hosts do in between.
pub(crate) fn only_reads(sqe: &Sqe) -> bool {
    matches!(sqe.opcode, kv::opcode::RETRIEVE | kv::opcode::LIST | kv::opcode::EXIST)
}

/// The same for an admin command.
pub(crate) fn admin_only_reads(sqe: &Sqe) -> bool {
    matches!(sqe.opcode, admin::opcode::IDENTIFY | admin::opcode::GET_LOG_PAGE | admin::opcode::GET_FEATURES)
}
