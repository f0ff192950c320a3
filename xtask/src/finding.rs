// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a rule reports.

use std::fmt;

/// Whether a finding fails the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Printed only: the ratchet will come down to here.
    Warn,
    /// Fails the run.
    Fail,
}

/// One broken rule at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether it fails the run.
    pub level: Level,
    /// The rule's short name.
    pub rule: &'static str,
    /// Where: `path:line`, a path, or a crate.
    pub place: String,
    /// What is wrong and what to do instead.
    pub message: String,
}

impl Finding {
    /// A finding that fails the run.
    pub fn fail(rule: &'static str, place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { level: Level::Fail, rule, place: place.into(), message: message.into() }
    }

    /// A finding that is only printed.
    pub fn warn(rule: &'static str, place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { level: Level::Warn, ..Self::fail(rule, place, message) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = if self.level == Level::Fail { "error" } else { "warning" };
        write!(f, "{level}: {}: [{}] {}", self.place, self.rule, self.message)
    }
}

/// The findings that fail the run, one line each.
pub fn failures(findings: &[Finding]) -> Vec<String> {
    findings.iter().filter(|finding| finding.level == Level::Fail).map(Finding::to_string).collect()
}

/// Prints all findings; true when none fails the run.
pub fn report(findings: &[Finding]) -> bool {
    findings.iter().for_each(|finding| println!("{finding}"));
    failures(findings).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_printed_but_does_not_fail() {
        let warning = Finding::warn("length", "a.rs", "long");
        assert!(report(std::slice::from_ref(&warning)));
        assert_eq!(warning.to_string(), "warning: a.rs: [length] long");
    }

    #[test]
    fn a_failure_fails_and_is_listed() {
        let findings = [Finding::warn("length", "a.rs", "long"), Finding::fail("paths", "b.rs:3", "no")];
        assert!(!report(&findings));
        assert_eq!(failures(&findings), ["error: b.rs:3: [paths] no"]);
    }
}
