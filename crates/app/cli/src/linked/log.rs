// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The log of `saker serve`: who subscribes to what the libraries tell, and where the lines go.

use std::io::stderr;

use saker_tcp::{LogConfig, LogFormat};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::error::CliError;

/// Writes the log to standard error from now on, until the process ends. Where a process has a log already, as in tests of this
/// crate, that one stays.
///
/// # Errors
/// `Usage` for a filter that makes no sense.
pub fn begin(config: &LogConfig) -> Result<(), CliError> {
    let filter = filter(&config.filter)?;
    let lines = match config.format {
        LogFormat::Text => layer().with_writer(stderr).with_ansi(false).boxed(),
        LogFormat::Json => layer().json().flatten_event(true).with_writer(stderr).boxed(),
    };
    let _ = tracing_subscriber::registry().with(lines.with_filter(filter)).try_init();
    Ok(())
}

/// Whether the log can be begun as it is configured.
///
/// # Errors
/// `Usage` for a filter that makes no sense.
pub fn check(config: &LogConfig) -> Result<(), CliError> {
    filter(&config.filter).map(drop)
}

/// A level, or levels by module: `info`, `warn,saker_tcp=debug`.
fn filter(text: &str) -> Result<Targets, CliError> {
    // A word alone would be a module with all it tells.
    let is_said = |part: &str| part.contains('=') || part.trim().parse::<LevelFilter>().is_ok();
    let parsed = text.parse().ok().filter(|_| text.split(',').all(is_said));
    parsed.ok_or_else(|| {
        let what = format!("`{}` says no levels of a log", text.escape_default());
        CliError::usage(what, "write off, error, warn, info, debug or trace, or such as warn,saker_tcp=debug")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_words_and_others_are_refused_in_one_line() {
        for text in ["off", "info", "warn,saker_tcp=debug", "saker_image=error"] {
            assert!(filter(text).is_ok(), "{text}");
        }
        for text in ["loud", "saker_tcp=loud", "info;debug\n"] {
            let error = filter(text).expect_err(text).to_string();
            assert!(error.contains("warn") && error.lines().count() == 1, "{error}");
        }
    }
}
