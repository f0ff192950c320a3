// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Format NVM (Base 2.0, section 5.14; KV 1.0d, section 4.1.2).
//!
//! Every namespace has one format, index 0; another index and protection information of a block namespace are 0Ah.
//! Secure erase may be none or user data; cryptographic erase is 02h (FNA bit 2 clear). FFFFFFFFh means every active
//! namespace; without any, and for an NSID that is not active, 0Bh.

use saker_nvme::admin::FormatNvm;
use saker_nvme::{NSID_ALL, Sqe, Status};

use super::namespace::{NamespaceFacts, NamespaceKind, Visible};
use super::outcome::{Action, Decision, Outcome};

/// SES 1: user data erase.
const ERASE_USER_DATA: u8 = 1;

pub(super) fn decide(command: &FormatNvm, sqe: &Sqe, namespaces: Visible<'_>) -> Decision {
    let targets = targets(command.nsid, namespaces)?;
    if command.format_index != 0 || (protects(sqe) && targets.iter().any(|facts| is_block(facts))) {
        return Err(Status::INVALID_FORMAT);
    }
    if command.secure_erase > ERASE_USER_DATA {
        return Err(Status::INVALID_FIELD);
    }
    let mut nsids: Vec<u32> = targets.iter().map(|facts| facts.nsid).collect();
    nsids.sort_unstable();
    let erase_user_data = command.secure_erase == ERASE_USER_DATA;
    Ok(Outcome::act(Action::Format { nsids, erase_user_data }))
}

fn targets(nsid: u32, namespaces: Visible<'_>) -> Result<Vec<&NamespaceFacts>, Status> {
    let chosen = namespaces.iter().filter(|facts| nsid == NSID_ALL || facts.nsid == nsid);
    let targets: Vec<_> = chosen.collect();
    if targets.is_empty() { Err(Status::INVALID_NAMESPACE_OR_FORMAT) } else { Ok(targets) }
}

/// PI, CDW10 bits 7:5, and MSET, bit 4: protection information, extended data blocks. Reserved for Key Value.
const fn protects(sqe: &Sqe) -> bool {
    sqe.cdw10.get() & 0xF0 != 0
}

const fn is_block(facts: &NamespaceFacts) -> bool {
    matches!(facts.kind, NamespaceKind::Block { .. })
}
