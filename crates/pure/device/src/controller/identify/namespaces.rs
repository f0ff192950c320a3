// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The structures of one namespace: CNS 00h, 03h, 05h and 08h.

use saker_nvme::admin::Identify;
use saker_nvme::identify::{
    Descriptor, DescriptorWriter, IndependentNamespace, KvFormat, KvNamespace, NvmNamespace, pairs_as_blocks,
};
use saker_nvme::{IDENTIFY_BYTES, Status};

use super::{check_csi, zeros};
use crate::config::{COPY_BYTES_MAX, COPY_RANGES_MAX};
use crate::controller::identity::Identity;
use crate::controller::namespace::{NSID_MAX, NamespaceFacts, NamespaceKind, Visible};
use crate::controller::outcome::{Decision, Outcome};

/// DLFEAT bits 2:0, 001b: deallocated blocks read as zeros, also after a power cut. Bit 3, DEAC of Write Zeroes, is
/// clear although it is taken: Write Zeroes deallocates without it, and Linux 5.19 to 6.9 take a disk with that bit for
/// one with metadata (torvalds/linux, drivers/nvme/host/nvme.h, before commit 9570a48847e3).
const DEALLOCATED_ARE_ZEROS: u8 = 0b001;

/// NSFEAT of CNS 08h, bit 5 VWCNP: no volatile write cache.
const NO_WRITE_CACHE: u8 = 1 << 5;

/// The namespace, or `None` for a valid NSID that is not active.
pub(super) fn find(nsid: u32, namespaces: Visible<'_>) -> Result<Option<&NamespaceFacts>, Status> {
    if !(1..=NSID_MAX).contains(&nsid) {
        return Err(Status::INVALID_NAMESPACE_OR_FORMAT);
    }
    Ok(namespaces.find(nsid))
}

pub(super) fn logical_blocks(command: &Identify, namespaces: Visible<'_>) -> Decision {
    match find(command.nsid, namespaces)? {
        None => Ok(zeros()),
        Some(facts) => Ok(blocks(facts)),
    }
}

/// CNS 00h. Kinds are told apart by CSI: a Key Value namespace answers too, for hosts that take no answer for no
/// namespace.
fn blocks(facts: &NamespaceFacts) -> Outcome {
    let mut data = match facts.kind {
        NamespaceKind::Kv { size_bytes, used_bytes, .. } => pairs_as_blocks(size_bytes, used_bytes),
        NamespaceKind::Block { block_bytes, blocks, used_blocks } => block(block_bytes, blocks, used_blocks),
    };
    data.nguid = facts.nguid;
    data.eui64 = facts.eui64;
    Outcome::structure(&data)
}

/// A block namespace.
fn block(block_bytes: u32, blocks: u64, used_blocks: u64) -> NvmNamespace {
    assert!(block_bytes.is_power_of_two() && block_bytes >= 512, "blocks of {block_bytes} bytes");
    let mut data = NvmNamespace::new(blocks, block_bytes.trailing_zeros() as u8);
    data.nuse = used_blocks.min(blocks).into();
    data.nvmcap = (u128::from(blocks) * u128::from(block_bytes)).into();
    set_capabilities(&mut data, block_bytes);
    data
}

/// What blocks of that size can do. NSFEAT has no bit 1: only a block by itself is atomic, as AWUN and AWUPF say.
pub(super) fn set_capabilities(data: &mut NvmNamespace, block_bytes: u32) {
    let copied = COPY_BYTES_MAX / block_bytes;
    data.mssrl = u16::try_from(copied).unwrap_or(u16::MAX).into();
    data.mcl = copied.into();
    data.msrc = (COPY_RANGES_MAX - 1) as u8;
    data.dlfeat = DEALLOCATED_ARE_ZEROS;
}

pub(super) fn of_command_set(command: &Identify, namespaces: Visible<'_>) -> Decision {
    check_csi(command.csi)?;
    match find(command.nsid, namespaces)? {
        None => Ok(zeros()),
        Some(facts) if facts.csi() != command.csi => Err(Status::INVALID_COMMAND_SET),
        // CSI 00h: no protection information, so nothing but zeros.
        Some(facts) => Ok(key_value(facts).unwrap_or_else(zeros)),
    }
}

/// CNS 05h of a Key Value namespace.
fn key_value(facts: &NamespaceFacts) -> Option<Outcome> {
    let NamespaceKind::Kv { key_bytes_max, value_bytes_max, size_bytes, used_bytes, .. } = facts.kind else {
        return None;
    };
    let mut data = KvNamespace::new(size_bytes, KvFormat::new(key_bytes_max, value_bytes_max));
    data.nuse = used_bytes.min(size_bytes).into();
    data.nguid = facts.nguid;
    data.eui64 = facts.eui64;
    Some(Outcome::structure(&data))
}

pub(super) fn independent(command: &Identify, identity: &Identity, namespaces: Visible<'_>) -> Decision {
    let mut data = IndependentNamespace::new(find(command.nsid, namespaces)?.is_some());
    if data.nstat != 0 && !identity.volatile_write_cache {
        data.nsfeat = NO_WRITE_CACHE;
    }
    Ok(Outcome::structure(&data))
}

/// Linux drops a namespace without a CSI descriptor, so that one comes first.
pub(super) fn descriptors(command: &Identify, identity: &Identity, namespaces: Visible<'_>) -> Decision {
    let facts = find(command.nsid, namespaces)?.ok_or(Status::INVALID_NAMESPACE_OR_FORMAT)?;
    let identifiers = [
        Some(Descriptor::Csi(facts.csi())),
        (facts.nguid != [0; 16]).then_some(Descriptor::Nguid(facts.nguid)),
        (facts.eui64 != [0; 8]).then_some(Descriptor::Eui64(facts.eui64)),
        identity.namespace_uuid(facts.nsid).map(Descriptor::Uuid),
    ];
    let mut page = vec![0; IDENTIFY_BYTES];
    let mut list = DescriptorWriter::new(&mut page);
    for identifier in identifiers.iter().flatten() {
        list.push(identifier).expect("four descriptors fit a page");
    }
    Ok(Outcome::data(page))
}
