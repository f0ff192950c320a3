// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The modules that a file names.

use std::collections::{BTreeMap, BTreeSet};

use crate::rust::{code_only, find_word, is_identifier, without_tests};

/// The top-level module that a file below `src` belongs to; none for the crate's root.
pub fn module_of(path: &str) -> Option<&str> {
    let first = path.split('/').next().unwrap_or(path);
    let name = first.strip_suffix(".rs").unwrap_or(first);
    // Programs in `bin` are crates of their own.
    (!matches!(name, "lib" | "main" | "bin")).then_some(name)
}

/// What the names at the root of a crate stand for.
pub struct Exports {
    /// A name to the module that it comes from; modules stand for themselves.
    names: BTreeMap<String, String>,
}

impl Exports {
    /// Of a crate with that root file and those modules.
    pub fn of(root: &str, modules: &BTreeSet<&str>) -> Self {
        let mut names: BTreeMap<String, String> =
            modules.iter().map(|name| ((*name).to_owned(), (*name).to_owned())).collect();
        let code = code_only(root);
        for at in find_word(&code, "use") {
            let tree = code[at + "use".len()..].split(';').next().unwrap_or_default();
            let tree = tree.trim().trim_start_matches("crate::").trim_start_matches("self::");
            let module = tree.split("::").next().unwrap_or_default().trim();
            if modules.contains(module) {
                names.extend(leaves(tree).into_iter().map(|leaf| (leaf, module.to_owned())));
            }
        }
        Self { names }
    }
}

/// The names that a use tree brings in: the last segments, or what they are renamed to.
fn leaves(tree: &str) -> Vec<String> {
    let parts = tree.split([',', '{', '}']).map(str::trim);
    let named = parts.map(|part| match part.rsplit_once(" as ") {
        Some((_, name)) => name.trim(),
        None => part.rsplit("::").next().unwrap_or_default().trim(),
    });
    named.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The top-level modules that a file names, its tests left out.
pub fn of(path: &str, text: &str, exports: &Exports) -> BTreeSet<String> {
    let code = without_tests(&code_only(text));
    let mut found = BTreeSet::new();
    for at in find_word(&code, "crate") {
        // `pub(crate)` is followed by a bracket, `$crate` by a path as well.
        if let Some(tree) = code[at + "crate".len()..].strip_prefix("::") {
            found.extend(heads(tree));
        }
    }
    // `super::` once for each module above this file leads to the root.
    let above = "super::".repeat(depth(path));
    for (at, _) in code.match_indices(&above) {
        let before = code[..at].chars().next_back();
        let is_longer = code[at + above.len()..].starts_with("super") || before == Some(':');
        if !is_longer && !before.is_some_and(is_identifier) {
            found.extend(heads(&code[at + above.len()..]));
        }
    }
    found.iter().filter_map(|name| exports.names.get(name)).cloned().collect()
}

/// Modules between a file and the root.
fn depth(path: &str) -> usize {
    let folders = path.matches('/').count();
    if path.ends_with("/mod.rs") { folders } else { folders + 1 }
}

/// The first segments of a path, or of each path of a group.
fn heads(tree: &str) -> Vec<String> {
    let Some(group) = tree.strip_prefix('{') else {
        let end = tree.find(|c| !is_identifier(c)).unwrap_or(tree.len());
        return vec![tree[..end].to_owned()];
    };
    let (mut depth, mut start, mut all) = (0, true, Vec::new());
    let mut rest = group;
    while let Some(c) = rest.chars().next() {
        let word = rest.find(|c| !is_identifier(c)).unwrap_or(rest.len());
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => start = true,
            _ if word > 0 && start => {
                all.push(rest[..word].to_owned());
                start = false;
            }
            _ => {}
        }
        rest = &rest[word.max(c.len_utf8())..];
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exports() -> Exports {
        let root = "pub mod a;\nmod b;\npub use b::{Bee, deep::Deep as Depth};\nuse other::X;";
        Exports::of(root, &["a", "b"].into())
    }

    fn found(path: &str, text: &str) -> Vec<String> {
        of(path, text, &exports()).into_iter().collect()
    }

    #[test]
    fn paths_and_groups_from_the_root_count() {
        assert_eq!(found("c.rs", "use crate::a::x; fn f() { crate::Bee::new() }"), ["a", "b"]);
        assert_eq!(found("c.rs", "use crate::{x::{a, b}, Depth};"), ["b"]);
        assert_eq!(found("c.rs", "use crate::{a::{self, y}, Other};"), ["a"]);
        assert_eq!(found("c.rs", "pub(crate) fn a() {} // crate::a"), [""; 0]);
        assert_eq!(found("c.rs", "use crate::X;"), [""; 0]);
    }

    #[test]
    fn paths_up_to_the_root_count() {
        assert_eq!(found("c.rs", "use super::a;"), ["a"]);
        assert_eq!(found("c/mod.rs", "use super::a;"), ["a"]);
        assert_eq!(found("c/d.rs", "use super::a;"), [""; 0]);
        assert_eq!(found("c/d.rs", "use super::super::{a, b};"), ["a", "b"]);
        assert_eq!(found("c/d/e.rs", "use super::super::a;"), [""; 0]);
    }

    #[test]
    fn modules_of_tests_are_left_out() {
        assert_eq!(found("c.rs", "#[cfg(test)]\nmod t { fn f() { crate::a::x() } }\nuse crate::b;"), ["b"]);
        assert_eq!(found("c.rs", "#[cfg(test)]\nmod t;\nuse crate::b;"), ["b"]);
    }

    #[test]
    fn modules_come_from_paths() {
        assert_eq!(["a.rs", "a/mod.rs", "a/b/c.rs"].map(module_of), [Some("a"); 3]);
        assert_eq!(["lib.rs", "main.rs", "bin/x.rs"].map(module_of), [None; 3]);
    }
}
