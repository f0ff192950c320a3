// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is served, to whom, within which limits.
//!
//! ```toml
//! listen = ["127.0.0.1:4420"]
//! allow_hosts = ["nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555"]
//! connections_max = 1024
//!
//! [[subsystem]]
//! url = "file:disk.img"
//! nqn = "nqn.2026-11.dev.saker:disk"
//! ```

mod addresses;
mod devices;
mod file;
mod hosts;
mod log;
mod names;
mod rates;
mod redis;

pub use log::{LogConfig, LogFormat, SLOW_DEFAULT, slow_after};

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use saker_nvme_tcp::TargetLimits;
use saker_target::Hosts;
use serde::Deserialize;
use thiserror::Error;

use crate::memory::FLOOR_BYTES;
pub use hosts::HostRules;

pub use rates::NamespaceLimits;
pub use redis::RedisConfig;

/// A device and the name it is served under.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Served {
    /// The line of the file where it begins; 0 if it is not of a file.
    #[serde(skip)]
    pub line: usize,
    /// Device URL: `mem:` or `file:`, with options.
    pub url: String,
    /// SUBNQN; without it, the device's own.
    pub nqn: Option<String>,
    /// Redis clients too, of one of its namespaces.
    pub redis: Option<RedisConfig>,
    /// A PCIe function at this socket instead: nobody reaches it by the network. It is for another server than this one.
    pub vfio_user: Option<PathBuf>,
    /// That function has a controller memory buffer.
    #[serde(default)]
    pub vfio_user_cmb: bool,
    /// Limits of its namespaces.
    #[serde(default, rename = "namespace")]
    pub namespaces: Vec<NamespaceLimits>,
}

impl Served {
    /// Where an error is.
    #[must_use]
    pub fn place(&self) -> String {
        let subsystem = format!("subsystem {}", self.url);
        if self.line == 0 { subsystem } else { format!("line {}, {subsystem}", self.line) }
    }

    /// A device has one host if it is a PCIe function: that has no limits, and there are no clients beside it.
    fn check_function(&self) -> Result<(), ConfigError> {
        let has_others = self.redis.is_some() || !self.namespaces.is_empty();
        if self.vfio_user.is_none() || !has_others {
            return Ok(());
        }
        let todo = "serve the device in one way, with vfio_user alone or without it";
        Err(ConfigError::new("vfio_user beside Redis clients or limits", todo))
    }
}

/// Everything a server needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// Where to listen.
    pub listen: Vec<SocketAddr>,
    /// What to serve.
    pub subsystems: Vec<Served>,
    /// Who may connect.
    pub hosts: Hosts,
    /// Rules of hosts that have none of their own.
    pub all_hosts: HostRules,
    /// Rules of hosts, by their names.
    pub host_rules: Vec<HostRules>,
    /// Connections at most.
    pub connections_max: usize,
    /// Bytes of memory of all connections together: data of commands under way, and answers that hosts have not read.
    pub connections_memory_max: usize,
    /// Connections that have not connected a queue, at most; the oldest make room for newcomers.
    pub handshakes_max: usize,
    /// How long a connection may take to connect a queue.
    pub handshake_timeout: Duration,
    /// How long a queue may take to authenticate once it is connected.
    pub authentication_timeout: Duration,
    /// How long connections may take to finish when the server stops.
    pub stop_timeout: Duration,
    /// Limits of each connection.
    pub limits: TargetLimits,
    /// Whether device threads poll instead of sleeping.
    pub busy_poll: bool,
    /// Where metrics are told, over HTTP; `None`: nowhere.
    pub metrics: Option<SocketAddr>,
    /// Commands that take at least this long are told of in the log; `None`: none is.
    pub slow: Option<Duration>,
    /// What the log has, and how.
    pub log: LogConfig,
    /// The lines of the file where settings at its top are.
    pub lines: BTreeMap<String, usize>,
}

/// A configuration that makes no sense. One line, with what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what}; {todo}")]
pub struct ConfigError {
    what: String,
    todo: String,
}

impl ConfigError {
    /// What is wrong, and what to write instead.
    pub fn new(what: impl Into<String>, todo: impl Into<String>) -> Self {
        Self { what: what.into(), todo: todo.into() }
    }

    /// An error that says after a semicolon what to do.
    fn of_text(text: &str) -> Self {
        let (what, todo) = text.split_once("; ").unwrap_or((text, "see docs/target.md"));
        Self::new(what, todo)
    }

    /// The same, where it is.
    fn of(self, place: &str) -> Self {
        Self { what: format!("{place}: {}", self.what), ..self }
    }
}

/// The longest transfers that the memory of all connections has room for at least, above what each connection has for itself.
const TRANSFERS_MIN: usize = 4;

/// The address that is listened on unless another is given.
pub const LISTEN_DEFAULT: &str = "127.0.0.1:4420";

impl ServerConfig {
    /// One device on the default address, for any host of this machine.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self {
            listen: LISTEN_DEFAULT.parse().into_iter().collect(),
            subsystems: vec![Served { url: url.to_owned(), ..Served::default() }],
            ..Self::empty()
        }
    }

    /// Nothing to serve yet, nowhere to listen.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            listen: Vec::new(),
            subsystems: Vec::new(),
            hosts: Hosts::Any,
            all_hosts: HostRules::default(),
            host_rules: Vec::new(),
            connections_max: 1024,
            connections_memory_max: 768 << 20,
            handshakes_max: 128,
            handshake_timeout: Duration::from_secs(10),
            authentication_timeout: Duration::from_secs(30),
            stop_timeout: Duration::from_secs(5),
            limits: TargetLimits::default(),
            busy_poll: false,
            metrics: None,
            slow: Some(SLOW_DEFAULT),
            log: LogConfig::default(),
            lines: BTreeMap::new(),
        }
    }

    /// Whether hosts can use the names, whether the limits fit each other, and whether strangers may reach an address: other addresses than this
    /// machine's own need `hosts_stated`.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn check(&self, hosts_stated: bool) -> Result<(), ConfigError> {
        if self.subsystems.is_empty() {
            return Err(ConfigError::new(
                "there is nothing to serve",
                "name a device with --image, --url or SAKER_DEVICE",
            ));
        }
        self.check_names()?;
        self.check_rates()?;
        for served in &self.subsystems {
            let redis = served.redis.as_ref().map_or(Ok(()), RedisConfig::check);
            served.check_function().and(redis).map_err(|error| error.of(&served.place()))?;
        }
        self.check_devices()?;
        self.check_places()?;
        self.check_memory().map_err(|error| self.at("connections_memory_max", error))?;
        self.check_addresses(hosts_stated)
    }

    /// An error with the line of a setting at the top of the file.
    #[must_use]
    pub fn at(&self, setting: &str, error: ConfigError) -> ConfigError {
        self.lines.get(setting).map_or(error.clone(), |line| error.of(&format!("line {line}")))
    }

    /// Whether anybody gets in, with a value.
    fn check_places(&self) -> Result<(), ConfigError> {
        for (name, most) in
            [("connections_max", self.connections_max), ("handshakes_max", self.handshakes_max)]
        {
            if most == 0 {
                return Err(self.at(name, ConfigError::new(format!("{name} is 0"), "let at least one in")));
            }
        }
        let (memory, value) = (self.limits.memory_max, self.limits.transfer_max);
        if memory < value as usize {
            let what = format!("connection_memory_max is {memory}");
            return Err(
                self.at("connection_memory_max", ConfigError::new(what, format!("a value needs {value}")))
            );
        }
        Ok(())
    }

    /// Whether the floors of all connections leave room for the longest values of a few.
    fn check_memory(&self) -> Result<(), ConfigError> {
        let least = self.connections_memory_min();
        if self.connections_memory_max >= least {
            return Ok(());
        }
        let (max, places) = (self.connections_memory_max, self.connections_max);
        let needs = format!("{places} connections need at least {least}");
        let todo = format!("{needs}: write that, or a smaller connections_max");
        Err(ConfigError::new(format!("connections_memory_max is {max}"), todo))
    }

    fn connections_memory_min(&self) -> usize {
        let floors = self.connections_max.saturating_mul(FLOOR_BYTES);
        floors.saturating_add(TRANSFERS_MIN * self.limits.transfer_max as usize)
    }

    /// Whether each host has one set of rules, under a name that it can have.
    fn check_host_rules(&self) -> Result<(), ConfigError> {
        for (n, rules) in self.host_rules.iter().enumerate() {
            let of = |error: ConfigError| error.of(&rules.place());
            names::check(&rules.nqn).map_err(of)?;
            if self.host_rules.iter().take(n).any(|other| other.nqn == rules.nqn) {
                return Err(of(ConfigError::new("it has rules already", "write them in one place")));
            }
        }
        match self.all_hosts.nqn.as_str() {
            "" => Ok(()),
            _ => Err(ConfigError::new("a name in the rules of all hosts", "write a [[host]] for it")),
        }
    }

    /// Whether hosts can use the names.
    fn check_names(&self) -> Result<(), ConfigError> {
        for served in &self.subsystems {
            let named = served.nqn.as_deref().map_or(Ok(()), names::check_subsystem);
            named.map_err(|error| error.of(&served.place()))?;
        }
        // Those with rules come first: their errors tell the line of the rules.
        self.check_host_rules()?;
        match &self.hosts {
            Hosts::Named(hosts) => hosts.iter().try_for_each(|host| names::check(host)),
            Hosts::Any => Ok(()),
        }
        .map_err(|error| self.at("allow_hosts", error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_everything() {
        let text = r#"
            listen = ["127.0.0.1:4420", "[::1]:4420"]
            allow_hosts = ["nqn.2014-08.org.example:a"]
            connections_max = 7
            connection_memory_max = 4194304
            connections_memory_max = 33554432
            [[subsystem]]
            url = "mem:"
            nqn = "nqn.2026-11.dev.saker:m"
            [[subsystem]]
            url = "file:disk.img"
        "#;
        let (config, stated) = ServerConfig::parse(text).expect("sound");
        assert!(stated);
        assert_eq!((config.listen.len(), config.subsystems.len(), config.connections_max), (2, 2, 7));
        assert_eq!((config.limits.memory_max, config.connections_memory_max), (4 << 20, 32 << 20));
        assert_eq!(config.hosts, Hosts::Named(vec!["nqn.2014-08.org.example:a".into()]));
        assert_eq!(config.check(false), Ok(()));
    }

    #[test]
    fn the_file_of_the_documentation_is_sound() {
        let text = include_str!("../../../../docs/target.md");
        let example = text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
        let (config, stated) = ServerConfig::parse(example.expect("there is one")).expect("sound");
        assert_eq!(config.check(stated), Ok(()));
        assert_eq!((config.connections_max, config.handshakes_max, config.subsystems.len()), (1024, 128, 1));
        assert_eq!(config.connections_memory_max, ServerConfig::empty().connections_memory_max);
        assert!(matches!(config.hosts, Hosts::Named(names) if names.len() == 1));
    }

    #[test]
    fn mistakes_are_named() {
        for text in ["listen = 3", "colour = \"red\"", "[[subsystem]]\nnqn = \"x\"", "listen = [\"here\"]"] {
            let error = ServerConfig::parse(text).expect_err(text).to_string();
            assert!(error.contains("line ") && error.contains(';'), "{error}");
        }
    }

    #[test]
    fn names_and_limits_that_nobody_can_use_are_refused() {
        let spoil: [fn(&mut ServerConfig); 6] = [
            |config| config.hosts = Hosts::Named(vec!["not a nqn".into()]),
            |config| config.hosts = Hosts::Named(vec!["nqn.2014-08.org.example:a".into(), String::new()]),
            |config| config.subsystems[0].nqn = Some("disk".into()),
            |config| config.subsystems[0].nqn = Some("nqn.2014-08.org.nvmexpress.discovery".into()),
            |config| config.connections_max = 0,
            |config| config.handshakes_max = 0,
        ];
        for (n, spoil) in spoil.into_iter().enumerate() {
            let mut config = ServerConfig::new("mem:");
            spoil(&mut config);
            assert!(config.check(true).is_err(), "case {n}");
        }
    }

    #[test]
    fn too_little_memory_is_refused_with_what_is_enough() {
        let mut config = ServerConfig::new("mem:");
        let least = config.connections_memory_min();
        for (memory, is_enough) in [(0, false), (least - 1, false), (least, true)] {
            config.connections_memory_max = memory;
            let checked = config.check(true);
            assert_eq!(checked.is_ok(), is_enough, "{memory}");
            if let Err(error) = checked {
                let text = error.to_string();
                assert!(text.contains(&least.to_string()) && text.lines().count() == 1, "{text}");
            }
        }
        (config.connections_max, config.connections_memory_max) = (usize::MAX, usize::MAX - 1);
        assert!(config.check(true).is_err());
    }

    #[test]
    fn strangers_are_let_in_only_on_purpose() {
        let mut config = ServerConfig::new("mem:");
        assert_eq!(config.check(false), Ok(()));
        config.listen = vec!["0.0.0.0:4420".parse().expect("an address")];
        assert!(config.check(false).is_err());
        assert_eq!(config.check(true), Ok(()));
        config.limits.memory_max = 1000;
        assert!(config.check(true).is_err());
    }
}
