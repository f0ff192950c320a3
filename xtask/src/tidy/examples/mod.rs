// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whatever users of a crate can name has an example that is a doc test, and that shows its use: it has the item's name in it.
//!
//! What the crate passes on from others has its example there, or in a doc test of the crate itself. Fields, variants and modules
//! need none.

mod doc_tests;
mod exports;
mod items;

use std::collections::{BTreeMap, BTreeSet};

use super::config::{Config, Exception};
use super::source::Source;
use crate::finding::Finding;
use crate::rust::{find_word, is_test};
use doc_tests::doc_tests;
use exports::Export;
use items::{Item, Items};

const RULE: &str = "examples";

/// What was found in the sources of crates.
#[derive(Default)]
pub struct Examples {
    /// Sources of the crate that users depend on.
    files: Vec<Items>,
    /// What it passes on from other crates, with its place.
    exports: Vec<(String, Export)>,
    /// Its doc tests.
    tests: Vec<String>,
    /// Items of other crates that have an example: the crate's folder and the item.
    others: BTreeSet<(String, String)>,
}

impl Examples {
    /// Adds a file, if it is a source of a crate.
    pub fn add(&mut self, source: &Source, config: &Config) {
        if source.code.is_none() || is_test(&source.path) {
            return;
        }
        let Some((folder, _)) = source.path.split_once("/src/") else { return };
        if folder == config.examples.package {
            self.tests.extend(doc_tests(&source.text));
            self.exports.extend(exports::of(source));
            self.files.push(items::of(source));
        } else if let Some((_, name)) = folder.rsplit_once('/') {
            let shown = items::of(source).public.into_iter().filter(is_shown);
            self.others.extend(shown.map(|item| (name.to_owned(), item.name)));
        }
    }

    /// What has no example, and exceptions that nothing needs.
    pub fn check(&self, config: &Config) -> Vec<Finding> {
        let missing = self.missing();
        let except = &config.examples.except;
        let is_excepted = |name: &str| except.iter().any(|one| one.item == name);
        let faults = missing.iter().filter(|(name, _)| !is_excepted(name)).map(|(name, place)| {
            let what = format!("no doc test shows `{name}`: add one to its documentation");
            Finding::fail(RULE, place.clone(), what)
        });
        faults.chain(except.iter().filter_map(|one| idle(one, &missing))).collect()
    }

    /// Items without an example and where they are.
    fn missing(&self) -> BTreeMap<String, String> {
        let public: BTreeSet<&str> = self.files.iter().flat_map(Items::types).collect();
        let own = self.files.iter().flat_map(|file| {
            let of_users = |item: &&Item| {
                let owner = item.owner.as_deref();
                owner.is_none_or(|owner| public.contains(owner) && !file.hidden.contains(owner))
            };
            file.public.iter().filter(of_users).filter(|item| !is_shown(item))
        });
        let own = own.map(|item| (item.path(), item.place.clone()));
        let passed_on = self.exports.iter().filter(|(_, export)| !self.is_passed_on_shown(export));
        own.chain(passed_on.map(|(place, export)| (export.name.clone(), place.clone()))).collect()
    }

    fn is_passed_on_shown(&self, export: &Export) -> bool {
        // A test that takes it from where it comes from shows nothing of the way through this crate.
        let mut tests = self.tests.iter().filter(|test| !test.contains(&export.krate));
        tests.any(|test| find_word(test, &export.name).next().is_some())
            || self.others.contains(&(export.folder.clone(), export.original.clone()))
    }
}

/// Whether one of its doc tests has its name.
fn is_shown(item: &Item) -> bool {
    item.tests.iter().any(|test| find_word(test, &item.name).next().is_some())
}

/// An exception without a reason, or of something that needs none.
fn idle(one: &Exception, missing: &BTreeMap<String, String>) -> Option<Finding> {
    let item = &one.item;
    let what = if !missing.contains_key(item) {
        format!("`{item}` needs no exception: take it out")
    } else if one.reason.trim().is_empty() {
        format!("the exception for `{item}` has no reason")
    } else {
        return None;
    };
    Some(Finding::fail(RULE, "xtask/tidy.toml", what))
}

#[cfg(test)]
mod tests {
    use super::super::config::tests::config;
    use super::*;

    const SHOWN: &str = "/// Text.\n///\n/// ```\n/// a::f();\n/// ```\n";

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let (mut examples, config) = (Examples::default(), config());
        for (path, text) in files {
            examples.add(&Source::new(path, (*text).into()), &config);
        }
        examples.check(&config).into_iter().map(|finding| finding.message).collect()
    }

    /// With what the exception of the settings stands for.
    fn found_in(text: &str) -> Vec<String> {
        found(&[("crates/edge/door/src/x.rs", text), ("crates/edge/door/src/y.rs", "pub fn excepted() {}")])
    }

    fn lacks(name: &str) -> String {
        format!("no doc test shows `{name}`: add one to its documentation")
    }

    #[test]
    fn an_item_has_an_example_with_its_name() {
        assert_eq!(found_in("/// Text.\npub fn f() {}"), [lacks("f")]);
        assert_eq!(found_in(&format!("{SHOWN}pub fn f() {{}}")), [""; 0]);
        assert_eq!(found_in(&format!("{SHOWN}#[must_use]\npub const fn f() {{}}")), [""; 0]);
        assert_eq!(found_in(&format!("{SHOWN}pub fn g() {{}}")), [lacks("g")]);
        for word in ["struct", "enum", "trait", "type", "const", "static"] {
            assert_eq!(found_in(&format!("pub {word} F;")), [lacks("F")]);
        }
    }

    #[test]
    fn methods_of_public_types_have_one_wherever_they_are_written() {
        let files = [
            ("crates/edge/door/src/a.rs", "/// ```\n/// A\n/// ```\npub struct A { x: u8 }"),
            (
                "crates/edge/door/src/a/b.rs",
                "impl<'a> A<'a> {\n    pub fn f() {\n        1;\n    }\n}\nimpl B for A {}",
            ),
            ("crates/edge/door/src/c.rs", "struct A;\nimpl A {\n    pub fn hidden() {}\n}"),
            (
                "crates/edge/door/src/d.rs",
                "pub(crate) struct D;\nimpl D {\n    pub fn hidden() {}\n}\npub(crate) fn g() {}",
            ),
            ("crates/edge/door/src/tests.rs", "pub fn in_tests() {}"),
            ("crates/edge/door/src/y.rs", "pub fn excepted() {}"),
        ];
        assert_eq!(found(&files), [lacks("A::f")]);
    }

    #[test]
    fn what_is_passed_on_is_shown_here_or_there() {
        let passing = "pub use saker_the_part::x::{A, B as C};\npub use crate::y::D;\nuse saker_the_part::E;\npub fn excepted() {}";
        let door = ("crates/edge/door/src/lib.rs", passing);
        assert_eq!(found(&[door]), [lacks("A"), lacks("C")]);
        let there = format!("{}pub struct A;", SHOWN.replace("a::f", "A::f"));
        let here = "//! ```\n//! use door::C;\n//! ```\n";
        let there = ("crates/pure/the-part/src/x.rs", &there[..]);
        assert_eq!(found(&[door, there]), [lacks("C")]);
        assert_eq!(found(&[door, there, ("crates/edge/door/src/c.rs", here)]), [""; 0]);
        let around = here.replace("door::C", "saker_the_part::B as C");
        assert_eq!(found(&[door, there, ("crates/edge/door/src/c.rs", &around)]), [lacks("C")]);
    }

    #[test]
    fn exceptions_have_a_reason_and_a_need() {
        assert_eq!(found(&[]), ["`excepted` needs no exception: take it out"]);
        let missing = BTreeMap::from([("f".to_owned(), String::new())]);
        let without = Exception { item: "f".into(), reason: " ".into() };
        let told = idle(&without, &missing).map(|finding| finding.message);
        assert_eq!(told.as_deref(), Some("the exception for `f` has no reason"));
    }
}
