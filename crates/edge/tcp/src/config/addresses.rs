// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether each address has one use, and strangers reach it only on purpose.

use std::net::SocketAddr;

use super::{ConfigError, ServerConfig};

impl ServerConfig {
    /// Other addresses than this machine's own need `hosts_stated`.
    pub(super) fn check_addresses(&self, hosts_stated: bool) -> Result<(), ConfigError> {
        self.check_uses()?;
        match self.listen.iter().find(|address| !address.ip().is_loopback()) {
            Some(address) if !hosts_stated => {
                let what = format!("{address} can be reached by other machines");
                let todo = "say who may connect with --allow-host NQN, or write --allow-any-host";
                Err(self.at("listen", ConfigError::new(what, todo)))
            }
            _ => Ok(()),
        }
    }

    fn check_uses(&self) -> Result<(), ConfigError> {
        let mut seen: Vec<SocketAddr> = Vec::new();
        let mut is_new = |address: SocketAddr| {
            // Port 0 is another one each time.
            let is_new = address.port() == 0 || !seen.contains(&address);
            seen.push(address);
            is_new
        };
        let twice = |address| ConfigError::new(format!("{address} has another use"), "write another port");
        if let Some(address) = self.listen.iter().find(|address| !is_new(**address)) {
            return Err(self.at("listen", twice(*address)));
        }
        if let Some(address) = self.metrics.filter(|address| !is_new(*address)) {
            return Err(self.at("metrics", twice(address)));
        }
        for (served, redis) in
            self.subsystems.iter().filter_map(|served| Some((served, served.redis.as_ref()?)))
        {
            if !is_new(redis.listen) {
                return Err(twice(redis.listen).of(&served.place()));
            }
        }
        Ok(())
    }
}
