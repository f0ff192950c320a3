// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which vendor commands a device knows, and the log page that tells.

use super::{GATHER_BYTES_MAX, RETRIEVE_BYTES_MAX, announced_by};
use saker_engine::GROUP_BYTES_MAX;
use saker_link::REGION_BYTES;
use saker_nvme::group::is_split;
use saker_nvme::vendor_specific::{Capabilities, Methods, is_indirect, is_iterator, opcode};

/// The log page of a device with these methods.
pub fn capabilities(methods: Methods) -> Capabilities {
    let region = if methods.mmio() { REGION_BYTES } else { 0 };
    let long = methods.long_keys_in_transactions() && methods.indirect_keys();
    let methods = methods.with_long_keys_in_transactions(long);
    let groups = if methods.groups() { GROUP_BYTES_MAX } else { 0 };
    Capabilities::new(methods, GATHER_BYTES_MAX, region, RETRIEVE_BYTES_MAX).with_group_bytes(groups)
}

/// Whether a device with these methods knows a vendor opcode.
pub fn is_known(methods: Methods, code: u8) -> bool {
    if let Some(bit) = announced_by(code) {
        return methods.0 & bit.0 != 0;
    }
    match code {
        opcode::GROUP | opcode::GROUP_RESULTS => methods.groups(),
        opcode::GROUP_BOTH_WAYS => methods.groups_both_ways(),
        opcode::GROUP_PREFETCH => methods.prefetch_groups(),
        opcode::GROUP_VECTOR | opcode::BULK_PUT => methods.group_comparators(),
        opcode::RETRIEVE_VERSIONED => methods.retrieve_versioned(),
        code if is_iterator(code) => methods.iterators(),
        code if is_indirect(code) => methods.indirect_keys(),
        code if is_split(code) => methods.split_transactions(),
        _ => false,
    }
}
