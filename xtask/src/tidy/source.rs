//! A text file as the rules see it.

use super::lexer;

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
        let code = path.ends_with(".rs").then(|| lexer::code_only(&text));
        Self { path: path.to_owned(), text, code }
    }

    /// `path:line` of a byte offset in the text or the code.
    pub fn place(&self, within: &str, offset: usize) -> String {
        let line = 1 + within[..offset].matches('\n').count();
        format!("{}:{line}", self.path)
    }
}

/// The offsets of a word that is no part of a longer identifier.
pub fn find_word<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part = |neighbour: Option<char>, own: Option<char>| {
        own.is_some_and(is_identifier) && neighbour.is_some_and(is_identifier)
    };
    text.match_indices(word).map(|(offset, _)| offset).filter(move |&offset| {
        let before = text[..offset].chars().next_back();
        let after = text[offset + word.len()..].chars().next();
        !part(before, word.chars().next()) && !part(after, word.chars().next_back())
    })
}

/// Whether a character can be inside an identifier.
pub fn is_identifier(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_where_identifiers_end() {
        let found = |text, word| find_word(text, word).collect::<Vec<_>>();
        assert_eq!(found("unsafe unsafe_code notunsafe unsafe{", "unsafe"), [0, 29]);
        assert_eq!(found("eprint!(); print!()", "print!"), [11]);
        assert_eq!(found("std::fs::x std::fsx", "std::fs"), [0]);
    }

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
