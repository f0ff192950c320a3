// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rust without its comments and literals, so that a rule does not trip over prose.

use super::is_identifier;

/// The code of a Rust text: comments and the insides of literals are dropped, line breaks stay.
pub fn code_only(text: &str) -> String {
    let mut scanner = Scanner { rest: text, code: String::with_capacity(text.len()) };
    while let Some(next) = scanner.rest.chars().next() {
        scanner.step(next);
    }
    scanner.code
}

struct Scanner<'a> {
    rest: &'a str,
    code: String,
}

impl<'a> Scanner<'a> {
    fn step(&mut self, next: char) {
        if self.rest.starts_with("//") {
            self.drop(self.rest.find('\n').unwrap_or(self.rest.len()));
        } else if self.rest.starts_with("/*") {
            self.drop(block_comment_len(self.rest));
        } else if let Some(length) = raw_string_len(self.rest) {
            self.drop(length);
        } else if next == '"' || (next == '\'' && is_char_literal(self.rest)) {
            self.drop(quoted_len(self.rest, next));
        } else {
            // A whole identifier at once: the `r` that ends a word starts no raw string.
            let word = self.rest.find(|c| !is_identifier(c)).unwrap_or(self.rest.len());
            self.keep(word.max(next.len_utf8()));
        }
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    fn keep(&mut self, bytes: usize) {
        let taken = self.take(bytes);
        self.code.push_str(taken);
    }

    fn drop(&mut self, bytes: usize) {
        let taken = self.take(bytes);
        self.code.extend(taken.chars().filter(|&c| c == '\n'));
    }
}

/// Bytes of the (nested) block comment at the start; to the end of the text when it is never closed.
fn block_comment_len(text: &str) -> usize {
    let mut depth = 0;
    let mut offset = 0;
    while let Some(found) = text[offset..].find(['/', '*']) {
        let at = &text[offset + found..];
        let (change, length) = match () {
            () if at.starts_with("/*") => (1, 2),
            () if at.starts_with("*/") => (-1, 2),
            () => (0, 1),
        };
        depth += change;
        offset += found + length;
        if depth == 0 {
            return offset;
        }
    }
    text.len()
}

/// Bytes of the raw string (`r"`, `br#"`, `cr##"`, ...) at the start, if there is one.
fn raw_string_len(text: &str) -> Option<usize> {
    let body = text.strip_prefix(['b', 'c']).unwrap_or(text).strip_prefix('r')?;
    let hashes = body.len() - body.trim_start_matches('#').len();
    let inside = body[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = inside.find(&close).map_or(inside.len(), |offset| offset + close.len());
    Some(text.len() - inside.len() + end)
}

/// Bytes of the string or character literal at the start, escapes respected.
fn quoted_len(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (offset, c) in text.char_indices().skip(1) {
        if !escaped && c == quote {
            return offset + 1;
        }
        escaped = !escaped && c == '\\';
    }
    text.len()
}

/// Whether the quote at the start opens a character and no lifetime.
fn is_char_literal(text: &str) -> bool {
    let mut chars = text.chars().skip(1);
    chars.next() == Some('\\') || chars.next() == Some('\'')
}

#[cfg(test)]
mod tests {
    use super::code_only;

    #[test]
    fn comments_go_and_line_breaks_stay() {
        assert_eq!(code_only("a // x\nb /* y\n/* z */ */ c /**/ d"), "a \nb \n c  d");
    }

    #[test]
    fn literals_go() {
        assert_eq!(code_only(r#"f("a \" // b", 'c', '\'', b'"', "x")"#), "f(, , , b, )");
        assert_eq!(code_only("g(r\"\\\", br#\"a\"b\"#, c)"), "g(, , c)");
        assert_eq!(code_only("\"two\nlines\" d"), "\n d");
    }

    #[test]
    fn lifetimes_raw_identifiers_and_words_that_end_in_r_stay() {
        assert_eq!(code_only("for<'a> &'a r#type 'b: loop"), "for<'a> &'a r#type 'b: loop");
        assert_eq!(code_only("bar\"x\" y"), "bar y");
    }

    #[test]
    fn unclosed_ends_are_no_panic() {
        for text in ["/* a", "\"a", "r#\"a", "'\\", "'", "/*/", "b\"\\"] {
            assert!(code_only(text).len() <= 1, "{text}");
        }
    }
}
