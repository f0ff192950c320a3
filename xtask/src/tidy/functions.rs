// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Functions and files stay as short as they are: the length that nine of ten do not exceed.

use super::config::Config;
use super::source::Source;
use crate::finding::Finding;
use crate::rust::{find_word, without_tests};

const RULE: &str = "functions";

/// Lengths of the sources of crates, in lines, tests left out.
#[derive(Default)]
pub struct Sizes {
    functions: Vec<usize>,
    files: Vec<usize>,
}

impl Sizes {
    /// Adds a file, if it is a source of a crate.
    pub fn add(&mut self, source: &Source) {
        let is_source = source.path.starts_with("crates/") && source.path.contains("/src/");
        let Some(code) = source.code.as_ref().filter(|_| is_source) else { return };
        if crate::rust::is_test(&source.path) {
            return;
        }
        let code = without_tests(code);
        self.files.push(code.trim_end().lines().count());
        self.functions.extend(functions(&code));
    }

    /// What has grown beyond `xtask/tidy.toml`, and what has shrunk so that the limit there can come down.
    pub fn check(&mut self, config: &Config) -> Vec<Finding> {
        let limits = &config.lengths;
        let functions = judge("functions", p90(&mut self.functions), limits.function_lines_p90);
        functions.into_iter().chain(judge("files", p90(&mut self.files), limits.file_lines_p90)).collect()
    }
}

fn judge(what: &str, is: usize, most: usize) -> Option<Finding> {
    let told = format!("nine of ten {what} have up to {is} lines, and {most} is the limit");
    match is {
        _ if is > most => Some(Finding::fail(RULE, "crates", format!("{told}: shorten some"))),
        _ if is < most => Some(Finding::warn(RULE, "xtask/tidy.toml", format!("{told}: lower it"))),
        _ => None,
    }
}

/// The length that nine of ten do not exceed.
fn p90(lengths: &mut [usize]) -> usize {
    lengths.sort_unstable();
    lengths.get((lengths.len() * 9).div_ceil(10).saturating_sub(1)).copied().unwrap_or(0)
}

/// Lines of each function with a body, from its name to its end.
fn functions(code: &str) -> Vec<usize> {
    let length = |at: usize| {
        let text = &code[at..];
        let mut depth = 0_usize;
        for (end, c) in text.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth <= 1 => return Some(1 + text[..end].matches('\n').count()),
                '}' => depth -= 1,
                ';' if depth == 0 && !is_array(&text[..end]) => return None,
                _ => {}
            }
        }
        None
    };
    let is_named =
        |at: &usize| code[at + 2..].trim_start().starts_with(|c: char| c.is_alphabetic() || c == '_');
    find_word(code, "fn").filter(is_named).filter_map(length).collect()
}

/// Whether a bracket is open: `[u8; 4]` ends no signature.
fn is_array(text: &str) -> bool {
    text.matches('[').count() > text.matches(']').count()
}

#[cfg(test)]
mod tests {
    use super::super::config::tests::config;
    use super::*;

    #[test]
    fn functions_are_counted_from_their_name_to_their_end() {
        let code = "fn a() {}\nfn b(x: [u8; 2]) -> u8 {\n    if y { z }\n}\ntrait T { fn c(); fn d() {\n} }\nlet f: fn(u8);";
        assert_eq!(functions(code), [1, 3, 2]);
    }

    #[test]
    fn tests_and_other_files_do_not_count() {
        let mut sizes = Sizes::default();
        let text = "fn a() {\n}\n#[cfg(test)]\nmod tests {\n    fn b() {\n\n\n\n    }\n}\n";
        for path in
            ["crates/a/b/src/x.rs", "crates/a/b/src/x/tests.rs", "xtask/src/x.rs", "crates/a/b/tests/x.rs"]
        {
            sizes.add(&Source::new(path, text.into()));
        }
        assert_eq!((sizes.functions, sizes.files), (vec![2], vec![2]));
    }

    #[test]
    fn both_ways_off_the_limit_are_told() {
        let found = |functions: usize, files: usize| {
            let mut sizes = Sizes { functions: vec![functions], files: vec![files] };
            sizes.check(&config()).len()
        };
        assert_eq!([found(3, 5), found(4, 5), found(2, 5), found(4, 6)], [0, 1, 1, 2]);
    }

    #[test]
    fn nine_of_ten_do_not_exceed_it() {
        assert_eq!(p90(&mut (1..=10).collect::<Vec<_>>()), 9);
        assert_eq!(p90(&mut (1..=11).rev().collect::<Vec<_>>()), 10);
        assert_eq!(p90(&mut []), 0);
    }
}
