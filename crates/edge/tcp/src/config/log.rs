// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the log of a server has. Who has the subscriber applies it; this crate only tells.

use std::time::Duration;

use serde::Deserialize;

/// What the log has, and how its lines look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// A level (`off`, `error`, `warn`, `info`, `debug`, `trace`), or levels by module, such as `warn,saker_tcp=debug`.
    pub filter: String,
    /// How lines look.
    pub format: LogFormat,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { filter: "info".into(), format: LogFormat::default() }
    }
}

/// How lines of the log look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// An object a line.
    Json,
}

/// A command is slow from here on, unless something else is said.
pub const SLOW_DEFAULT: Duration = Duration::from_secs(1);

/// The threshold for slow commands that so many milliseconds name: 0 is none.
#[must_use]
pub fn slow_after(ms: u64) -> Option<Duration> {
    (ms > 0).then(|| Duration::from_millis(ms))
}
