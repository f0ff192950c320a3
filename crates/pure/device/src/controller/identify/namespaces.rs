//! The structures of one namespace: CNS 00h, 03h, 05h and 08h.

use saker_nvme::admin::Identify;
use saker_nvme::identify::{
    Descriptor, DescriptorWriter, IndependentNamespace, KvFormat, KvNamespace, NvmNamespace,
};
use saker_nvme::{IDENTIFY_BYTES, Status};

use super::{check_csi, zeros};
use crate::controller::identity::Identity;
use crate::controller::namespace::{NSID_MAX, NamespaceFacts, NamespaceKind, Visible};
use crate::controller::outcome::{Decision, Outcome};

/// NSFEAT of CNS 08h, bit 5 VWCNP: no volatile write cache.
const NO_WRITE_CACHE: u8 = 1 << 5;

/// The namespace, or `None` for a valid NSID that is not active.
fn find(nsid: u32, namespaces: Visible<'_>) -> Result<Option<&NamespaceFacts>, Status> {
    if !(1..=NSID_MAX).contains(&nsid) {
        return Err(Status::INVALID_NAMESPACE_OR_FORMAT);
    }
    Ok(namespaces.find(nsid))
}

pub(super) fn logical_blocks(command: &Identify, namespaces: Visible<'_>) -> Decision {
    match find(command.nsid, namespaces)? {
        None => Ok(zeros()),
        Some(facts) => block(facts).ok_or(Status::INVALID_NAMESPACE_OR_FORMAT),
    }
}

/// CNS 00h of a block namespace.
fn block(facts: &NamespaceFacts) -> Option<Outcome> {
    let NamespaceKind::Block { block_bytes, blocks, used_blocks } = facts.kind else { return None };
    assert!(block_bytes.is_power_of_two() && block_bytes >= 512, "blocks of {block_bytes} bytes");
    let mut data = NvmNamespace::new(blocks, block_bytes.trailing_zeros() as u8);
    data.nuse = used_blocks.min(blocks).into();
    data.nvmcap = (u128::from(blocks) * u128::from(block_bytes)).into();
    data.nguid = facts.nguid;
    data.eui64 = facts.eui64;
    Some(Outcome::structure(&data))
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
