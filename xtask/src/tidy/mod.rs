// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Text rules over the tracked files, one rule per file.

mod attributes;
mod config;
mod conflicts;
mod crate_root;
mod doors;
mod examples;
mod functions;
mod lengths;
mod lock;
mod machine_paths;
mod parsers;
mod source;
mod unsafe_code;
mod untested;
mod words;

use std::fs;

use crate::Fault;
use crate::finding::Finding;
use crate::workspace::Workspace;
use config::Config;
use examples::Examples;
use functions::Sizes;
use source::Source;
use untested::Untested;

/// A rule reads one text file.
type Rule = fn(&Source, &Config) -> Vec<Finding>;

const RULES: [Rule; 10] = [
    attributes::check,
    conflicts::check,
    crate_root::check,
    doors::check,
    lengths::check,
    lock::check,
    machine_paths::check,
    parsers::check,
    unsafe_code::check,
    words::check,
];

/// Applies every rule to every tracked file.
///
/// # Errors
/// When the rules do not parse, git fails or a file cannot be read.
pub fn check(workspace: &Workspace) -> Result<Vec<Finding>, Fault> {
    let config = Config::load()?;
    let paths = workspace.tracked_files()?;
    let mut findings = parsers::check_list(&paths, &config);
    let mut across = Across::default();
    for path in paths {
        let bytes = fs::read(workspace.root.join(&path)).map_err(|error| format!("{path}: {error}"))?;
        findings.extend(judge(&path, bytes, &config, &mut across));
    }
    findings.extend(across.sizes.check(&config));
    findings.extend(across.examples.check(&config));
    findings.extend(across.untested.check(workspace));
    Ok(findings)
}

/// What rules over all files have seen.
#[derive(Default)]
struct Across {
    sizes: Sizes,
    examples: Examples,
    untested: Untested,
}

/// All findings on one file.
fn judge(path: &str, bytes: Vec<u8>, config: &Config, across: &mut Across) -> Vec<Finding> {
    match text(bytes) {
        Some(text) => {
            let source = Source::new(path, text);
            across.sizes.add(&source);
            across.examples.add(&source, config);
            across.untested.add(&source);
            RULES.iter().flat_map(|rule| rule(&source, config)).collect()
        }
        None if config::within(path, &config.binary.allowed) => Vec::new(),
        None => vec![Finding::fail("binary", path, "is a binary file: make it by code instead")],
    }
}

/// The file as text; none for a binary file.
fn text(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::config::tests::config;
    use super::*;

    fn rules(path: &str, bytes: &[u8]) -> Vec<&'static str> {
        judge(path, bytes.to_vec(), &config(), &mut Across::default())
            .iter()
            .map(|finding| finding.rule)
            .collect()
    }

    #[test]
    fn binary_files_need_an_exception() {
        assert_eq!(rules("a.bin", b"\0"), ["binary"]);
        assert_eq!(rules("a.bin", b"\xff\xfe"), ["binary"]);
        assert_eq!(rules("pictures/a.png", b"\0"), [""; 0]);
        assert_eq!(rules("a.txt", "caf\u{e9}".as_bytes()), [""; 0]);
    }

    #[test]
    fn every_rule_is_in_the_list() {
        let text = "unsafe {}\n#[inline]\npub fn f() {}\n#[allow(x)]\n/planted/x/\nlong long long line\n5\n6\nbad!()\n";
        let found = rules("crates/pure/a/src/lib.rs", text.as_bytes());
        let expected = [
            "attributes",
            "crate_root",
            "crate_root",
            "doors",
            "lengths",
            "lengths",
            "lengths",
            "machine_paths",
            "unsafe_code",
            "words",
        ];
        assert_eq!(found, expected);
        assert_eq!(rules("Cargo.lock", b"source = \"mirror\"\n"), ["lock"]);
    }
}
