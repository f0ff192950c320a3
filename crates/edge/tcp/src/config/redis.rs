//! How a namespace is served to Redis clients.

use std::net::SocketAddr;
use std::path::PathBuf;

use saker_redis::Settings;
use serde::Deserialize;

use super::ConfigError;

/// A namespace for Redis clients.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedisConfig {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Which namespace; without it, the first of pairs.
    pub nsid: Option<u32>,
    /// A file whose first line clients have to know.
    pub password_file: Option<PathBuf>,
    /// Connections at most.
    pub clients_max: Option<usize>,
    /// Bytes that all of them may hold together.
    pub memory_max: Option<usize>,
}

/// As Redis has it.
const CLIENTS_MAX: usize = 10_000;
/// Two of the longest commands and their answers fit many times.
const MEMORY_MAX: usize = 256 << 20;
/// The longest command, with the memory that its growth takes, and an answer.
const MEMORY_MIN: usize = 16 << 20;

impl RedisConfig {
    /// With everything else as it is without a file.
    #[must_use]
    pub const fn new(listen: SocketAddr) -> Self {
        Self { listen, nsid: None, password_file: None, clients_max: None, memory_max: None }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.clients_max == Some(0) {
            return Err(ConfigError::new("redis: clients_max is 0", "let at least one in"));
        }
        if let Some(memory) = self.memory_max.filter(|memory| *memory < MEMORY_MIN) {
            let what = format!("redis: memory_max is {memory}");
            return Err(ConfigError::new(what, format!("one client needs {MEMORY_MIN}")));
        }
        if self.password_file.is_none() && !self.listen.ip().is_loopback() {
            let what = format!("redis: {} can be reached by other machines", self.listen);
            return Err(ConfigError::new(what, "set a password with --resp-password-file FILE"));
        }
        Ok(())
    }

    /// With the password that the file has.
    pub(crate) fn settings(&self) -> Result<Settings, ConfigError> {
        Ok(Settings {
            password: self.password()?,
            clients_max: self.clients_max.unwrap_or(CLIENTS_MAX),
            memory_max: self.memory_max.unwrap_or(MEMORY_MAX),
        })
    }

    fn password(&self) -> Result<Option<Vec<u8>>, ConfigError> {
        let Some(path) = &self.password_file else { return Ok(None) };
        let text = std::fs::read(path).map_err(|error| {
            let what = format!("the password file {} cannot be read: {error}", path.display());
            ConfigError::new(what, "name another with --resp-password-file")
        })?;
        let line = text.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
        if line.is_empty() {
            let what = format!("the password file {} begins with an empty line", path.display());
            return Err(ConfigError::new(what, "write the password in its first line"));
        }
        Ok(Some(line.to_vec()))
    }
}
