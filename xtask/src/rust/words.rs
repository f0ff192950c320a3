// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Words in code.

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
}
