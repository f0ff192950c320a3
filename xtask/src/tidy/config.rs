// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The settings of the text rules.

use serde::Deserialize;

use crate::Fault;

const SETTINGS: &str = include_str!("../../tidy.toml");

/// Everything `tidy.toml` says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// How long Rust may be.
    pub lengths: Lengths,
    /// Where `unsafe` may be.
    pub unsafe_code: UnsafeCode,
    /// Folders of machines.
    pub machine_paths: MachinePaths,
    /// What the lock file may name.
    pub lock: Lock,
    /// Modules that read bytes from outside.
    pub parsers: Parsers,
    /// What users call.
    pub doors: Doors,
    /// Whose items have examples.
    pub examples: Examples,
    /// Exceptions for binary files.
    pub binary: Binary,
    /// Banned words.
    pub words: Vec<Words>,
}

/// Limits on Rust files.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lengths {
    /// Lines from which on a file is warned about.
    pub file_lines_warn: usize,
    /// Most lines of a file.
    pub file_lines_max: usize,
    /// Most characters of a line.
    pub line_columns_max: usize,
    /// Lines that nine of ten functions of crates do not exceed.
    pub function_lines_p90: usize,
    /// Lines that nine of ten source files of crates do not exceed, without their tests.
    pub file_lines_p90: usize,
}

/// Prefixes of paths that may, and that must not, use `unsafe`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnsafeCode {
    /// Where it may be written.
    pub allowed_in: Vec<String>,
    /// Where crate roots forbid it, unless allowed.
    pub forbid_in: Vec<String>,
}

/// Top folders of machines.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachinePaths {
    /// Their names, without slashes.
    pub folders: Vec<String>,
}

/// Origins of dependencies.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// Allowed values of `source` in Cargo.lock.
    pub sources: Vec<String>,
}

/// Modules that read bytes from outside, and what they deny.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parsers {
    /// Lints that each of them denies by an inner attribute.
    pub lints: Vec<String>,
    /// Their paths.
    pub modules: Vec<String>,
}

/// Modules whose functions users call.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Doors {
    /// Their paths.
    pub modules: Vec<String>,
}

/// The crate that users depend on, and what of it needs no example.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Examples {
    /// Its folder.
    pub package: String,
    /// What needs none.
    pub except: Vec<Exception>,
}

/// An item without an example.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// `name`, or `Type::name`.
    pub item: String,
    /// Why it has none.
    pub reason: String,
}

/// Exceptions for binary files.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binary {
    /// Prefixes of allowed paths.
    pub allowed: Vec<String>,
}

/// What of a file is searched for a word.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Scan {
    /// Rust files, without comments and literals.
    Code,
    /// Every text file, whole.
    Text,
}

/// Words with one replacement.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Words {
    /// The words; each matches between characters that are no part of an identifier.
    pub banned: Vec<String>,
    /// What to do instead.
    pub instead: String,
    /// What is searched.
    pub scan: Scan,
    /// Prefixes of the paths concerned; none means all.
    #[serde(default)]
    pub within: Vec<String>,
    /// Prefixes of exceptions.
    #[serde(default)]
    pub except: Vec<String>,
}

impl Config {
    /// The project's settings.
    ///
    /// # Errors
    /// When they do not parse.
    pub fn load() -> Result<Self, Fault> {
        toml::from_str(SETTINGS).map_err(|fault| format!("xtask/tidy.toml: {fault}").into())
    }
}

/// Whether a path starts with one of the prefixes; one that starts with `*` may be found anywhere.
pub fn within(path: &str, prefixes: &[String]) -> bool {
    prefixes.iter().any(|prefix| match prefix.strip_prefix('*') {
        Some(part) => path.contains(part),
        None => path.starts_with(prefix.as_str()),
    })
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Small settings for the tests of the rules.
    pub fn config() -> Config {
        toml::from_str(
            r#"
            lengths = { file_lines_warn = 4, file_lines_max = 6, line_columns_max = 12, function_lines_p90 = 3, file_lines_p90 = 5 }
            unsafe_code = { allowed_in = ["crates/pure/link/"], forbid_in = ["crates/pure/"] }
            machine_paths = { folders = ["planted"] }
            lock = { sources = ["registry"] }
            parsers = { lints = ["a::b", "c::d"], modules = ["x/parse.rs"] }
            doors = { modules = ["crates/pure/a/src/lib.rs"] }
            examples = { package = "crates/edge/door", except = [{ item = "excepted", reason = "so" }] }
            binary = { allowed = ["pictures/"] }
            [[words]]
            banned = ["bad!", "a::b"]
            instead = "be good"
            scan = "code"
            within = ["crates/"]
            except = ["crates/app/"]
            [[words]]
            banned = ["LATER"]
            instead = "now"
            scan = "text"
            "#,
        )
        .unwrap()
    }

    #[test]
    fn a_star_finds_a_part_anywhere() {
        let prefixes = ["a/".to_owned(), "*/benches/".to_owned()];
        assert!(within("a/x.rs", &prefixes) && within("c/d/benches/x.rs", &prefixes));
        assert!(!within("b/a/x.rs", &prefixes) && !within("benches.rs", &prefixes));
    }

    #[test]
    fn the_projects_settings_parse_and_only_get_stricter_upwards() {
        let lengths = Config::load().unwrap().lengths;
        assert!(lengths.file_lines_warn < lengths.file_lines_max);
    }
}
