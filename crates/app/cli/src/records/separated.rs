// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Records with one byte between key and value.

use super::Record;
use super::escape::{escape, unescape};

/// Reads `line` into `record`. The key ends at the first `separator`. With `raw`, a backslash is a backslash.
///
/// # Errors
/// The reason, in words that follow the line's number.
pub fn read(line: &[u8], separator: u8, raw: bool, record: &mut Record) -> Result<(), String> {
    let at = line.iter().position(|&b| b == separator).ok_or_else(|| missing(separator))?;
    let (key, value) = (&line[..at], &line[at + 1..]);
    if raw {
        record.key.extend_from_slice(key);
        record.value.extend_from_slice(value);
        return Ok(());
    }
    unescape(key, &mut record.key).map_err(|why| explained("key", &why))?;
    unescape(value, &mut record.value).map_err(|why| explained("value", &why))
}

fn missing(separator: u8) -> String {
    let name = if separator == b'\t' { "tab" } else { "semicolon" };
    format!("no {name} between key and value")
}

fn explained(part: &str, why: &str) -> String {
    format!("{why} in the {part} (a backslash is `\\\\`; --raw takes lines as they are)")
}

/// Appends the record as a line with its end.
pub fn write(key: &[u8], value: &[u8], separator: u8, line: &mut Vec<u8>) {
    escape(key, Some(separator), line);
    line.push(separator);
    escape(value, None, line);
    line.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_line(line: &[u8], separator: u8, raw: bool) -> Result<(Vec<u8>, Vec<u8>), String> {
        let mut record = Record::default();
        read(line, separator, raw, &mut record).map(|()| (record.key, record.value))
    }

    #[test]
    fn the_first_separator_ends_the_key() {
        assert_eq!(read_line(b"a;b;c", b';', false), Ok((b"a".to_vec(), b"b;c".to_vec())));
        assert_eq!(read_line(b"a\tb\tc", b'\t', false), Ok((b"a".to_vec(), b"b\tc".to_vec())));
        assert_eq!(read_line(b"a\t", b'\t', false), Ok((b"a".to_vec(), Vec::new())));
        assert_eq!(read_line(b"a\\x3bb;\\n", b';', false), Ok((b"a;b".to_vec(), b"\n".to_vec())));
    }

    #[test]
    fn raw_lines_keep_their_backslashes() {
        assert_eq!(read_line(b"a\\n;\\q", b';', true), Ok((b"a\\n".to_vec(), b"\\q".to_vec())));
    }

    #[test]
    fn faults_name_the_part() {
        assert_eq!(read_line(b"ab", b'\t', false), Err("no tab between key and value".to_owned()));
        assert_eq!(read_line(b"ab", b';', false), Err("no semicolon between key and value".to_owned()));
        let fault = read_line(b"a;\\q", b';', false).unwrap_err();
        assert!(fault.starts_with("unknown escape `\\q` in the value"), "{fault}");
    }

    #[test]
    fn lines_are_as_documented() {
        let mut line = Vec::new();
        write(b"a;\t", b"b;\tc\n", b';', &mut line);
        assert_eq!(line, b"a\\x3b\\t;b;\\tc\\n\n");
    }
}
