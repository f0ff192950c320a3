// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bytes as text on one line, and back. `\t \n \r \\ \0` and `\xNN` stand for what would break the line.

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends `bytes` to `text` as UTF-8 without tabs, line ends, control characters, byte-order marks or the
/// `separator`. Other characters stay as they are.
pub fn escape(bytes: &[u8], separator: Option<u8>, text: &mut Vec<u8>) {
    for chunk in bytes.utf8_chunks() {
        escape_text(chunk.valid(), separator.map(char::from), text);
        chunk.invalid().iter().for_each(|&b| hex(b, text));
    }
}

/// Copies what stays as it is in pieces as long as possible: values are large.
fn escape_text(mut rest: &str, separator: Option<char>, text: &mut Vec<u8>) {
    let is_escaped = |c: char| c == '\\' || unsafe_in_text(c) || Some(c) == separator;
    while let Some((at, found)) = rest.match_indices(is_escaped).next() {
        text.extend_from_slice(&rest.as_bytes()[..at]);
        escape_char(found, text);
        rest = &rest[at + found.len()..];
    }
    text.extend_from_slice(rest.as_bytes());
}

fn escape_char(c: &str, text: &mut Vec<u8>) {
    match c {
        "\t" => text.extend_from_slice(b"\\t"),
        "\n" => text.extend_from_slice(b"\\n"),
        "\r" => text.extend_from_slice(b"\\r"),
        "\\" => text.extend_from_slice(b"\\\\"),
        "\0" => text.extend_from_slice(b"\\0"),
        _ => c.bytes().for_each(|b| hex(b, text)),
    }
}

/// Characters that a terminal would obey, and the mark that a reader drops from the head of a file.
fn unsafe_in_text(c: char) -> bool {
    c.is_control() || c == '\u{feff}'
}

fn hex(byte: u8, text: &mut Vec<u8>) {
    text.extend_from_slice(&[b'\\', b'x', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
}

/// Appends the bytes that `text` stands for. Bytes that are no escape stand for themselves.
///
/// # Errors
/// The reason: an unknown or unfinished escape.
pub fn unescape(mut text: &[u8], bytes: &mut Vec<u8>) -> Result<(), String> {
    while let Some(at) = text.iter().position(|&b| b == b'\\') {
        bytes.extend_from_slice(&text[..at]);
        let (byte, rest) = escaped(&text[at + 1..])?;
        bytes.push(byte);
        text = rest;
    }
    bytes.extend_from_slice(text);
    Ok(())
}

/// The byte after a backslash and what follows it.
fn escaped(text: &[u8]) -> Result<(u8, &[u8]), String> {
    match text {
        [b't', rest @ ..] => Ok((b'\t', rest)),
        [b'n', rest @ ..] => Ok((b'\n', rest)),
        [b'r', rest @ ..] => Ok((b'\r', rest)),
        [b'0', rest @ ..] => Ok((0, rest)),
        [b'\\', rest @ ..] => Ok((b'\\', rest)),
        [b'x', high, low, rest @ ..] => match hex_byte([*high, *low]) {
            Some(byte) => Ok((byte, rest)),
            None => Err("`\\x` without two hexadecimal digits".to_owned()),
        },
        [] => Err("a single backslash at the end".to_owned()),
        [b'x', ..] => Err("`\\x` without two hexadecimal digits".to_owned()),
        [other, ..] => Err(format!("unknown escape `\\{}`", other.escape_ascii())),
    }
}

/// The byte of two hexadecimal digits in either case.
pub fn hex_byte([high, low]: [u8; 2]) -> Option<u8> {
    Some(digit(high)? << 4 | digit(low)?)
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|d| u8::try_from(d).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn escaped_text(bytes: &[u8], separator: Option<u8>) -> Vec<u8> {
        let mut text = Vec::new();
        escape(bytes, separator, &mut text);
        text
    }

    fn unescaped(text: &[u8]) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        unescape(text, &mut bytes).map(|()| bytes)
    }

    #[test]
    fn each_escape_is_as_documented() {
        assert_eq!(escaped_text(b"a\tb\nc\rd\\e\0f", None), b"a\\tb\\nc\\rd\\\\e\\0f");
        assert_eq!(escaped_text(b"\x01\x7f\xff\xc3", None), b"\\x01\\x7f\\xff\\xc3");
        assert_eq!(escaped_text("\u{e9}\u{1f600};".as_bytes(), None), "\u{e9}\u{1f600};".as_bytes());
        assert_eq!(escaped_text(b"a;b", Some(b';')), b"a\\x3bb");
        assert_eq!(escaped_text("\u{feff}\u{9b}".as_bytes(), None), b"\\xef\\xbb\\xbf\\xc2\\x9b");
    }

    #[test]
    fn reading_takes_both_cases_and_bare_bytes() {
        assert_eq!(unescaped(b"\\x3B\\x3b\\t\xff"), Ok(b";;\t\xff".to_vec()));
        assert_eq!(unescaped(b"\\\\t"), Ok(b"\\t".to_vec()));
    }

    #[test]
    fn bad_escapes_are_named() {
        assert_eq!(unescaped(b"a\\"), Err("a single backslash at the end".to_owned()));
        assert_eq!(unescaped(b"\\q"), Err("unknown escape `\\q`".to_owned()));
        for text in [&b"\\x"[..], b"\\x1", b"\\x1g", b"\\x+1"] {
            assert_eq!(unescaped(text), Err("`\\x` without two hexadecimal digits".to_owned()));
        }
    }

    proptest! {
        #[test]
        fn every_byte_string_round_trips(bytes: Vec<u8>, semicolon: bool) {
            let separator = semicolon.then_some(b';');
            let text = escaped_text(&bytes, separator);
            prop_assert_eq!(unescaped(&text).unwrap(), bytes);
            prop_assert!(!text.iter().any(|b| b"\t\n\r\0".contains(b)));
            prop_assert!(std::str::from_utf8(&text).is_ok());
            prop_assert!(!(semicolon && text.contains(&b';')));
        }
    }
}
