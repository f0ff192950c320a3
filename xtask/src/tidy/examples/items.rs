// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The items of a file, with their documentation.

use std::collections::BTreeSet;

use super::super::source::Source;
use super::doc_tests::doc_tests;
use crate::rust::is_identifier;

/// What may stand before the word that says what an item is.
const BEFORE: [&str; 7] = ["pub", "crate", "super", "in", "async", "unsafe", "const"];
/// What an item is.
const KINDS: [&str; 7] = ["fn", "struct", "enum", "union", "trait", "type", "static"];

/// A public item.
pub struct Item {
    /// `path:line`.
    pub place: String,
    /// The type whose function it is.
    pub owner: Option<String>,
    /// Its name.
    pub name: String,
    /// The doc tests of its documentation.
    pub tests: Vec<String>,
    is_type: bool,
}

impl Item {
    /// `name`, or `Owner::name`.
    pub fn path(&self) -> String {
        self.owner.as_ref().map_or_else(|| self.name.clone(), |owner| format!("{owner}::{}", self.name))
    }
}

/// Items of a file.
#[derive(Default)]
pub struct Items {
    /// Those that are `pub`.
    pub public: Vec<Item>,
    /// Names of others.
    pub hidden: BTreeSet<String>,
}

impl Items {
    /// Names of public types.
    pub fn types(&self) -> impl Iterator<Item = &str> {
        self.public.iter().filter(|item| item.is_type).map(|item| item.name.as_str())
    }
}

/// The items outside of any block, and functions of types.
pub fn of(source: &Source) -> Items {
    let (mut items, mut depth, mut owner) = (Items::default(), 0_usize, None);
    let text: Vec<_> = source.text.lines().collect();
    for (n, line) in source.code.as_deref().unwrap_or_default().lines().enumerate() {
        if depth == 0 && line.starts_with("impl") {
            owner = implemented(line);
        }
        let is_listed = depth == 0 || depth == 1 && owner.is_some();
        if let Some(found) = Declared::of(line.trim_start()).filter(|_| is_listed) {
            let name = found.name.to_owned();
            if found.is_public {
                let (place, tests) = (format!("{}:{}", source.path, n + 1), doc_tests(&above(&text, n)));
                items.public.push(Item { place, owner: owner.clone(), name, tests, is_type: found.is_type });
            } else if depth == 0 {
                items.hidden.insert(name);
            }
        }
        depth = (depth + line.matches('{').count()).saturating_sub(line.matches('}').count());
        if depth == 0 && line.contains('}') {
            owner = None;
        }
    }
    items
}

/// The type of an `impl` that is of no trait.
fn implemented(line: &str) -> Option<String> {
    let rest = line.strip_prefix("impl")?;
    let rest = if rest.starts_with('<') { behind_generics(rest) } else { rest }.trim_start();
    let name: String = rest.chars().take_while(|c| is_identifier(*c)).collect();
    (!name.is_empty() && !rest.contains(" for ")).then_some(name)
}

fn behind_generics(text: &str) -> &str {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if depth == 1 => return &text[at + 1..],
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    text
}

/// The documentation and attributes above a line.
fn above(text: &[&str], line: usize) -> String {
    let is_above = |at: &usize| {
        let line = text[*at].trim();
        // The lines of an attribute that has several end in a comma or a bracket.
        line.starts_with("///") || line.starts_with("#[") || line.ends_with(',') || line == ")]"
    };
    let first = (0..line).rev().take_while(is_above).last().unwrap_or(line);
    text[first..line].join("\n")
}

/// The item that a line declares.
struct Declared<'l> {
    is_public: bool,
    is_type: bool,
    name: &'l str,
}

impl<'l> Declared<'l> {
    fn of(line: &'l str) -> Option<Self> {
        let mut words = line.split(|c| !is_identifier(c)).filter(|word| !word.is_empty());
        let mut last = "";
        let word = words.find(|word| {
            let passes = BEFORE.contains(word);
            if passes {
                last = word;
            }
            !passes
        })?;
        let is_public = line.starts_with("pub ");
        let is_kind = KINDS.contains(&word);
        let name = if is_kind { words.next()? } else { word };
        let is_type = ["struct", "enum", "union", "trait", "type"].contains(&word);
        (is_kind || last == "const").then_some(Self { is_public, is_type, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(line: &str) -> Option<(bool, &str)> {
        Declared::of(line).map(|found| (found.is_public, found.name))
    }

    #[test]
    fn items_are_told_from_other_lines() {
        assert_eq!(declared("pub const fn f<T>() {}"), Some((true, "f")));
        assert_eq!(declared("pub const N: u8 = 1;"), Some((true, "N")));
        assert_eq!(
            declared("pub(in crate::x) struct S;"),
            None,
            "a path there has a word that is none of ours"
        );
        assert_eq!(declared("pub(crate) unsafe fn f() {}"), Some((false, "f")));
        assert_eq!(declared("enum E {"), Some((false, "E")));
        for other in ["let x = 1;", "pub use a::b;", "pub mod m;", "pub field: u8,", "}", "f(const { 1 })"] {
            assert_eq!(declared(other), None, "{other}");
        }
    }

    #[test]
    fn types_are_found_behind_generics() {
        assert_eq!(implemented("impl<T: X<Y>> A<T> {").as_deref(), Some("A"));
        assert_eq!(implemented("impl A {").as_deref(), Some("A"));
        assert_eq!(implemented("impl<T> X for A<T> {"), None);
    }

    #[test]
    fn attributes_may_stand_between() {
        let text = "/// a\n/// b\n#[derive(\n    X,\n    Y,\n)]\npub struct S;".lines().collect::<Vec<_>>();
        assert!(above(&text, 6).starts_with("/// a"));
        assert_eq!(above(&["x", "/// a", "#[b]", "f"], 3), "/// a\n#[b]");
        assert_eq!(above(&["}", "f"], 1), "");
    }
}
