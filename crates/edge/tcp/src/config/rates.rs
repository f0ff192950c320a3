// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What hosts and namespaces may be asked in a second, as it is configured.

use saker_target::{NamespaceRates, Rates};
use serde::Deserialize;

use super::{ConfigError, Served, ServerConfig};

/// What may go to a namespace in a second, from all hosts together. What is more waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamespaceLimits {
    /// Its number.
    pub nsid: u32,
    /// I/O commands.
    pub commands_per_second: Option<u64>,
    /// Bytes of their data, either way.
    pub bytes_per_second: Option<u64>,
}

/// Rates that let something through.
pub(super) fn rates(commands: Option<u64>, bytes: Option<u64>) -> Result<Rates, ConfigError> {
    for (name, rate) in [("commands_per_second", commands), ("bytes_per_second", bytes)] {
        if rate == Some(0) {
            return Err(ConfigError::new(
                format!("{name} is 0"),
                "write at least 1, or leave it out for no limit",
            ));
        }
    }
    Ok(Rates { commands_per_second: commands, bytes_per_second: bytes })
}

impl Served {
    /// What may go to its namespaces in a second.
    pub(crate) fn namespace_rates(&self) -> NamespaceRates {
        let of = |limits: &NamespaceLimits| {
            let (commands_per_second, bytes_per_second) =
                (limits.commands_per_second, limits.bytes_per_second);
            (limits.nsid, Rates { commands_per_second, bytes_per_second })
        };
        self.namespaces.iter().map(of).collect()
    }

    /// Whether it is the same device under the same name, whatever its limits.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let function = |served: &Self| (served.vfio_user.clone(), served.vfio_user_cmb);
        (&self.url, &self.nqn) == (&other.url, &other.nqn)
            && self.redis == other.redis
            && function(self) == function(other)
    }

    fn check_rates(&self) -> Result<(), ConfigError> {
        let of = |nsid, error: ConfigError| error.of(&format!("{}, namespace {nsid}", self.place()));
        for (n, limits) in self.namespaces.iter().enumerate() {
            let nsid = limits.nsid;
            if nsid == 0 || nsid == saker_nvme::NSID_ALL {
                return Err(of(nsid, ConfigError::new("it is none", "write the number of one, from 1 on")));
            }
            if self.namespaces.iter().take(n).any(|other| other.nsid == nsid) {
                return Err(of(nsid, ConfigError::new("it has limits already", "write them in one place")));
            }
            rates(limits.commands_per_second, limits.bytes_per_second).map_err(|error| of(nsid, error))?;
        }
        Ok(())
    }
}

impl ServerConfig {
    /// Whether limits of namespaces let something through.
    pub(crate) fn check_rates(&self) -> Result<(), ConfigError> {
        self.subsystems.iter().try_for_each(Served::check_rates)
    }
}
