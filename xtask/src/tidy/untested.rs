// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A library that says in its manifest that it has no unit tests, or no doc tests, has none: cargo would not run them.

use std::collections::BTreeMap;

use super::source::Source;
use crate::finding::Finding;
use crate::workspace::{Target, Workspace};

const RULE: &str = "untested";

/// The first file of each source folder that has such tests.
#[derive(Default)]
pub struct Untested {
    unit: BTreeMap<String, String>,
    doc: BTreeMap<String, String>,
}

impl Untested {
    /// Adds a file, if it is a source of a crate.
    pub fn add(&mut self, source: &Source) {
        let (Some(code), Some((folder, _))) = (&source.code, source.path.split_once("/src/")) else { return };
        let note = |all: &mut BTreeMap<String, String>| {
            all.entry(folder.to_owned()).or_insert_with(|| source.path.clone());
        };
        if code.contains("#[test]") || code.contains("proptest!") {
            note(&mut self.unit);
        }
        if source.text.lines().any(has_fence) {
            note(&mut self.doc);
        }
    }

    /// Tests that cargo does not run.
    pub fn check(&self, workspace: &Workspace) -> Vec<Finding> {
        let packages = workspace.metadata.packages.iter();
        let targets = packages.flat_map(|package| {
            let manifest = workspace.relative(&package.manifest_path);
            let folder = manifest.trim_end_matches("Cargo.toml").trim_end_matches('/').to_owned();
            package.targets.iter().map(move |target| (folder.clone(), target))
        });
        targets.flat_map(|(folder, target)| self.judge(&folder, target)).collect()
    }

    fn judge(&self, folder: &str, target: &Target) -> Vec<Finding> {
        if !target.kind.iter().any(|kind| kind == "lib") {
            return Vec::new();
        }
        let unit = self.unit.get(folder).filter(|_| !target.test).map(|file| (file, "test", "unit tests"));
        let doc = self.doc.get(folder).filter(|_| !target.doctest).map(|file| (file, "doctest", "doc tests"));
        let told = |(file, key, what): (&String, &str, &str)| {
            Finding::fail(
                RULE,
                file,
                format!("{folder}/Cargo.toml has `{key} = false`, so these {what} never run: remove it"),
            )
        };
        unit.into_iter().chain(doc).map(told).collect()
    }
}

/// Whether a line of documentation begins or ends a block of code.
fn has_fence(line: &str) -> bool {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
    text.is_some_and(|text| text.trim_start().starts_with("```"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, test: bool, doctest: bool) -> Vec<String> {
        let mut untested = Untested::default();
        untested.add(&Source::new("crates/a/src/lib.rs", text.into()));
        let (name, kind, src_path) = ("a".to_owned(), vec!["lib".to_owned()], "lib.rs".into());
        let findings = untested.judge("crates/a", &Target { name, kind, src_path, test, doctest });
        findings.into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn tests_that_cargo_does_not_look_for_are_found() {
        let (unit, doc) = ("#[test]\nfn f() {}", "/// ```\n/// f();\n/// ```\nfn f() {}");
        let both = format!("{unit}\n{doc}");
        assert_eq!(found(&both, true, true), [""; 0]);
        assert_eq!(found(&both, false, false), ["crates/a/src/lib.rs"; 2]);
        assert_eq!((found(unit, true, false), found(doc, false, true)), (Vec::new(), Vec::new()));
        assert_eq!(found("// #[test] and ``` in a comment", false, false), [""; 0]);
    }
}
