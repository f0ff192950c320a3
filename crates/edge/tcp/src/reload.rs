// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What of the configuration can change while a server runs: hosts, what they have to prove, their secrets, and limits.

use crate::config::{ConfigError, Served, ServerConfig};
use crate::connection::messages::Request;
use crate::server::Server;

impl Server {
    /// Goes by another configuration from now on, and reads the files with secrets again. Connections stay, but for those of hosts
    /// that may not connect any more, or that would have to authenticate and have not. The names of settings that differ and that
    /// only a new start changes.
    ///
    /// # Errors
    /// [`ConfigError`]; then everything stays as it was.
    pub fn reload(&self, config: &ServerConfig) -> Result<Vec<&'static str>, ConfigError> {
        let policies = config.policies()?;
        config.check_rates()?;
        // Those that are PCIe functions are not of this server.
        let ours = self.shared.config.subsystems.iter().filter(|served| served.vfio_user.is_none());
        for (nqn, now) in self.names().iter().zip(ours) {
            let then = config.subsystems.iter().find(|then| then.is_same(now)).unwrap_or(now);
            let Some(subsystem) = self.shared.subsystem(nqn) else { continue };
            let hosts = Request::Hosts(config.hosts.clone(), policies.clone(), then.namespace_rates());
            // A subsystem that is gone has no hosts.
            let _ = subsystem.send(hosts);
        }
        Ok(fixed(&self.shared.config, config))
    }
}

/// Whether the same devices are served; limits of their namespaces may differ.
fn are_same(now: &[Served], then: &[Served]) -> bool {
    now.len() == then.len() && now.iter().zip(then).all(|(now, then)| now.is_same(then))
}

/// Settings that differ and that a running server keeps.
fn fixed(now: &ServerConfig, then: &ServerConfig) -> Vec<&'static str> {
    let differ = [
        ("listen", now.listen != then.listen),
        ("subsystem", !are_same(&now.subsystems, &then.subsystems)),
        ("connections_max", now.connections_max != then.connections_max),
        ("connections_memory_max", now.connections_memory_max != then.connections_memory_max),
        ("connection_memory_max", now.limits != then.limits),
        ("handshakes_max", now.handshakes_max != then.handshakes_max),
        ("authentication_timeout_s", now.authentication_timeout != then.authentication_timeout),
        ("busy_poll", now.busy_poll != then.busy_poll),
        ("metrics", now.metrics != then.metrics),
        ("slow_ms", now.slow != then.slow),
        ("log", now.log != then.log),
    ];
    differ.into_iter().filter_map(|(name, differs)| differs.then_some(name)).collect()
}
