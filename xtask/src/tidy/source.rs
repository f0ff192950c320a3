// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A text file as the rules see it.

use crate::rust::code_only;

/// A text file; for Rust also its code without comments and literals.
pub struct Source {
    /// The path below the root, with `/`.
    pub path: String,
    /// The whole text.
    pub text: String,
    /// The code alone, line for line; none when the file is no Rust.
    pub code: Option<String>,
}

impl Source {
    /// Wraps a file's text.
    pub fn new(path: &str, text: String) -> Self {
        let code = path.ends_with(".rs").then(|| code_only(&text));
        Self { path: path.to_owned(), text, code }
    }

    /// `path:line` of a byte offset in the text or the code.
    pub fn place(&self, within: &str, offset: usize) -> String {
        let line = 1 + within[..offset].matches('\n').count();
        format!("{}:{line}", self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_from_one() {
        let source = Source::new("a.rs", "x\ny\nz".into());
        assert_eq!(source.place(&source.text, 0), "a.rs:1");
        assert_eq!(source.place(&source.text, 4), "a.rs:3");
    }

    #[test]
    fn only_rust_has_code() {
        assert_eq!(Source::new("a.md", "// x".into()).code, None);
        assert_eq!(Source::new("a.rs", "y// x".into()).code.as_deref(), Some("y"));
    }
}
