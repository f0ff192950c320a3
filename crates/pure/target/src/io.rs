// SPDX-License-Identifier: Apache-2.0 OR MIT
//! I/O commands: the data they need against the data their SGL describes.

use saker_device::controller::{NamespaceFacts, NamespaceKind};
use saker_nvme::transfer::{Contents, Transfer, needs_shared_memory};
use saker_nvme::{Sqe, Status, kv, vendor_specific};

/// A command for the device: PRPs are its caller's business.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IoCommand {
    /// The entry with PSDT 00b.
    pub sqe: Sqe,
    /// Data from the host, exactly what the command uses. Of a command that asks for data, memory for it: at least `room` bytes
    /// that mean nothing, or none.
    pub data: Vec<u8>,
    /// Bytes that the device may write.
    pub room: u32,
    /// Whether DW0 of a success tells how many of them it did (Retrieve, Group Results).
    pub is_value: bool,
}

/// Checks a command that came with `data`, or with room for `room` bytes at the host: `data` is then memory for them, or
/// empty. A descriptor may be longer than the command needs (SGLS bit 18), not shorter.
///
/// # Errors
/// 01h for vendor commands that need memory of a local host, 02h for more data than MDTS, 0Fh for a descriptor that is too short.
pub fn check(sqe: &Sqe, mut data: Vec<u8>, room: u32, facts: &[NamespaceFacts]) -> Result<IoCommand, Status> {
    if needs_shared_memory(sqe) {
        return Err(Status::INVALID_OPCODE);
    }
    let contents = match facts.iter().find(|ns| ns.nsid == sqe.nsid.get()).map(|ns| &ns.kind) {
        Some(NamespaceKind::Kv { .. }) => Some(Contents::Kv),
        Some(NamespaceKind::Block { block_bytes, .. }) => {
            Some(Contents::Blocks { block_bytes: *block_bytes })
        }
        // The device refuses it, or it is a Flush of all namespaces.
        None => None,
    };
    let (to_device, to_host) = match contents.map_or(Transfer::None, |contents| contents.transfer(sqe)) {
        Transfer::None => (0, 0),
        Transfer::ToDevice(bytes) => (bytes, 0),
        Transfer::ToHost(bytes) => (0, bytes),
    };
    let tells_length = matches!(
        sqe.opcode,
        kv::opcode::RETRIEVE
            | vendor_specific::opcode::GROUP_RESULTS
            | vendor_specific::opcode::ITERATOR_NEXT
            | vendor_specific::opcode::RETRIEVE_VERSIONED
    );
    let is_value = tells_length && contents == Some(Contents::Kv);
    if to_device.max(to_host) > u64::from(crate::TRANSFER_BYTES_MAX) {
        return Err(Status::INVALID_FIELD);
    }
    let brought = if room > 0 { 0 } else { data.len() as u64 };
    if to_device > brought || to_host > u64::from(room) {
        return Err(Status::DATA_SGL_LENGTH_INVALID);
    }
    if to_host == 0 {
        data.truncate(to_device as usize);
    }
    Ok(IoCommand { sqe: sqe.with_prp(0, 0), data, room: to_host as u32, is_value })
}
