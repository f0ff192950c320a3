// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The configuration file.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use saker_target::Hosts;
use serde::Deserialize;
use toml::Spanned;
use toml::de::DeTable;

use super::{ConfigError, HostRules, LogFormat, Served, ServerConfig, slow_after};

impl ServerConfig {
    /// Reads a configuration file. What it does not name has its default; `hosts_stated` of the result tells whether it
    /// says who may connect.
    ///
    /// # Errors
    /// [`ConfigError`] names the place.
    pub fn parse(text: &str) -> Result<(Self, bool), ConfigError> {
        let file: File = toml::from_str(text).map_err(|error| {
            let what = error.message().to_owned();
            let line = error.span().map_or(0, |span| line_of(text, span.start));
            ConfigError::new(
                format!("configuration, line {line}: {what}"),
                "see docs/target.md for the settings",
            )
        })?;
        let lines = lines_of_settings(text);
        let named = file.host.iter().map(|host| host.get_ref().nqn.clone());
        let allowed: Vec<String> = file.allow_hosts.into_iter().chain(named).collect();
        let (mut config, stated) = (Self::empty(), file.allow_any_host || !allowed.is_empty());
        config.listen = file.listen;
        config.subsystems = file.subsystem.into_iter().map(|served| served_at(text, served)).collect();
        config.lines = lines;
        if file.tls {
            let error = ConfigError::new("tls = true", "leave it out: this build has no TLS");
            return Err(config.at("tls", error));
        }
        if !file.allow_any_host && !allowed.is_empty() {
            config.hosts = Hosts::Named(allowed);
        }
        config.all_hosts = file.all_hosts.map(|rules| placed(text, rules)).unwrap_or_default();
        config.host_rules = file.host.into_iter().map(|rules| placed(text, rules)).collect();
        set(&mut config.connections_max, file.connections_max);
        set(&mut config.handshakes_max, file.handshakes_max);
        set(&mut config.connections_memory_max, file.connections_memory_max);
        set(&mut config.limits.memory_max, file.connection_memory_max);
        set(&mut config.busy_poll, file.busy_poll);
        config.metrics = file.metrics;
        set(&mut config.slow, file.slow_ms.map(slow_after));
        set(&mut config.log.filter, file.log);
        set(&mut config.log.format, file.log_format);
        set(&mut config.authentication_timeout, file.authentication_timeout_s.map(Duration::from_secs));
        Ok((config, stated))
    }
}

/// Lines count from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

fn placed(text: &str, rules: Spanned<HostRules>) -> HostRules {
    let line = line_of(text, rules.span().start);
    HostRules { line, ..rules.into_inner() }
}

fn served_at(text: &str, served: Spanned<Served>) -> Served {
    let line = line_of(text, served.span().start);
    Served { line, ..served.into_inner() }
}

/// Where the settings at the top of a file that can be read are.
fn lines_of_settings(text: &str) -> BTreeMap<String, usize> {
    let Ok(table) = DeTable::parse(text) else { return BTreeMap::new() };
    let of = |key: &Spanned<_>| line_of(text, key.span().start);
    table.get_ref().iter().map(|(key, _)| (key.get_ref().to_string(), of(key))).collect()
}

fn set<T>(value: &mut T, stated: Option<T>) {
    if let Some(stated) = stated {
        *value = stated;
    }
}

/// The file as written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    listen: Vec<SocketAddr>,
    allow_hosts: Vec<String>,
    allow_any_host: bool,
    connections_max: Option<usize>,
    handshakes_max: Option<usize>,
    connections_memory_max: Option<usize>,
    connection_memory_max: Option<usize>,
    busy_poll: Option<bool>,
    metrics: Option<SocketAddr>,
    slow_ms: Option<u64>,
    log: Option<String>,
    log_format: Option<LogFormat>,
    authentication_timeout_s: Option<u64>,
    /// The place of TLS: refused by name until it is there.
    tls: bool,
    all_hosts: Option<Spanned<HostRules>>,
    host: Vec<Spanned<HostRules>>,
    subsystem: Vec<Spanned<Served>>,
}
