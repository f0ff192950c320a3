// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `unsafe` is written only where its invariants are looked after.

use super::config::{Config, within};
use super::source::Source;
use crate::finding::Finding;
use crate::rust::find_word;

/// Every `unsafe` outside the allowed folders.
pub fn check(source: &Source, config: &Config) -> Vec<Finding> {
    let Some(code) = &source.code else { return Vec::new() };
    if within(&source.path, &config.unsafe_code.allowed_in) {
        return Vec::new();
    }
    let places = find_word(code, "unsafe").map(|offset| source.place(code, offset));
    let message = format!("unsafe code belongs to {}", config.unsafe_code.allowed_in.join(", "));
    places.map(|place| Finding::fail("unsafe_code", place, message.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::config::tests::config;
    use super::*;

    fn places(path: &str, text: &str) -> Vec<String> {
        let findings = check(&Source::new(path, text.into()), &config());
        findings.into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn it_is_found_outside_its_folders() {
        let text = "#![forbid(unsafe_code)] // unsafe\nlet x = \"unsafe\";\nunsafe { f() }\n";
        assert_eq!(places("crates/pure/sim/src/a.rs", text), ["crates/pure/sim/src/a.rs:3"]);
        assert_eq!(places("crates/pure/link/src/a.rs", text), [""; 0]);
        assert_eq!(places("README.md", "unsafe"), [""; 0]);
    }
}
