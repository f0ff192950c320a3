//! I/O commands: the data they need against the data their SGL describes.

use saker_device::controller::{NamespaceFacts, NamespaceKind};
use saker_nvme::nvm::DsmRange;
use saker_nvme::{Sqe, Status, kv, nvm};

/// A command for the device: PRPs are its caller's business.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IoCommand {
    /// The entry with PSDT 00b.
    pub sqe: Sqe,
    /// Data from the host, exactly what the command uses.
    pub data: Vec<u8>,
    /// Bytes that the device may write.
    pub room: u32,
    /// Whether DW0 of a success tells how many of them it did (Retrieve).
    pub is_value: bool,
}

/// Vendor commands use the memory of a local host, which is not there.
const VENDOR_OPCODES: std::ops::RangeInclusive<u8> = 0x80..=0xFF;

/// Checks a command that came with `data`, or with room for `room` bytes at the host. A descriptor may be longer than the
/// command needs (SGLS bit 18), not shorter.
///
/// # Errors
/// 01h for vendor commands, 02h for more data than MDTS, 0Fh for a descriptor that is too short.
pub fn check(sqe: &Sqe, mut data: Vec<u8>, room: u32, facts: &[NamespaceFacts]) -> Result<IoCommand, Status> {
    if VENDOR_OPCODES.contains(&sqe.opcode) {
        return Err(Status::INVALID_OPCODE);
    }
    let found = facts.iter().find(|ns| ns.nsid == sqe.nsid.get()).map(|ns| &ns.kind);
    let (to_device, to_host, is_value) = match found {
        Some(NamespaceKind::Kv { .. }) => kv_bytes(sqe),
        Some(NamespaceKind::Block { block_bytes, .. }) => block_bytes_of(sqe, *block_bytes),
        // The device refuses it, or it is a Flush of all namespaces.
        None => (0, 0, false),
    };
    if to_device.max(to_host) > u64::from(crate::TRANSFER_BYTES_MAX) {
        return Err(Status::INVALID_FIELD);
    }
    if to_device > data.len() as u64 || to_host > u64::from(room) {
        return Err(Status::DATA_SGL_LENGTH_INVALID);
    }
    data.truncate(to_device as usize);
    Ok(IoCommand { sqe: sqe.with_prp(0, 0), data, room: to_host as u32, is_value })
}

/// Bytes to the device, bytes to the host, and whether DW0 tells how many.
fn kv_bytes(sqe: &Sqe) -> (u64, u64, bool) {
    let bytes = u64::from(sqe.cdw10.get());
    match sqe.opcode {
        kv::opcode::STORE => (bytes, 0, false),
        kv::opcode::RETRIEVE => (0, bytes, true),
        kv::opcode::LIST => (0, bytes, false),
        _ => (0, 0, false),
    }
}

fn block_bytes_of(sqe: &Sqe, block_bytes: u32) -> (u64, u64, bool) {
    let blocks = u64::from(sqe.cdw12.get() & 0xFFFF) + 1;
    match sqe.opcode {
        nvm::opcode::WRITE => (blocks * u64::from(block_bytes), 0, false),
        nvm::opcode::READ => (0, blocks * u64::from(block_bytes), false),
        nvm::opcode::DATASET_MANAGEMENT => {
            let ranges = u64::from(sqe.cdw10.get() & 0xFF) + 1;
            (ranges * size_of::<DsmRange>() as u64, 0, false)
        }
        _ => (0, 0, false),
    }
}
