// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Records as JSON objects, one a line.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::Record;

/// A record, or a key alone, as JSON: text where the bytes are UTF-8, base64 (RFC 4648) where they are not.
#[derive(Serialize)]
pub struct Written<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_base64: Option<String>,
}

impl<'a> Written<'a> {
    /// `key`, with `value` if there is one.
    pub fn new(key: &'a [u8], value: Option<&'a [u8]>) -> Self {
        let (key, key_base64) = text_or_base64(key);
        let (value, value_base64) = value.map_or((None, None), text_or_base64);
        Self { key, key_base64, value, value_base64 }
    }
}

fn text_or_base64(bytes: &[u8]) -> (Option<&str>, Option<String>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Some(text), None),
        Err(_) => (None, Some(STANDARD.encode(bytes))),
    }
}

/// Appends the record as a line with its end.
pub fn write(key: &[u8], value: &[u8], line: &mut Vec<u8>) {
    let record = Written::new(key, Some(value));
    serde_json::to_writer(&mut *line, &record).expect("strings into memory");
    line.push(b'\n');
}

/// A line as it is read. Unknown names are refused: they would be lost.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read<'a> {
    #[serde(borrow, default)]
    key: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    key_base64: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    value: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    value_base64: Option<Cow<'a, str>>,
}

/// Reads `line` into `record`.
///
/// # Errors
/// The reason, in words that follow the line's number.
pub fn read(line: &[u8], record: &mut Record) -> Result<(), String> {
    // Serde would also take an array of the four fields.
    if line.trim_ascii_start().first() != Some(&b'{') {
        return Err("not a JSON object".to_owned());
    }
    let read: Read<'_> = serde_json::from_slice(line).map_err(|e| reason(&e))?;
    take("key", read.key, read.key_base64, &mut record.key)?;
    take("value", read.value, read.value_base64, &mut record.value)
}

/// The reader's words without its own count of lines, which is always 1.
fn reason(error: &serde_json::Error) -> String {
    format!("bad JSON: {}", error.to_string().replace(" at line 1 column ", " at column "))
}

fn take(
    name: &str,
    text: Option<Cow<'_, str>>,
    code: Option<Cow<'_, str>>,
    bytes: &mut Vec<u8>,
) -> Result<(), String> {
    match (text, code) {
        (Some(text), None) => bytes.extend_from_slice(text.as_bytes()),
        (None, Some(code)) => STANDARD
            .decode_vec(code.as_bytes(), bytes)
            .map_err(|e| format!("\"{name}_base64\" is no base64: {e}"))?,
        (None, None) => return Err(format!("no \"{name}\"")),
        (Some(_), Some(_)) => return Err(format!("both \"{name}\" and \"{name}_base64\"")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(key: &[u8], value: &[u8]) -> String {
        let mut line = Vec::new();
        write(key, value, &mut line);
        String::from_utf8(line).unwrap()
    }

    fn read_line(line: &str) -> Result<(Vec<u8>, Vec<u8>), String> {
        let mut record = Record::default();
        read(line.as_bytes(), &mut record).map(|()| (record.key, record.value))
    }

    #[test]
    fn lines_are_as_documented() {
        assert_eq!(line(b"a", b"b\n\"\0"), "{\"key\":\"a\",\"value\":\"b\\n\\\"\\u0000\"}\n");
        assert_eq!(line(b"\xff", b"b"), "{\"key_base64\":\"/w==\",\"value\":\"b\"}\n");
        assert_eq!(line(b"a", b"\x00\xff"), "{\"key\":\"a\",\"value_base64\":\"AP8=\"}\n");
    }

    #[test]
    fn any_order_and_spaces_are_read() {
        let read = read_line(" { \"value_base64\" : \"AP8=\" , \"key\" : \"\\u00e9\" } ");
        assert_eq!(read, Ok((vec![0xc3, 0xa9], vec![0x00, 0xff])));
    }

    #[test]
    fn faults_say_what_is_wrong() {
        let fault = |line: &str| read_line(line).unwrap_err();
        assert_eq!(fault("{\"value\":\"b\"}"), "no \"key\"");
        assert_eq!(fault("{\"key\":\"b\"}"), "no \"value\"");
        assert_eq!(
            fault("{\"key\":\"a\",\"key_base64\":\"\",\"value\":\"\"}"),
            "both \"key\" and \"key_base64\""
        );
        assert!(
            fault("{\"key\":\"a\",\"value_base64\":\"A\"}").starts_with("\"value_base64\" is no base64: ")
        );
        assert_eq!(fault("{\"key\":"), "bad JSON: EOF while parsing a value at column 7");
        assert!(
            fault("{\"key\":\"a\",\"value\":\"b\",\"ttl\":1}").starts_with("bad JSON: unknown field `ttl`")
        );
        assert!(fault("{\"key\":\"a\",\"value\":3}").starts_with("bad JSON: invalid type: integer `3`"));
        assert_eq!(fault("[\"a\",null,\"b\",null]"), "not a JSON object");
        assert_eq!(fault("  "), "not a JSON object");
        assert!(fault("{\"key\":\"a\",\"value\":\"b\"} x").starts_with("bad JSON: trailing characters"));
    }
}
