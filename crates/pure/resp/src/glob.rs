// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Patterns: `*`, `?`, `[abc]`, `[a-c]`, `[^a]`, and `\` before a byte that is meant as it is.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

/// Whether a text fits a pattern. Takes time in proportion to the product of their lengths at most.
#[must_use]
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut pattern, mut text) = (pattern, text);
    // Behind the last star, and what it has not covered.
    let mut star: Option<(&[u8], &[u8])> = None;
    loop {
        if let Some(rest) = pattern.strip_prefix(b"*") {
            (pattern, star) = (rest, Some((rest, text)));
            continue;
        }
        let fits = match text.split_first() {
            None if pattern.is_empty() => return true,
            None => None,
            Some((byte, behind)) => one(pattern, *byte).map(|rest| (rest, behind)),
        };
        if let Some(rest) = fits {
            (pattern, text) = rest;
            continue;
        }
        // The last star takes one byte more.
        let Some((behind_star, [_, shorter @ ..])) = star else { return false };
        (pattern, text, star) = (behind_star, shorter, Some((behind_star, shorter)));
    }
}

/// The rest of the pattern if what it begins with fits the byte.
fn one(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    match pattern {
        [] => None,
        [b'?', rest @ ..] => Some(rest),
        [b'[', rest @ ..] => class(rest, byte),
        [b'\\', meant, rest @ ..] => (*meant == byte).then_some(rest),
        [meant, rest @ ..] => (*meant == byte).then_some(rest),
    }
}

/// Behind `[`. One that does not end has everything to the pattern's end in it.
fn class(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    let (is_negated, mut rest) = match pattern.strip_prefix(b"^") {
        Some(rest) => (true, rest),
        None => (false, pattern),
    };
    let mut is_in = false;
    loop {
        rest = match rest {
            [] => break,
            [b']', behind @ ..] => {
                rest = behind;
                break;
            }
            [b'\\', meant, behind @ ..] => {
                is_in |= *meant == byte;
                behind
            }
            [from, b'-', to, behind @ ..] => {
                is_in |= (*from.min(to)..=*from.max(to)).contains(&byte);
                behind
            }
            [meant, behind @ ..] => {
                is_in |= *meant == byte;
                behind
            }
        };
    }
    (is_in != is_negated).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_what_they_say() {
        let fitting = [
            ("*", ""),
            ("*", "anything"),
            ("h?llo", "hello"),
            ("h*llo", "heeeello"),
            ("h[ae]llo", "hallo"),
            ("h[^e]llo", "hallo"),
            ("h[a-c]llo", "hbllo"),
            ("h[c-a]llo", "hbllo"),
            ("user:*:name", "user:7:name"),
            ("*a*b*c", "xxaxxbxxc"),
            ("\\*", "*"),
            ("[\\]]", "]"),
            ("[abc", "b"),
            ("", ""),
        ];
        for (pattern, text) in fitting {
            assert!(matches(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
        let others = [
            ("", "a"),
            ("?", ""),
            ("h?llo", "hllo"),
            ("h[^e]llo", "hello"),
            ("a*b", "acbd"),
            ("\\*", "a"),
            ("[]", "a"),
            ("*a*b*c", "xxaxxcxxb"),
        ];
        for (pattern, text) in others {
            assert!(!matches(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
    }

    #[test]
    fn a_pattern_of_many_stars_ends() {
        let pattern = "a*".repeat(100) + "b";
        assert!(!matches(pattern.as_bytes(), "a".repeat(10_000).as_bytes()));
    }
}
