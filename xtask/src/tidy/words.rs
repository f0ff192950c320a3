// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Banned words, each with its replacement.

use super::config::{Config, Scan, Words, within};
use super::source::Source;
use crate::finding::Finding;
use crate::rust::find_word;

/// Every banned word in a file.
pub fn check(source: &Source, config: &Config) -> Vec<Finding> {
    let concerned = config.words.iter().filter(|words| concerns(words, &source.path));
    concerned.flat_map(|words| matches(source, words)).collect()
}

fn concerns(words: &Words, path: &str) -> bool {
    (words.within.is_empty() || within(path, &words.within)) && !within(path, &words.except)
}

fn matches(source: &Source, words: &Words) -> Vec<Finding> {
    let text = match words.scan {
        Scan::Code => source.code.as_deref().unwrap_or_default(),
        Scan::Text => &source.text,
    };
    let found = |word| find_word(text, word).map(move |offset| (word, offset));
    let report = |(word, offset)| {
        Finding::fail("words", source.place(text, offset), format!("`{word}`: {}", words.instead))
    };
    words.banned.iter().map(String::as_str).flat_map(found).map(report).collect()
}

#[cfg(test)]
mod tests {
    use super::super::config::tests::config;
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let findings = check(&Source::new(path, text.into()), &config());
        findings.into_iter().map(|finding| format!("{} {}", finding.place, finding.message)).collect()
    }

    #[test]
    fn code_words_are_found_in_code_only() {
        let text = "\nbad!(); // bad!\nuse a::b;";
        assert_eq!(
            found("crates/x.rs", text),
            ["crates/x.rs:2 `bad!`: be good", "crates/x.rs:3 `a::b`: be good"]
        );
        assert_eq!(found("crates/x.md", "bad!"), [""; 0]);
    }

    #[test]
    fn paths_narrow_a_ban() {
        assert_eq!(found("other/x.rs", "bad!()"), [""; 0]);
        assert_eq!(found("crates/app/x.rs", "bad!()"), [""; 0]);
    }

    #[test]
    fn text_words_are_found_everywhere() {
        assert_eq!(found("x.md", "do it LATER"), ["x.md:1 `LATER`: now"]);
        assert_eq!(found("x.rs", "// LATER, TRANSLATERS"), ["x.rs:1 `LATER`: now"]);
    }
}
