// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What each host has to prove and may do.

use std::collections::BTreeMap;
use std::sync::Arc;

use saker_auth::Credentials;

use crate::rights::Rights;
use crate::traffic::Rates;

/// What holds for a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostPolicy {
    /// With what it has to authenticate each queue; `None` if its name is taken on trust.
    pub credentials: Option<Arc<Credentials>>,
    /// What it may do.
    pub rights: Rights,
    /// Queues that it may have connected at once, those for administration included; `None`: as many as the target has place for.
    pub connections_max: Option<usize>,
    /// What it may ask in a second.
    pub rates: Rates,
    /// Bytes of memory that all its queues may hold beyond what each has for itself; `None`: as many as there are.
    pub memory_max: Option<usize>,
}

/// The policies of all hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies {
    named: BTreeMap<String, Arc<HostPolicy>>,
    others: Arc<HostPolicy>,
}

impl Policies {
    /// The same for every host.
    #[must_use]
    pub fn for_all(policy: HostPolicy) -> Self {
        Self { named: BTreeMap::new(), others: Arc::new(policy) }
    }

    /// Another one for a host.
    pub fn set(&mut self, hostnqn: &str, policy: HostPolicy) {
        self.named.insert(hostnqn.to_owned(), Arc::new(policy));
    }

    /// What holds for a host.
    #[must_use]
    pub fn of(&self, hostnqn: &str) -> &Arc<HostPolicy> {
        self.named.get(hostnqn).unwrap_or(&self.others)
    }
}
