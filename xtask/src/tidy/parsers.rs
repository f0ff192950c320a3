// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Modules that read bytes from outside deny what panics on them.

use super::config::Config;
use super::source::Source;
use crate::finding::Finding;

const RULE: &str = "parsers";

/// The lints that a listed module does not deny for all of it.
pub fn check(source: &Source, config: &Config) -> Vec<Finding> {
    if !config.parsers.modules.contains(&source.path) {
        return Vec::new();
    }
    let denied = source.code.as_deref().map(denied).unwrap_or_default();
    let missing = config.parsers.lints.iter().filter(|lint| !denied.iter().any(|d| d == *lint));
    let fault = |lint| Finding::fail(RULE, &source.path, format!("it reads bytes from outside: deny {lint}"));
    missing.map(fault).collect()
}

/// Listed modules that there are not: a parser that moved takes its entry along.
pub fn check_list(paths: &[String], config: &Config) -> Vec<Finding> {
    let lost = config.parsers.modules.iter().filter(|module| !paths.contains(module));
    lost.map(|module| Finding::fail(RULE, module, "xtask/tidy.toml lists it, and it is not there")).collect()
}

/// What inner attributes at the top of a file deny, white space left out.
fn denied(code: &str) -> Vec<String> {
    let packed: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    let mut rest = packed.as_str();
    let mut all = Vec::new();
    while let Some(body) = rest.strip_prefix("#![") {
        let end = body.find(']').unwrap_or(body.len());
        let (inside, behind) = body.split_at(end);
        if let Some((_, lints)) = inside.split_once("deny(") {
            all.extend(lints.trim_end_matches(')').split(',').map(str::to_owned));
        }
        rest = behind.strip_prefix(']').unwrap_or_default();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::config::tests::config;
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let findings = check(&Source::new(path, text.into()), &config());
        findings.into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_parser_denies_every_lint_of_the_list() {
        let missing = ["it reads bytes from outside: deny a::b", "it reads bytes from outside: deny c::d"];
        assert_eq!(found("x/parse.rs", "fn f() {}"), missing);
        assert_eq!(found("x/parse.rs", "// #![deny(a::b, c::d)]\nfn f() {}"), missing);
        assert_eq!(found("x/parse.rs", "fn f() {}\n#![deny(a::b, c::d)]"), missing);
        assert_eq!(found("x/parse.rs", "//! P.\n#![deny(\n    a::b,\n)]\nfn f() {}"), missing[1..]);
        let all =
            "//! P.\n#![forbid(x)]\n#![cfg_attr(not(test), deny(a::b, c::d, reason = \"y\"))]\nfn f() {}";
        assert_eq!(found("x/parse.rs", all), [""; 0]);
        assert_eq!(found("x/other.rs", "fn f() {}"), [""; 0]);
    }

    #[test]
    fn a_parser_that_is_gone_is_named() {
        assert_eq!(check_list(&["x/other.rs".into()], &config()).len(), 1);
        assert_eq!(check_list(&["x/parse.rs".into()], &config()).len(), 0);
    }
}
