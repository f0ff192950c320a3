// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which hosts may connect, and which of their queues have to authenticate first.

use std::sync::Arc;

use super::Subsystem;
use crate::ConnectionId;
use crate::authentication::QueueAuth;
use crate::policy::{HostPolicy, Policies};
use crate::traffic::NamespaceRates;
use saker_sim::Instant;

/// Which hosts may connect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Hosts {
    /// Any.
    Any,
    /// Those with one of these names.
    Named(Vec<String>),
}

impl Hosts {
    pub(super) fn admit(&self, hostnqn: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Named(names) => names.iter().any(|name| name == hostnqn),
        }
    }
}

impl Subsystem {
    /// What holds for a host of that name.
    #[must_use]
    pub fn policy_of(&self, hostnqn: &str) -> &HostPolicy {
        self.config.policies.of(hostnqn)
    }

    /// What may go to namespaces in a second.
    #[must_use]
    pub const fn namespace_rates(&self) -> &NamespaceRates {
        &self.config.namespace_rates
    }

    /// Other rates of namespaces hold from now on.
    pub fn set_namespace_rates(&mut self, rates: NamespaceRates) {
        self.config.namespace_rates = rates;
    }

    /// Whether a host's new queue has to authenticate.
    pub(super) fn demand(&mut self, connection: ConnectionId, hostnqn: &str) -> bool {
        let policy = self.config.policies.of(hostnqn);
        let auth = QueueAuth::of(policy, hostnqn, &self.config.nqn);
        auth.is_some_and(|auth| self.auths.insert(connection, auth).is_none())
    }

    /// Whether a host has as many queues connected as it may have.
    pub(super) fn has_all_connections(&self, hostnqn: &str) -> bool {
        self.config.policies.of(hostnqn).connections_max.is_some_and(|most| {
            let own = self.associations.values().filter(|association| association.hostnqn == hostnqn);
            own.map(|association| 1 + association.queues.len()).sum::<usize>() >= most
        })
    }

    pub(crate) fn auth_of(&mut self, connection: ConnectionId) -> Option<&mut QueueAuth> {
        self.auths.get_mut(&connection)
    }

    /// The host of a connection lives.
    pub(crate) fn hear(&mut self, connection: ConnectionId, now: Instant) {
        if let Some(association) = self.association(connection) {
            association.last_seen = now;
        }
    }

    /// A queue may do nothing but authenticate from now on, or everything.
    pub(crate) fn bar(&mut self, connection: ConnectionId, is_barred: bool) {
        let Some(qid) = self.bound(connection).map(|bound| bound.qid) else { return };
        let Some(association) = self.association(connection) else { return };
        if is_barred {
            association.barred.insert(qid);
        } else {
            association.barred.remove(&qid);
        }
    }

    /// Other hosts may connect, or have to prove something else. What is connected stays if it could connect as it is: the
    /// connections that could not, to be closed.
    pub fn set_hosts(&mut self, hosts: Hosts, policies: Policies) -> Vec<ConnectionId> {
        (self.config.hosts, self.config.policies) = (hosts, policies);
        let mut leaving = Vec::new();
        for association in self.associations.values_mut() {
            let policy = self.config.policies.of(&association.hostnqn);
            association.policy = Arc::clone(policy);
            let is_admitted = self.config.hosts.admit(&association.hostnqn);
            for connection in association.queues.values().chain([&association.admin]) {
                let auth = self.auths.get_mut(connection);
                if !is_admitted || (policy.credentials.is_some() && auth.is_none()) {
                    leaving.push(*connection);
                } else if let Some(auth) = auth {
                    auth.renew(policy);
                }
            }
        }
        leaving
    }
}
