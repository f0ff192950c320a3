// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rust files and lines stay short.

use super::config::Config;
use super::source::Source;
use crate::finding::Finding;

const RULE: &str = "lengths";

/// Long Rust files and lines.
pub fn check(source: &Source, config: &Config) -> Vec<Finding> {
    if source.code.is_none() {
        return Vec::new();
    }
    file(source, config).into_iter().chain(lines(source, config)).collect()
}

fn file(source: &Source, config: &Config) -> Option<Finding> {
    let (warn, max) = (config.lengths.file_lines_warn, config.lengths.file_lines_max);
    // The licence on the first line is no part of what the file is about.
    let lines = source.text.lines().filter(|line| !line.starts_with("// SPDX-")).count();
    let message = |limit| format!("has {lines} lines of at most {limit}: one file, one concern");
    if lines > max {
        Some(Finding::fail(RULE, &source.path, message(max)))
    } else {
        (lines > warn).then(|| Finding::warn(RULE, &source.path, message(warn)))
    }
}

fn lines(source: &Source, config: &Config) -> Vec<Finding> {
    let max = config.lengths.line_columns_max;
    let long = source.text.lines().enumerate().filter(|(_, line)| line.chars().count() > max);
    long.map(|(index, _)| {
        Finding::fail(
            RULE,
            format!("{}:{}", source.path, index + 1),
            format!("line of more than {max} characters"),
        )
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::super::config::tests::config;
    use super::*;
    use crate::finding::Level;

    fn found(path: &str, text: &str) -> Vec<(Level, String)> {
        let findings = check(&Source::new(path, text.into()), &config());
        findings.into_iter().map(|finding| (finding.level, finding.place)).collect()
    }

    #[test]
    fn files_are_warned_about_and_then_refused() {
        assert_eq!(found("a.rs", &"x\n".repeat(4)), []);
        assert_eq!(found("a.rs", &"x\n".repeat(5)), [(Level::Warn, "a.rs".into())]);
        assert_eq!(found("a.rs", &"x\n".repeat(6)), [(Level::Warn, "a.rs".into())]);
        assert_eq!(found("a.rs", &"x\n".repeat(7)), [(Level::Fail, "a.rs".into())]);
        let licensed = ["// SPDX-\n", &"x\n".repeat(6)].concat();
        assert_eq!(found("a.rs", &licensed), [(Level::Warn, "a.rs".into())]);
    }

    #[test]
    fn lines_are_counted_in_characters() {
        assert_eq!(
            found("a.rs", "\n\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}"),
            []
        );
        assert_eq!(found("a.rs", "\n1234567890123"), [(Level::Fail, "a.rs:2".into())]);
    }

    #[test]
    fn other_files_are_free() {
        assert_eq!(found("a.md", "1234567890123"), []);
    }
}
