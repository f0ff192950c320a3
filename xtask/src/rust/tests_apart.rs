// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests apart from what they test.

/// Whether a file has only tests in it.
pub fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs")
        || path.contains("/tests/")
        || path.starts_with("tests/")
        || path == "tests.rs"
}

/// The code without its modules of tests.
pub fn without_tests(code: &str) -> String {
    let mut kept = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find("#[cfg(test)]") {
        kept.push_str(&rest[..at]);
        rest = behind_item(&rest[at + "#[cfg(test)]".len()..]);
    }
    kept + rest
}

/// The text behind the item that begins it.
fn behind_item(text: &str) -> &str {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth <= 1 => return &text[at + 1..],
            '}' => depth -= 1,
            ';' if depth == 0 => return &text[at + 1..],
            _ => {}
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_and_items_of_tests_are_left_out() {
        assert_eq!(without_tests("a\n#[cfg(test)]\nmod t { fn f() { b } }\nc"), "a\n\nc");
        assert_eq!(without_tests("#[cfg(test)]\nmod t;\nc"), "\nc");
        assert_eq!(without_tests("#[cfg(test)]\nmod t {"), "");
    }

    #[test]
    fn files_of_tests_are_told_by_their_path() {
        assert!(["a/tests.rs", "a/tests/x.rs", "tests.rs"].iter().all(|path| is_test(path)));
        assert!(!is_test("a/test.rs") && !is_test("a/contests.rs"));
    }
}
