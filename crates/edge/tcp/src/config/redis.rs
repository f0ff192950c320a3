// SPDX-License-Identifier: Apache-2.0 OR MIT
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

#[cfg(test)]
mod tests {
    use super::super::ServerConfig;
    use super::*;

    fn redis(address: &str) -> RedisConfig {
        RedisConfig::new(address.parse().expect("an address"))
    }

    #[test]
    fn the_file_of_the_documentation_is_sound() {
        let text = include_str!("../../../../../docs/redis.md");
        let example = text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
        let (config, stated) = ServerConfig::parse(example.expect("there is one")).expect("sound");
        assert_eq!(config.check(stated), Ok(()));
        let redis = config.subsystems[0].redis.as_ref().expect("it is about that");
        assert_eq!(redis.listen.port(), 6379);
        assert!(text.contains("connections at most, 10,000") && text.contains("together, 256 MiB"));
        assert_eq!((CLIENTS_MAX, MEMORY_MAX), (10_000, 256 << 20));
    }

    #[test]
    fn other_machines_need_a_password() {
        assert_eq!(redis("127.0.0.1:6379").check(), Ok(()));
        assert!(
            redis("0.0.0.0:6379")
                .check()
                .is_err_and(|error| error.to_string().contains("--resp-password-file"))
        );
        let known = RedisConfig { password_file: Some("file".into()), ..redis("0.0.0.0:6379") };
        assert_eq!(known.check(), Ok(()));
        assert!(known.settings().is_err(), "there is no such file");
    }

    #[test]
    fn limits_that_serve_nobody_are_refused() {
        let none = RedisConfig { clients_max: Some(0), ..redis("127.0.0.1:1") };
        let little = RedisConfig { memory_max: Some(MEMORY_MIN - 1), ..redis("127.0.0.1:1") };
        assert!(none.check().is_err() && little.check().is_err());
    }

    #[test]
    fn a_password_is_the_first_line() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("password");
        let password = |text: &str| {
            std::fs::write(&path, text).expect("written");
            RedisConfig { password_file: Some(path.clone()), ..redis("127.0.0.1:1") }
                .settings()
                .map(|s| s.password)
        };
        assert_eq!(password("open sesame\r\nmore"), Ok(Some(b"open sesame".to_vec())));
        assert_eq!(password("x"), Ok(Some(b"x".to_vec())));
        assert!(password("\nx").is_err() && password("").is_err());
    }
}
