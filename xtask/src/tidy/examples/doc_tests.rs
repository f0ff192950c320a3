// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The doc tests of documentation.

/// The words behind a fence with which rustdoc still takes what follows for a test.
const OF_TESTS: [&str; 6] = ["", "rust", "no_run", "should_panic", "compile_fail", "standalone_crate"];

/// The doc tests in the documentation that a text has: of each the lines that readers see.
pub fn doc_tests(text: &str) -> Vec<String> {
    let (mut tests, mut open) = (Vec::new(), None::<(bool, String)>);
    for line in text.lines().filter_map(documentation) {
        match (line.trim().strip_prefix("```"), &mut open) {
            (Some(words), None) => {
                open = Some((words.split(',').all(|word| OF_TESTS.contains(&word)), String::new()));
            }
            (Some(_), Some(_)) => {
                tests.extend(open.take().filter(|(is_test, _)| *is_test).map(|(_, test)| test));
            }
            (None, Some((_, test))) if !is_hidden(line) => *test += &format!("{line}\n"),
            (None, _) => {}
        }
    }
    tests
}

/// A line of documentation.
fn documentation(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
}

fn is_hidden(line: &str) -> bool {
    let line = line.trim();
    line == "#" || line.starts_with("# ")
}

#[cfg(test)]
mod tests {
    use super::doc_tests;

    #[test]
    fn fences_that_are_tests_count() {
        assert_eq!(doc_tests("/// a\n/// ```\n/// b\n/// # c\n/// d\n/// ```\n/// e"), [" b\n d\n"]);
        assert_eq!(doc_tests("    //! ```no_run\n    //! b\n    //! ```"), [" b\n"]);
        for words in ["text", "ignore", "rust,ignore", "sh"] {
            assert_eq!(doc_tests(&format!("/// ```{words}\n/// b\n/// ```")), [""; 0]);
        }
        assert_eq!(doc_tests("// ```\n// b\n// ```\n/// ```\n/// never closed"), [""; 0]);
    }
}
