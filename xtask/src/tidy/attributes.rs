// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A lint is silenced only with a reason.

use super::config::Config;
use super::source::Source;
use crate::finding::Finding;

/// Every `allow` or `expect` attribute that names no reason.
pub fn check(source: &Source, _config: &Config) -> Vec<Finding> {
    let Some(code) = &source.code else { return Vec::new() };
    let unreasoned = attributes(code).filter(|(_, inside)| silences(inside) && !names_reason(inside));
    let message = "give a reason: #[expect(lint, reason = \"...\")]";
    unreasoned.map(|(offset, _)| Finding::fail("attributes", source.place(code, offset), message)).collect()
}

/// The attributes of a code: offset and what is between the brackets.
fn attributes(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.match_indices('#').filter_map(|(offset, _)| {
        let body = code[offset + 1..].trim_start_matches('!').strip_prefix('[')?;
        Some((offset, bracketed(body)))
    })
}

/// The text up to the bracket that closes the one just before it.
fn bracketed(body: &str) -> &str {
    let mut depth = 1;
    for (offset, c) in body.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &body[..offset];
        }
    }
    body
}

/// Whether an attribute silences a lint, directly or through `cfg_attr`.
fn silences(inside: &str) -> bool {
    let named = |name: &str| {
        let call = inside.trim_start().strip_prefix(name).map(str::trim_start);
        call.is_some_and(|rest| rest.starts_with('('))
    };
    let nested = ["allow(", "expect("].iter().any(|call| inside.contains(call));
    named("allow") || named("expect") || (named("cfg_attr") && nested)
}

fn names_reason(inside: &str) -> bool {
    inside.contains("reason =")
}

#[cfg(test)]
mod tests {
    use super::super::config::tests::config;
    use super::*;

    fn places(text: &str) -> Vec<String> {
        let findings = check(&Source::new("a.rs", text.into()), &config());
        findings.into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn bare_ones_are_found_in_every_form() {
        assert_eq!(places("\n#[allow(dead_code)]\n#![expect(x)]"), ["a.rs:2", "a.rs:3"]);
        assert_eq!(places("#[cfg_attr(test, allow(x))]"), ["a.rs:1"]);
        assert_eq!(places("#[allow(\n    x,\n)]\nfn reason() {}"), ["a.rs:1"]);
    }

    #[test]
    fn reasons_other_attributes_and_prose_pass() {
        assert_eq!(places("#[expect(x, reason = \"y\")]\n#[allow(x, reason = \"[\")]"), [""; 0]);
        assert_eq!(places("// #[allow(x)]\n#[derive(Debug)] fn allow() { o.expect(); a[0] }"), [""; 0]);
        assert_eq!(places("#[cfg_attr(test, derive(Debug))]\nfn f() { x.expect(\"\") }"), [""; 0]);
    }
}
