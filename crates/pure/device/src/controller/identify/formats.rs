// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Namespaces as a format would make them: CNS 09h and 0Ah (Base 2.0, Figure "Identify - CNS Values"). The index of the
//! format is in CDW11; NSIDs are not looked at (linux-nvme/nvme-cli, src/nvme/ioctl.h sends 0).
//!
//! Each namespace has one format, index 0. What its size and identifiers are is no capability of a format, and zero.

use saker_nvme::admin::Identify;
use saker_nvme::identify::{KvFormat, KvNamespace, NvmNamespace};
use saker_nvme::{Status, csi};

use super::namespaces::set_capabilities;
use super::{check_csi, zeros};
use crate::controller::namespace::{NamespaceFacts, NamespaceKind, Visible};
use crate::controller::outcome::{Decision, Outcome};

/// CNS 09h: a block namespace. Where several differ in their blocks, the first tells.
pub(super) fn namespace(command: &Identify, namespaces: Visible<'_>) -> Decision {
    let NamespaceKind::Block { block_bytes, .. } = first(command, namespaces, csi::NVM)?.kind else {
        return Err(Status::INVALID_FIELD);
    };
    let mut data = NvmNamespace::new(0, block_bytes.trailing_zeros() as u8);
    set_capabilities(&mut data, block_bytes);
    Ok(Outcome::structure(&data))
}

/// CNS 0Ah. Of blocks there is nothing to tell, since there is no protection information.
pub(super) fn of_command_set(command: &Identify, namespaces: Visible<'_>) -> Decision {
    check_csi(command.csi)?;
    Ok(match first(command, namespaces, command.csi)?.kind {
        NamespaceKind::Block { .. } => zeros(),
        NamespaceKind::Kv { key_bytes_max, value_bytes_max, .. } => {
            Outcome::structure(&KvNamespace::new(0, KvFormat::new(key_bytes_max, value_bytes_max)))
        }
    })
}

/// The first namespace of a command set, if the command asks for format 0 and there is one.
fn first<'a>(command: &Identify, namespaces: Visible<'a>, csi: u8) -> Result<&'a NamespaceFacts, Status> {
    let of_set = namespaces.iter().filter(|facts| facts.csi() == csi);
    let first = of_set.min_by_key(|facts| facts.nsid).filter(|_| command.specific_id == 0);
    first.ok_or(Status::INVALID_FIELD)
}
