// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Controller lists: CNS 12h and 13h.

use saker_nvme::admin::Identify;
use saker_nvme::identify::ControllerList;
use saker_nvme::{NSID_ALL, Status};

use super::namespaces::find;
use crate::controller::namespace::Visible;
use crate::controller::outcome::{Decision, Outcome};

/// CNS 13h: every controller.
pub(super) fn all(command: &Identify, controllers: &[u16]) -> Outcome {
    Outcome::structure(&ControllerList::from(command.cntid, controllers.iter().copied()))
}

/// CNS 12h: namespaces are attached to all controllers or, not being there, to none.
pub(super) fn attached(command: &Identify, namespaces: Visible<'_>, controllers: &[u16]) -> Decision {
    if command.nsid == NSID_ALL {
        return Err(Status::INVALID_FIELD);
    }
    let attached = if find(command.nsid, namespaces)?.is_some() { controllers } else { &[] };
    Ok(all(command, attached))
}
