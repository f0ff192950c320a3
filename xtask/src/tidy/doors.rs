// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Functions that users call are compiled once, in their library: they are neither generic nor inlined, so that programs of users link fast.

use super::config::Config;
use super::source::Source;
use crate::finding::Finding;
use crate::rust::{find_word, is_identifier, without_tests};

const RULE: &str = "doors";

/// Public functions of a listed module that carry code into users' crates.
pub fn check(source: &Source, config: &Config) -> Vec<Finding> {
    if !config.doors.modules.contains(&source.path) {
        return Vec::new();
    }
    let code = without_tests(source.code.as_deref().unwrap_or_default());
    let doors = find_word(&code, "fn").filter_map(|at| Door::at(&code, at));
    let faults = doors.flat_map(|door| {
        let place = source.place(&code, door.at);
        door.faults().into_iter().map(move |fault| Finding::fail(RULE, place.clone(), fault))
    });
    faults.collect()
}

/// A public function.
struct Door<'c> {
    at: usize,
    name: &'c str,
    /// Its generics and arguments.
    signature: &'c str,
    is_inlined: bool,
}

impl<'c> Door<'c> {
    /// The public function whose `fn` is there.
    fn at(code: &'c str, at: usize) -> Option<Self> {
        let before = code[..at].trim_end();
        let before = before.strip_suffix("const").unwrap_or(before).trim_end();
        let attributes = before.strip_suffix("pub")?;
        let rest = code[at + "fn".len()..].trim_start();
        let name = &rest[..rest.find(|c| !is_identifier(c))?];
        let signature = &rest[name.len()..];
        let signature = &signature[..signature.find(['{', ';']).unwrap_or(signature.len())];
        let last = attributes.rfind(['}', ';', '{']).map_or(0, |at| at + 1);
        let is_inlined = attributes[last..].contains("#[inline");
        Some(Self { at, name, signature, is_inlined })
    }

    fn faults(&self) -> Vec<String> {
        let name = self.name;
        let mut faults = Vec::new();
        if has_types(self.signature) || find_word(self.arguments(), "impl").next().is_some() {
            faults.push(format!("`{name}` is generic: take `&dyn` or `&mut dyn`"));
        }
        if self.is_inlined {
            faults.push(format!("`{name}` is inlined: leave it in its library"));
        }
        faults
    }

    /// What stands before the result: an `impl Trait` there is compiled once.
    fn arguments(&self) -> &str {
        self.signature.rsplit_once("->").map_or(self.signature, |(arguments, _)| arguments)
    }
}

/// Whether generics have something other than lifetimes.
fn has_types(signature: &str) -> bool {
    let Some(rest) = signature.strip_prefix('<') else { return false };
    let end = rest.find('>').unwrap_or(rest.len());
    rest[..end].split(',').map(str::trim).any(|one| !one.is_empty() && !one.starts_with('\''))
}

#[cfg(test)]
mod tests {
    use super::super::config::tests::config;
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let findings = check(&Source::new("crates/pure/a/src/lib.rs", text.into()), &config());
        findings.into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn generic_and_inlined_doors_are_found() {
        let generic = "`f` is generic: take `&dyn` or `&mut dyn`";
        assert_eq!(found("pub fn f<T: X>(t: T) {}"), [generic]);
        assert_eq!(found("pub fn f<'a, T>(t: &'a T) {}"), [generic]);
        assert_eq!(found("pub fn f(t: impl Fn()) {}"), [generic]);
        assert_eq!(found("fn g() {}\n#[inline]\npub fn f() {}"), ["`f` is inlined: leave it in its library"]);
        assert_eq!(
            found("#[inline(always)]\npub const fn f() {}"),
            ["`f` is inlined: leave it in its library"]
        );
    }

    #[test]
    fn what_is_compiled_once_is_left_alone() {
        assert_eq!(found("pub fn f<'a>(t: &'a u8) -> impl Iterator<Item = u8> {}"), [""; 0]);
        assert_eq!(found("#[inline]\nfn g<T>(t: T) {}\npub fn f(t: &dyn X) {}"), [""; 0]);
        assert_eq!(found("pub(crate) fn f<T>(t: T) {}"), [""; 0]);
        let other = Source::new("crates/pure/b/src/lib.rs", "pub fn f<T>(t: T) {}".into());
        assert!(check(&other, &config()).is_empty());
    }
}
