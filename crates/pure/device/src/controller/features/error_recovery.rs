// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Error Recovery, 05h (NVM 1.0, section 4.1.3.2): of each block namespace.

use std::collections::BTreeMap;

use saker_nvme::admin::feature::{Capabilities, ErrorRecovery};
use saker_nvme::admin::{FeatureSelect, GetFeatures, SetFeatures};
use saker_nvme::{NSID_ALL, Status, csi};

use crate::controller::namespace::Visible;
use crate::controller::outcome::{Decision, Outcome};

const CAPABILITIES: Capabilities = Capabilities(0).with_namespace_specific(true).with_changeable(true);

pub(super) fn get(
    command: &GetFeatures,
    retry_times: &BTreeMap<u32, u16>,
    namespaces: Visible<'_>,
) -> Decision {
    if !namespaces.nsids(Some(csi::NVM)).contains(&command.nsid) {
        return Err(Status::INVALID_NAMESPACE_OR_FORMAT);
    }
    let retry_time = retry_times.get(&command.nsid).copied().unwrap_or(0);
    Ok(Outcome::dw0(match command.select {
        FeatureSelect::Current => ErrorRecovery::default().with_retry_time(retry_time).0,
        FeatureSelect::Default | FeatureSelect::Saved => ErrorRecovery::default().0,
        FeatureSelect::Supported => CAPABILITIES.0,
    }))
}

/// Nothing is retried here, so any limit is kept.
pub(super) fn set(
    command: &SetFeatures,
    retry_times: &mut BTreeMap<u32, u16>,
    namespaces: Visible<'_>,
) -> Decision {
    let there = namespaces.nsids(Some(csi::NVM));
    let chosen = there.into_iter().filter(|nsid| [*nsid, NSID_ALL].contains(&command.nsid));
    let chosen: Vec<u32> = chosen.collect();
    if chosen.is_empty() {
        return Err(Status::INVALID_NAMESPACE_OR_FORMAT);
    }
    if command.save {
        return Err(Status::FEATURE_NOT_SAVEABLE);
    }
    let value = ErrorRecovery(command.cdw11);
    if value.deallocated_is_error() {
        return Err(Status::INVALID_FIELD);
    }
    retry_times.extend(chosen.into_iter().map(|nsid| (nsid, value.retry_time())));
    Ok(Outcome::done())
}
