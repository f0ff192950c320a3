// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Key Value Configuration, 20h (KV 1.0d, section 4.1.3.1). The device keeps the value with the namespace.

use saker_nvme::Status;
use saker_nvme::admin::feature::{Capabilities, KvConfig};
use saker_nvme::admin::{FeatureSelect, GetFeatures, SetFeatures};

use crate::controller::namespace::{NamespaceKind, Visible};
use crate::controller::outcome::{Action, Decision, Outcome};

const CAPABILITIES: Capabilities =
    Capabilities(0).with_saveable(true).with_namespace_specific(true).with_changeable(true);

pub(super) fn get(command: &GetFeatures, namespaces: Visible<'_>) -> Decision {
    let ednek = ednek(command.nsid, namespaces)?;
    Ok(Outcome::dw0(match command.select {
        FeatureSelect::Current | FeatureSelect::Saved => {
            KvConfig::default().with_delete_missing_is_error(ednek).0
        }
        FeatureSelect::Default => KvConfig::default().0,
        FeatureSelect::Supported => CAPABILITIES.0,
    }))
}

pub(super) fn set(command: &SetFeatures, namespaces: Visible<'_>) -> Decision {
    let before = ednek(command.nsid, namespaces)?;
    let value = KvConfig(command.cdw11).delete_missing_is_error();
    let change = Action::SetEdnek { nsid: command.nsid, value };
    Ok(if before == value { Outcome::done() } else { Outcome::act(change) })
}

/// EDNEK of an active Key Value namespace.
fn ednek(nsid: u32, namespaces: Visible<'_>) -> Result<bool, Status> {
    match namespaces.find(nsid).map(|facts| &facts.kind) {
        Some(NamespaceKind::Kv { ednek, .. }) => Ok(*ednek),
        _ => Err(Status::INVALID_NAMESPACE_OR_FORMAT),
    }
}
