// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Host Identifier, 81h (Base 2.0, section 5.27.1.25). Without reservations it has no effect.
//!
//! Over Fabrics it is what Connect said, as Linux's and SPDK's targets answer (torvalds/linux,
//! drivers/nvme/target/admin-cmd.c; spdk/spdk, lib/nvmf/ctrlr.c).

use saker_nvme::admin::feature::{Capabilities, HostIdentifier};
use saker_nvme::admin::{FeatureSelect, GetFeatures, SetFeatures};
use saker_nvme::{NSID_ALL, Status};

use crate::controller::outcome::{Action, Decision, Outcome};

/// What the host is called.
#[derive(Debug)]
pub(super) struct HostIdentifiers {
    over_fabrics: bool,
    identifier: [u8; 16],
    /// Whether the identifier has 128 bits. Without one it has either length.
    extended: bool,
}

impl HostIdentifiers {
    pub const fn new(over_fabrics: bool) -> Self {
        Self { over_fabrics, identifier: [0; 16], extended: over_fabrics }
    }

    pub const fn note(&mut self, identifier: [u8; 16], extended: bool) {
        (self.identifier, self.extended) = (identifier, extended);
    }

    /// A reset: a connection goes on to be that host's.
    pub const fn reset(&mut self) {
        if !self.over_fabrics {
            self.identifier = [0; 16];
        }
    }

    pub fn get(&self, command: &GetFeatures) -> Decision {
        let asked = HostIdentifier(command.cdw11);
        let is_default = matches!(command.select, FeatureSelect::Default | FeatureSelect::Saved);
        match command.select {
            FeatureSelect::Supported => {
                Ok(Outcome::dw0(Capabilities::default().with_changeable(!self.over_fabrics).0))
            }
            _ if self.over_fabrics && !asked.extended() => Err(Status::INVALID_FIELD),
            _ if is_default || self.identifier == [0; 16] => Ok(Outcome::data(vec![0; asked.bytes()])),
            _ if asked.extended() != self.extended => Err(Status::HOST_ID_INCONSISTENT_FORMAT),
            _ => Ok(Outcome::data(self.identifier[..asked.bytes()].to_vec())),
        }
    }

    pub fn set(&self, command: &SetFeatures) -> Decision {
        if self.over_fabrics {
            return Err(Status::COMMAND_SEQUENCE_ERROR);
        }
        if command.save {
            return Err(Status::FEATURE_NOT_SAVEABLE);
        }
        if !matches!(command.nsid, 0 | NSID_ALL) {
            return Err(Status::FEATURE_NOT_NAMESPACE_SPECIFIC);
        }
        let extended = HostIdentifier(command.cdw11).extended();
        Ok(Outcome::act(Action::SetHostIdentifier { extended }))
    }
}
