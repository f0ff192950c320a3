// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What can be wrong with a profile, each in one line that says where.

use thiserror::Error;

/// A profile that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProfileError {
    /// Not TOML, or not the keys and types of a profile.
    #[error("profile line {line} (`{excerpt}`): {message}")]
    Text {
        /// Line, from 1.
        line: usize,
        /// The beginning of that line.
        excerpt: String,
        /// What the reader says.
        message: String,
    },
    /// No built-in profile has that name.
    #[error("no profile named `{name}`: choose one of {known}, or give a file")]
    UnknownName {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A file of a profile that cannot be used.
    #[error("profile {path}: {reason}")]
    File {
        /// Its path.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// An override names no number of this profile.
    #[error("`{path}` is not a number of this profile: see `saker profile show`")]
    UnknownSetting {
        /// The path as given.
        path: String,
    },
    /// An override's text does not fit the number.
    #[error("`{path}` cannot be `{text}`: {reason}")]
    BadValue {
        /// The path as given.
        path: String,
        /// The text as given.
        text: String,
        /// What it should be.
        reason: String,
    },
    /// A number outside its range, or a source without its note.
    #[error("`{path}` {reason}")]
    Invalid {
        /// The path of the number.
        path: String,
        /// What it should be.
        reason: String,
    },
}

/// Longest piece of a bad line that is shown, in characters.
const EXCERPT_CHARS: usize = 60;

impl ProfileError {
    pub(super) fn from_toml(text: &str, error: &toml::de::Error) -> Self {
        let start = error.span().map_or(0, |s| s.start.min(text.len()));
        let before = &text.as_bytes()[..start];
        let line = 1 + before.iter().filter(|&&b| b == b'\n').count();
        let content = text.lines().nth(line - 1).unwrap_or("").trim();
        Self::Text {
            line,
            excerpt: content.chars().take(EXCERPT_CHARS).collect(),
            message: one_line(error.message()),
        }
    }

    pub(super) fn invalid(path: &str, reason: &str) -> Self {
        Self::Invalid { path: path.to_owned(), reason: reason.to_owned() }
    }
}

/// `text` with every run of white space as one space: an error is one line.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `Invalid` unless `good`.
pub(super) fn ensure(good: bool, path: &str, reason: &str) -> Result<(), ProfileError> {
    if good { Ok(()) } else { Err(ProfileError::invalid(path, reason)) }
}
