// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bytes as they are written on the command line: text, or `hex:` and `base64:` for any bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::error::CliError;
use crate::limits;
use crate::records::escape;

/// Longest piece of a key that a message shows, in bytes.
const SHOWN_BYTES_MAX: usize = 60;

/// Reads a key: UTF-8 text as it is, `hex:6162`, `base64:YWI=`, or `str:` before text that begins like one of
/// these.
///
/// # Errors
/// `Usage`: bad hex or base64, an empty key, or one of more than 255 bytes.
pub fn parse(text: &str) -> Result<Vec<u8>, CliError> {
    let key = bytes(text)?;
    match limits::key_fault(&key) {
        None => Ok(key),
        Some(fault) => Err(CliError::usage(fault, "give a key of 1 to 255 bytes")),
    }
}

/// Reads bytes of any length, with the prefixes of a key.
///
/// # Errors
/// `Usage`: bad hex or base64.
pub fn bytes(text: &str) -> Result<Vec<u8>, CliError> {
    if let Some(plain) = text.strip_prefix("str:") {
        Ok(plain.as_bytes().to_vec())
    } else if let Some(digits) = text.strip_prefix("hex:") {
        from_hex(digits).ok_or_else(|| bad(text, "hexadecimal", "pairs of digits 0-9 and a-f"))
    } else if let Some(code) = text.strip_prefix("base64:") {
        STANDARD.decode(code).map_err(|_| bad(text, "base64", "the standard alphabet with padding"))
    } else {
        Ok(text.as_bytes().to_vec())
    }
}

fn bad(text: &str, name: &str, form: &str) -> CliError {
    let shown = show(text.as_bytes());
    CliError::usage(
        format!("`{shown}` is no {name}"),
        format!("give {form}, or put `str:` before plain text"),
    )
}

fn from_hex(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| <[u8; 2]>::try_from(pair).ok().and_then(escape::hex_byte)).collect()
}

/// A key in a message: escaped, and cut when long.
pub fn show(key: &[u8]) -> String {
    let mut text = Vec::new();
    escape::escape(&key[..key.len().min(SHOWN_BYTES_MAX)], None, &mut text);
    if key.len() > SHOWN_BYTES_MAX {
        text.extend_from_slice(b"...");
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// A key as the commands take it: text where it is some that one line can show, else `hex:`.
pub fn argument(key: &[u8]) -> String {
    let is_plain = |text: &&str| !text.is_empty() && !text.chars().any(char::is_control);
    match std::str::from_utf8(key).ok().filter(is_plain) {
        Some(text) if ["hex:", "base64:", "str:"].iter().any(|form| text.starts_with(form)) => {
            format!("str:{text}")
        }
        Some(text) => text.to_owned(),
        None => key.iter().fold("hex:".to_owned(), |text, byte| text + &format!("{byte:02x}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_choose_the_form() {
        assert_eq!(parse("user:1").unwrap(), b"user:1");
        assert_eq!(parse("\u{e9}").unwrap(), [0xc3, 0xa9]);
        assert_eq!(parse("hex:00fF61").unwrap(), [0x00, 0xff, 0x61]);
        assert_eq!(parse("base64:AP8=").unwrap(), [0x00, 0xff]);
        assert_eq!(parse("str:hex:00").unwrap(), b"hex:00");
        assert_eq!(parse("str:str:a").unwrap(), b"str:a");
    }

    #[test]
    fn bad_forms_and_lengths_say_what_to_give() {
        let message = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(
            message("hex:0"),
            "`hex:0` is no hexadecimal; give pairs of digits 0-9 and a-f, or put `str:` before plain text"
        );
        for text in ["hex:0g", "hex:+1", "hex:\u{e9}", "base64:A", "base64:AP8"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(message(""), "the key is empty; give a key of 1 to 255 bytes");
        assert_eq!(message("hex:"), message(""));
        assert_eq!(parse(&"a".repeat(255)).unwrap().len(), 255);
        assert_eq!(
            message(&"a".repeat(256)),
            "the key has 256 bytes, the most is 255; give a key of 1 to 255 bytes"
        );
    }

    #[test]
    fn arguments_are_read_back() {
        for key in [&b"user:1"[..], b"hex:00", b"str:a", b"\xff\x00", b"a\nb", "\u{e9}".as_bytes()] {
            assert_eq!(parse(&argument(key)).unwrap(), key);
        }
        assert_eq!((argument(b"k1"), argument(b"\xff")), ("k1".into(), "hex:ff".into()));
    }

    #[test]
    fn messages_show_keys_escaped_and_cut() {
        assert_eq!(show(b"a\nb\xff"), "a\\nb\\xff");
        assert_eq!(show(&[b'k'; 61]), format!("{}...", "k".repeat(60)));
    }
}
