// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Identify (Base 2.0, section 5.17; KV 1.0d, section 4.1.5).
//!
//! | CNS | answer |
//! |---|---|
//! | 00h | a block namespace; a Key Value one as if it had blocks (`pairs_as_blocks`) |
//! | 01h | the controller |
//! | 02h, 07h | active NSIDs, of all command sets or of one; 02h for an unknown command set |
//! | 03h | CSI, then NGUID, EUI64 and UUID as far as there are such; 0Bh unless active |
//! | 05h | the namespace as its command set sees it; 2Ch for another command set than the namespace's |
//! | 06h | zeros for NVM and KV: no limits to tell; 02h for an unknown command set |
//! | 08h | the namespace whatever its command set, ready |
//! | 09h, 0Ah | what format 0 of a command set makes of a namespace, whichever; 02h for other formats |
//! | 12h | as 13h, since every controller has every namespace; none for one that is not active |
//! | 13h | the controllers of the subsystem from CNTID on |
//! | 1Ch | the one combination, NVM and KV; 02h for the CNTID of another controller |
//! | others | 02h; 10h and 11h belong to Namespace Management, which there is not |
//!
//! An NSID that may exist (1 to NN) but is not active gives zeros for CNS 00h, 05h and 08h, as the specification wants
//! for the first two; NRDY = 0 then says that the namespace cannot be used. 0, NSIDs above NN, and FFFFFFFFh, which needs
//! Namespace Management, are 0Bh. A namespace of a command set that CC.CSS does not choose is not active.

mod controller;
mod controllers;
mod formats;
mod namespaces;

use saker_nvme::admin::Identify;
use saker_nvme::identify::{ActiveNamespaces, CommandSetCombinations, cns};
use saker_nvme::{IDENTIFY_BYTES, Status, csi};

use super::identity::Identity;
use super::namespace::Visible;
use super::outcome::{Decision, Outcome};

/// Combination 0 of feature 19h, a bit for each command set. Linux never chooses another.
const COMBINATION: u64 = 1 << csi::NVM | 1 << csi::KV;

/// CNTID that names the controller asked.
const THIS_CONTROLLER: u16 = 0xFFFF;

/// `controllers`: the CNTLIDs of the subsystem, ascending.
pub(super) fn decide(
    command: &Identify,
    identity: &Identity,
    namespaces: Visible<'_>,
    controllers: &[u16],
) -> Decision {
    match command.cns {
        cns::NAMESPACE => namespaces::logical_blocks(command, namespaces),
        cns::CONTROLLER => Ok(Outcome::structure(&controller::data(identity))),
        cns::ACTIVE_NAMESPACES => active(command.nsid, namespaces, None),
        cns::NAMESPACE_DESCRIPTORS => namespaces::descriptors(command, identity, namespaces),
        cns::CSI_NAMESPACE => namespaces::of_command_set(command, namespaces),
        cns::CSI_CONTROLLER => check_csi(command.csi).map(|()| zeros()),
        cns::CSI_ACTIVE_NAMESPACES => {
            check_csi(command.csi)?;
            active(command.nsid, namespaces, Some(command.csi))
        }
        cns::INDEPENDENT_NAMESPACE => namespaces::independent(command, identity, namespaces),
        cns::FORMAT_NAMESPACE => formats::namespace(command, namespaces),
        cns::CSI_FORMAT_NAMESPACE => formats::of_command_set(command, namespaces),
        cns::ATTACHED_CONTROLLERS => controllers::attached(command, namespaces, controllers),
        cns::CONTROLLERS => Ok(controllers::all(command, controllers)),
        cns::COMMAND_SETS => combinations(command, identity),
        _ => Err(Status::INVALID_FIELD),
    }
}

fn active(after: u32, namespaces: Visible<'_>, csi: Option<u8>) -> Decision {
    ActiveNamespaces::after(after, namespaces.nsids(csi)).map(|list| Outcome::structure(&list))
}

fn combinations(command: &Identify, identity: &Identity) -> Decision {
    if ![THIS_CONTROLLER, identity.controller_id].contains(&command.cntid) {
        return Err(Status::INVALID_FIELD);
    }
    Ok(Outcome::structure(&CommandSetCombinations::new(&[COMBINATION])))
}

/// The command set is one that this controller implements.
fn check_csi(csi: u8) -> Result<(), Status> {
    if [csi::NVM, csi::KV].contains(&csi) { Ok(()) } else { Err(Status::INVALID_FIELD) }
}

fn zeros() -> Outcome {
    Outcome::data(vec![0; IDENTIFY_BYTES])
}
