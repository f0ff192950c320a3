// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The forms of a file of records.

use std::path::Path;

use clap::ValueEnum;
use serde::Serialize;

use crate::error::CliError;
use crate::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};

/// How records stand in a file, one a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Key, tab, value; `\t \n \r \\ \0 \xNN` stand for bytes that cannot be written
    Tsv,
    /// {"key": "...", "value": "..."}; "key_base64" and "value_base64" for what is not UTF-8
    Jsonl,
    /// Key, semicolon, value with the rest of the line, as in UnicodeData.txt; escapes as in tsv
    Semicolon,
}

impl Format {
    /// The format that the name of a file tells; `-` is TSV.
    ///
    /// # Errors
    /// `Usage` when the name tells nothing.
    pub fn of(path: &Path) -> Result<Self, CliError> {
        if is_stream(path) {
            return Ok(Self::Tsv);
        }
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
        match extension.as_str() {
            "tsv" | "tab" => Ok(Self::Tsv),
            "jsonl" | "ndjson" => Ok(Self::Jsonl),
            "txt" => Ok(Self::Semicolon),
            _ => Err(unknown(path)),
        }
    }

    /// The byte between key and value, where there is one.
    pub const fn separator(self) -> Option<u8> {
        match self {
            Self::Tsv => Some(b'\t'),
            Self::Semicolon => Some(b';'),
            Self::Jsonl => None,
        }
    }

    /// The longest line that can be a record.
    pub const fn line_bytes_max(self) -> usize {
        let record = KEY_BYTES_MAX + VALUE_BYTES_MAX;
        match self {
            // `\xNN` for each byte, and the separator.
            Self::Tsv | Self::Semicolon => 4 * record + 1,
            // `\u00NN` for each byte, and room for names and spaces.
            Self::Jsonl => 6 * record + 4096,
        }
    }
}

/// Whether `path` stands for standard input or output.
pub fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn unknown(path: &Path) -> CliError {
    CliError::usage(
        format!("cannot tell the format of `{}` from its name", path.display()),
        "add --format tsv, jsonl or semicolon",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_tell_the_format() {
        let of = |name: &str| Format::of(Path::new(name)).ok();
        assert_eq!(of("a/b.tsv"), Some(Format::Tsv));
        assert_eq!(of("b.JSONL"), Some(Format::Jsonl));
        assert_eq!(of("b.ndjson"), Some(Format::Jsonl));
        assert_eq!(of("UnicodeData.txt"), Some(Format::Semicolon));
        assert_eq!(of("-"), Some(Format::Tsv));
        assert_eq!(of("tsv"), None);
        assert_eq!(of("b.csv"), None);
    }
}
