// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Everything that can go wrong, each as one line: what happened, then what to do.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a command did not do what it was asked.
#[derive(Debug, Error)]
pub enum CliError {
    /// The command line asks for something that makes no sense.
    #[error("{what}; {todo}")]
    Usage {
        /// What is wrong with it.
        what: String,
        /// What to write instead.
        todo: String,
    },
    /// The device, or the work itself, failed.
    #[error("{what}; {todo}")]
    Failed {
        /// What happened.
        what: String,
        /// What to do about it.
        todo: String,
    },
    /// A file of the user's could not be used.
    #[error("cannot {action} `{}`: {source}; {}", path.display(), advice(source))]
    File {
        /// `open`, `read`, `write`, `create`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Standard output cannot be written. A broken pipe is the reader's wish to stop, no error.
    #[error("cannot write standard output: {0}; check where it goes")]
    Output(io::Error),
}

impl CliError {
    /// Exit code of a command line that makes no sense.
    pub const USAGE_CODE: u8 = 2;
    /// Exit code of work that failed.
    pub const FAILED_CODE: u8 = 1;

    /// A command line that makes no sense: what is wrong, what to write instead.
    pub fn usage(what: impl Into<String>, todo: impl Into<String>) -> Self {
        Self::Usage { what: what.into(), todo: todo.into() }
    }

    /// Work that failed: what happened, what to do.
    pub fn failed(what: impl Into<String>, todo: impl Into<String>) -> Self {
        Self::Failed { what: what.into(), todo: todo.into() }
    }

    /// A file that could not be used, for `map_err`.
    pub fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { action, path: path.to_owned(), source }
    }

    /// The process's exit code.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Usage { .. } => Self::USAGE_CODE,
            _ => Self::FAILED_CODE,
        }
    }

    /// Whether nobody reads standard output any more.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(e) if e.kind() == io::ErrorKind::BrokenPipe)
    }
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "check the path",
        io::ErrorKind::PermissionDenied => "check its permissions",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room",
        io::ErrorKind::IsADirectory => "name a file",
        _ => "see the file system",
    }
}

/// `text` on one line without control characters: an error is one line, whatever a device or a file says.
pub fn one_line(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_without_control_characters() {
        assert_eq!(one_line("a\n\tb\x1b[31m  c\r\n"), "a b [31m c");
    }

    #[test]
    fn files_say_what_was_tried_and_what_to_check() {
        let error = CliError::file("open", Path::new("no/such"))(io::ErrorKind::NotFound.into());
        assert_eq!(error.to_string(), "cannot open `no/such`: entity not found; check the path");
        assert_eq!(error.exit_code(), 1);
    }

    #[test]
    fn only_standard_output_can_be_a_broken_pipe() {
        assert!(CliError::Output(io::ErrorKind::BrokenPipe.into()).is_broken_pipe());
        assert!(!CliError::Output(io::ErrorKind::StorageFull.into()).is_broken_pipe());
        let file = CliError::file("write", Path::new("f"))(io::ErrorKind::BrokenPipe.into());
        assert!(!file.is_broken_pipe());
    }
}
