// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Answers as bytes.

use std::fmt::{self, Write};

use crate::number::digits;

/// The protocol's version that a connection has chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// RESP2, as every connection begins.
    #[default]
    Two,
    /// RESP3, after `HELLO 3`.
    Three,
}

/// Answers that have not been sent.
#[derive(Debug, Default)]
pub struct Replies {
    bytes: Vec<u8>,
    /// Of the answers that are written from now on.
    pub version: Version,
}

impl Replies {
    /// What is to be sent.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes to be sent.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there is nothing to send.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes of memory.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Everything was sent. Memory beyond `keep` bytes is given back.
    pub fn clear(&mut self, keep: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(keep);
    }

    /// Takes back what was written from `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    /// `+OK`
    pub fn ok(&mut self) {
        self.bytes.extend_from_slice(b"+OK\r\n");
    }

    /// A short text.
    pub fn simple(&mut self, text: &str) {
        self.line(b'+', format_args!("{text}"));
    }

    /// An error: its code and its text. Ends of lines in it become blanks.
    pub fn error(&mut self, text: fmt::Arguments<'_>) {
        self.line(b'-', text);
    }

    /// A number.
    pub fn integer(&mut self, number: i64) {
        self.bytes.push(b':');
        if number < 0 {
            self.bytes.push(b'-');
        }
        self.end_with(number.unsigned_abs());
    }

    /// A string of bytes.
    #[inline]
    pub fn bulk(&mut self, value: &[u8]) {
        self.header(b'$', value.len());
        self.bytes.extend_from_slice(value);
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// A text for people.
    pub fn text(&mut self, text: &str) {
        match self.version {
            Version::Two => self.bulk(text.as_bytes()),
            Version::Three => {
                self.header(b'=', text.len() + 4);
                self.bytes.extend_from_slice(b"txt:");
                self.bytes.extend_from_slice(text.as_bytes());
                self.bytes.extend_from_slice(b"\r\n");
            }
        }
    }

    /// There is no such thing.
    #[inline]
    pub fn null(&mut self) {
        self.bytes.extend_from_slice(match self.version {
            Version::Two => b"$-1\r\n",
            Version::Three => b"_\r\n",
        });
    }

    /// So many answers follow, which are one.
    pub fn array(&mut self, len: usize) {
        self.header(b'*', len);
    }

    /// So many names follow, each with an answer.
    pub fn map(&mut self, len: usize) {
        match self.version {
            Version::Two => self.header(b'*', 2 * len),
            Version::Three => self.header(b'%', len),
        }
    }

    #[inline]
    fn header(&mut self, kind: u8, number: usize) {
        self.bytes.push(kind);
        self.end_with(number as u64);
    }

    #[inline]
    fn end_with(&mut self, number: u64) {
        self.bytes.extend_from_slice(digits(number, &mut [0; 20]));
        self.bytes.extend_from_slice(b"\r\n");
    }

    fn line(&mut self, kind: u8, text: fmt::Arguments<'_>) {
        self.bytes.push(kind);
        // A vector takes everything.
        let _ = OneLine(&mut self.bytes).write_fmt(text);
        self.bytes.extend_from_slice(b"\r\n");
    }
}

/// A line takes no ends of lines.
struct OneLine<'a>(&'a mut Vec<u8>);

impl Write for OneLine<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend(text.bytes().map(|byte| if byte == b'\r' || byte == b'\n' { b' ' } else { byte }));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(version: Version, write: impl FnOnce(&mut Replies)) -> String {
        let mut replies = Replies { version, ..Replies::default() };
        write(&mut replies);
        String::from_utf8_lossy(replies.bytes()).into_owned()
    }

    #[test]
    fn answers_of_both_versions() {
        let both =
            |write: fn(&mut Replies)| [Version::Two, Version::Three].map(|version| written(version, write));
        assert_eq!(both(|r| r.bulk(b"ab")), ["$2\r\nab\r\n", "$2\r\nab\r\n"]);
        assert_eq!(both(Replies::null), ["$-1\r\n", "_\r\n"]);
        assert_eq!(both(|r| r.map(2)), ["*4\r\n", "%2\r\n"]);
        assert_eq!(both(|r| r.text("x")), ["$1\r\nx\r\n", "=5\r\ntxt:x\r\n"]);
        assert_eq!(both(|r| r.integer(-7))[0], ":-7\r\n");
        assert_eq!(both(|r| r.integer(i64::MIN))[0], ":-9223372036854775808\r\n");
    }

    #[test]
    fn an_error_is_one_line() {
        let text = written(Version::Two, |r| r.error(format_args!("ERR no '{}'", "a\r\nb")));
        assert_eq!(text, "-ERR no 'a  b'\r\n");
    }
}
