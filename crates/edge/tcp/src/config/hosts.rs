// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What hosts have to prove and may do, as it is configured.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use saker_auth::{Credentials, GroupId, HashId, Secret};
use saker_initiator::read_secrets;
use saker_target::{AdminRights, HostPolicy, Policies, Rights, TRANSFER_BYTES_MAX};
use serde::Deserialize;

use super::rates::rates;
use super::{ConfigError, ServerConfig};

/// What holds for a host, or for all that have no rules of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HostRules {
    /// The line of the file where they begin; 0 if they are not of a file.
    #[serde(skip)]
    pub line: usize,
    /// HOSTNQN; empty in the rules for all.
    pub nqn: String,
    /// A file with the host's secrets, one a line; any of them is right.
    pub secret_file: Option<PathBuf>,
    /// A file with the target's secret, for hosts that ask for proof.
    pub ctrl_secret_file: Option<PathBuf>,
    /// Hashes that may be used, best first; empty: all.
    pub hashes: Vec<String>,
    /// Diffie-Hellman groups that may be used, best first; empty: all but `null`.
    pub dh_groups: Vec<String>,
    /// Namespaces that exist for the host, by their numbers; nothing: all.
    pub namespaces: Option<Vec<u32>>,
    /// Whether the host may only read.
    pub read_only: Option<bool>,
    /// Admin commands that other hosts feel: `format`, `settings`, `namespaces`, `firmware`. Nothing: all of them for hosts of this
    /// machine, none for others.
    pub admin: Option<Vec<String>>,
    /// Queues that the host may have connected at once.
    pub connections_max: Option<usize>,
    /// I/O commands that it may have carried out in a second; more wait.
    pub commands_per_second: Option<u64>,
    /// Bytes of data that it may move in a second; more wait.
    pub bytes_per_second: Option<u64>,
    /// Bytes of memory that all its queues may hold, beyond the 64 KiB that each has for itself; what needs more waits.
    pub memory_max: Option<usize>,
}

/// Groups unless others are named: the smallest first, which is safe and costs least. Without a group, whoever records an
/// authentication can try secrets at home.
const GROUPS: [GroupId; 5] =
    [GroupId::Ffdhe2048, GroupId::Ffdhe3072, GroupId::Ffdhe4096, GroupId::Ffdhe6144, GroupId::Ffdhe8192];

impl HostRules {
    /// The rules with those for all where they say nothing.
    fn over(&self, all: &Self) -> Self {
        let either = |own: &Option<PathBuf>, other: &Option<PathBuf>| own.clone().or_else(|| other.clone());
        let list =
            |own: &Vec<String>, other: &Vec<String>| if own.is_empty() { other.clone() } else { own.clone() };
        Self {
            line: self.line,
            nqn: self.nqn.clone(),
            secret_file: either(&self.secret_file, &all.secret_file),
            ctrl_secret_file: either(&self.ctrl_secret_file, &all.ctrl_secret_file),
            hashes: list(&self.hashes, &all.hashes),
            dh_groups: list(&self.dh_groups, &all.dh_groups),
            namespaces: self.namespaces.clone().or_else(|| all.namespaces.clone()),
            read_only: self.read_only.or(all.read_only),
            admin: self.admin.clone().or_else(|| all.admin.clone()),
            connections_max: self.connections_max.or(all.connections_max),
            commands_per_second: self.commands_per_second.or(all.commands_per_second),
            bytes_per_second: self.bytes_per_second.or(all.bytes_per_second),
            memory_max: self.memory_max.or(all.memory_max),
        }
    }

    /// Where an error is.
    pub(super) fn place(&self) -> String {
        let host = if self.nqn.is_empty() { "all_hosts".into() } else { format!("host {}", self.nqn) };
        if self.line == 0 { host } else { format!("line {}, {host}", self.line) }
    }

    fn policy(&self) -> Result<HostPolicy, ConfigError> {
        let rights = Rights {
            namespaces: self.namespaces.clone(),
            read_only: self.read_only.unwrap_or(false),
            admin: self.admin.as_deref().map(admin_rights).transpose()?,
        };
        if self.connections_max.is_some_and(|most| most < CONNECTIONS_MIN) {
            return Err(ConfigError::new(
                "connections_max is too small",
                "a host needs 2 queues, one for each use",
            ));
        }
        if let Some(memory) = self.memory_max.filter(|memory| *memory < TRANSFER_BYTES_MAX as usize) {
            let what = format!("memory_max is {memory}");
            return Err(ConfigError::new(what, format!("a value needs {TRANSFER_BYTES_MAX}")));
        }
        let rates = rates(self.commands_per_second, self.bytes_per_second)?;
        let credentials = self.credentials()?.map(Arc::new);
        let (connections_max, memory_max) = (self.connections_max, self.memory_max);
        Ok(HostPolicy { credentials, rights, connections_max, rates, memory_max })
    }

    fn credentials(&self) -> Result<Option<Credentials>, ConfigError> {
        let hashes = ids(&self.hashes, &HashId::ALL, HashId::name, &HashId::ALL)?;
        let groups = ids(&self.dh_groups, &GroupId::ALL, GroupId::name, &GROUPS)?;
        let Some(file) = &self.secret_file else {
            return match self.ctrl_secret_file {
                None => Ok(None),
                Some(_) => Err(ConfigError::new(
                    "ctrl_secret_file without secret_file",
                    "add secret_file: a target proves who it is only to hosts that do",
                )),
            };
        };
        let controller = self.ctrl_secret_file.as_deref().map(secrets_of).transpose()?;
        let controller = controller.map(|mut secrets| secrets.swap_remove(0));
        Ok(Some(Credentials { host: secrets_of(file)?, controller, hashes, groups }))
    }
}

/// The admin queue, and one for I/O.
const CONNECTIONS_MIN: usize = 2;

fn admin_rights(names: &[String]) -> Result<AdminRights, ConfigError> {
    let mut rights = AdminRights::NONE;
    for name in names {
        match name.as_str() {
            "format" => rights.format = true,
            "settings" => rights.settings = true,
            "namespaces" => rights.namespaces = true,
            "firmware" => rights.firmware = true,
            _ => {
                let todo = "write some of format, settings, namespaces, firmware";
                return Err(ConfigError::new(format!("`{name}` in admin is unknown"), todo));
            }
        }
    }
    Ok(rights)
}

fn secrets_of(path: &Path) -> Result<Vec<Secret>, ConfigError> {
    read_secrets(path).map_err(|error| ConfigError::of_text(&error.to_string()))
}

/// The identifiers of names.
fn ids<T: Copy>(
    names: &[String],
    all: &[T],
    name_of: fn(T) -> &'static str,
    otherwise: &[T],
) -> Result<Vec<T>, ConfigError> {
    if names.is_empty() {
        return Ok(otherwise.to_vec());
    }
    let mut ids = Vec::new();
    for name in names {
        let id = all.iter().copied().find(|id| name_of(*id) == name);
        ids.push(id.ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|id| name_of(*id)).collect();
            ConfigError::new(format!("`{name}` is unknown"), format!("write some of {}", known.join(", ")))
        })?);
    }
    Ok(ids)
}

impl ServerConfig {
    /// Reads the secrets of all hosts.
    ///
    /// # Errors
    /// [`ConfigError`] names the host.
    pub fn policies(&self) -> Result<Policies, ConfigError> {
        let all = &self.all_hosts;
        let mut policies = Policies::for_all(all.policy().map_err(|error| error.of(&all.place()))?);
        for rules in &self.host_rules {
            let policy = rules.over(all).policy();
            policies.set(&rules.nqn, policy.map_err(|error| error.of(&rules.place()))?);
        }
        Ok(policies)
    }
}
