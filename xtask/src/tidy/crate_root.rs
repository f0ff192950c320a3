// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every crate says what it is for, and the pure ones forbid `unsafe`.

use super::config::{Config, within};
use super::source::Source;
use crate::finding::Finding;

const RULE: &str = "crate_root";

/// What is missing in the root file of a crate.
pub fn check(source: &Source, config: &Config) -> Vec<Finding> {
    if !is_root(&source.path) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if !has_docs(&source.text) {
        findings.push(Finding::fail(RULE, &source.path, "say what the crate is for in a //! comment"));
    }
    if must_forbid(&source.path, config) && !forbids_unsafe(source) {
        findings.push(Finding::fail(RULE, &source.path, "add #![forbid(unsafe_code)]"));
    }
    findings
}

/// Whether cargo takes the file for the root of a library or a program.
fn is_root(path: &str) -> bool {
    let root = |name: &str| path.ends_with(name) && path[..path.len() - name.len()].ends_with('/');
    let program = path
        .rsplit_once('/')
        .is_some_and(|(folder, name)| folder.ends_with("src/bin") && name.ends_with(".rs"));
    root("src/lib.rs") || root("src/main.rs") || program
}

fn has_docs(text: &str) -> bool {
    text.lines().any(|line| line.strip_prefix("//!").is_some_and(|words| !words.trim().is_empty()))
}

fn must_forbid(path: &str, config: &Config) -> bool {
    within(path, &config.unsafe_code.forbid_in) && !within(path, &config.unsafe_code.allowed_in)
}

fn forbids_unsafe(source: &Source) -> bool {
    source.code.as_ref().is_some_and(|code| code.contains("#![forbid(unsafe_code)]"))
}

#[cfg(test)]
mod tests {
    use super::super::config::tests::config;
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let findings = check(&Source::new(path, text.into()), &config());
        findings.into_iter().map(|finding| finding.message).collect()
    }

    const DOCS: &str = "say what the crate is for in a //! comment";
    const FORBID: &str = "add #![forbid(unsafe_code)]";

    #[test]
    fn roots_need_docs() {
        for path in ["crates/edge/a/src/lib.rs", "xtask/src/main.rs", "crates/app/a/src/bin/b.rs"] {
            assert_eq!(found(path, "fn main() {}"), [DOCS]);
            assert_eq!(found(path, "//!\nfn main() {}"), [DOCS]);
            assert_eq!(found(path, "//! A.\nfn main() {}"), [""; 0]);
        }
        assert_eq!(found("crates/edge/a/src/b.rs", "fn main() {}"), [""; 0]);
        assert_eq!(found("crates/edge/a/src/xlib.rs", "fn main() {}"), [""; 0]);
    }

    #[test]
    fn pure_roots_forbid_unsafe_but_for_the_link() {
        assert_eq!(found("crates/pure/a/src/lib.rs", "//! A.\n// #![forbid(unsafe_code)]"), [FORBID]);
        assert_eq!(found("crates/pure/a/src/lib.rs", "//! A.\n#![forbid(unsafe_code)]"), [""; 0]);
        assert_eq!(found("crates/pure/link/src/lib.rs", "//! A."), [""; 0]);
    }
}
