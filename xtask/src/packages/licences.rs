// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every tracked file has a licence by REUSE.toml, and every licence its text.

use std::fs;

use serde::Deserialize;

use crate::Fault;
use crate::finding::Finding;
use crate::workspace::Workspace;

/// The texts of licences, where they are.
const TEXTS: [(&str, &str); 4] = [
    ("Apache-2.0", "LICENSE-APACHE"),
    ("MIT", "LICENSE-MIT"),
    ("LicenseRef-Unicode", "data/UnicodeData.LICENSE.txt"),
    ("CC-BY-4.0", "crates/pure/workload/data/LICENSE.md"),
];

/// REUSE.toml.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reuse {
    version: u32,
    annotations: Vec<Annotation>,
}

impl Reuse {
    /// Reads it.
    ///
    /// # Errors
    /// When it is missing or makes no sense.
    pub fn load(workspace: &Workspace) -> Result<Self, Fault> {
        Ok(toml::from_str(&fs::read_to_string(workspace.root.join("REUSE.toml"))?)?)
    }

    /// The licence of a file: the last annotation that names it counts.
    pub fn licence_of(&self, path: &str) -> Option<&str> {
        let named = self.annotations.iter().rev().find(|one| matches(&one.path, path));
        named.map(|one| one.licence.as_str())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Annotation {
    path: String,
    #[serde(rename = "SPDX-FileCopyrightText")]
    copyright: String,
    #[serde(rename = "SPDX-License-Identifier")]
    licence: String,
}

/// Files without a licence, licences without a text, annotations of nothing.
pub fn check(workspace: &Workspace) -> Result<Vec<Finding>, Fault> {
    Ok(judge(&Reuse::load(workspace)?, &workspace.tracked_files()?))
}

fn judge(reuse: &Reuse, files: &[String]) -> Vec<Finding> {
    let fail = |place: &str, what: String| Finding::fail("licences", place, what);
    let mut findings = Vec::new();
    if reuse.version != 1 {
        findings.push(fail("REUSE.toml", format!("version {} is not known", reuse.version)));
    }
    for annotation in &reuse.annotations {
        let path = &annotation.path;
        if !files.iter().any(|file| matches(path, file)) {
            findings.push(fail("REUSE.toml", format!("`{path}` names no file")));
        }
        if annotation.copyright.is_empty() {
            findings.push(fail("REUSE.toml", format!("`{path}` says not whose it is")));
        }
        let ids = annotation.licence.split(' ').filter(|word| !["OR", "AND", "WITH"].contains(word));
        let without = ids.filter(|id| !has_text(id, files));
        findings.extend(without.map(|id| fail("REUSE.toml", format!("the text of {id} is not here"))));
    }
    let is_named = |file: &&String| reuse.annotations.iter().any(|one| matches(&one.path, file));
    let bare = files.iter().filter(|file| !is_named(file));
    findings.extend(bare.map(|file| fail(file, "has no licence in REUSE.toml".into())));
    findings
}

fn has_text(id: &str, files: &[String]) -> bool {
    TEXTS.iter().any(|(known, text)| *known == id.trim_matches(['(', ')']) && files.iter().any(|f| f == text))
}

/// `*` is anything in a folder, `**` anything at all.
fn matches(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == path,
        Some((head, rest)) => {
            let Some(path) = path.strip_prefix(head) else { return false };
            let (rest, is_deep) = rest.strip_prefix('*').map_or((rest, false), |rest| (rest, true));
            let ends = path.char_indices().map(|(at, _)| at).chain([path.len()]);
            ends.filter(|end| is_deep || !path[..*end].contains('/')).any(|end| matches(rest, &path[end..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn said(path: &str, licence: &str, names: &[&str]) -> Vec<String> {
        let annotation =
            Annotation { path: path.into(), copyright: "2026 X".into(), licence: licence.into() };
        let reuse = Reuse { version: 1, annotations: vec![annotation] };
        judge(&reuse, &files(names)).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn files_licences_and_annotations_belong_together() {
        let all = ["LICENSE-MIT", "LICENSE-APACHE", "a/b.rs"];
        assert_eq!(said("**", "Apache-2.0 OR MIT", &all), [""; 0]);
        assert_eq!(said("a/*", "MIT", &all).len(), 2, "two files have none");
        assert_eq!(said("**", "GPL-3.0-only", &all), ["the text of GPL-3.0-only is not here"]);
        assert_eq!(said("**", "MIT", &["a"]), ["the text of MIT is not here"]);
        assert!(said("none/**", "MIT", &all)[0].contains("names no file"));
    }

    #[test]
    fn the_last_annotation_that_names_a_file_counts() {
        let one = |path: &str, licence: &str| Annotation {
            path: path.into(),
            copyright: "2026 X".into(),
            licence: licence.into(),
        };
        let reuse = Reuse { version: 1, annotations: vec![one("**", "MIT"), one("data/*", "CC-BY-4.0")] };
        assert_eq!((reuse.licence_of("data/x"), reuse.licence_of("x")), (Some("CC-BY-4.0"), Some("MIT")));
    }

    #[test]
    fn stars_end_at_folders_and_two_do_not() {
        for (pattern, path, expected) in [
            ("**", "a/b", true),
            ("a/*", "a/b", true),
            ("a/*", "a/b/c", false),
            ("a/**", "a/b/c", true),
            ("a.*", "a.txt", true),
            ("a.*", "b.txt", false),
            ("*.md", "x.md", true),
            ("*.md", "d/x.md", false),
            ("a", "a", true),
            ("a", "ab", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }
}
