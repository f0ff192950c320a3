// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lines of a stream, in memory bounded by the longest line that can be a record.

use std::io::{self, BufRead};

/// UTF-8's form of the byte-order mark, which some editors put at the head of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What [`Lines::next`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A line, now in the caller's buffer.
    Line,
    /// A line longer than the limit. Its rest has been passed over.
    TooLong,
    /// The end of the stream.
    End,
}

/// Reads lines that end in LF or CR LF; the last one may end without either.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    line_bytes_max: usize,
    number: u64,
    bytes_read: u64,
}

impl<R: BufRead> Lines<R> {
    /// Lines of `input`. One with more than `line_bytes_max` bytes before its end is `TooLong`.
    pub const fn new(input: R, line_bytes_max: usize) -> Self {
        Self { input, line_bytes_max, number: 0, bytes_read: 0 }
    }

    /// Number of the line found last, from 1.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Bytes taken from the stream so far.
    pub const fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Puts the next line, without its end, into `line`.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn next(&mut self, line: &mut Vec<u8>) -> io::Result<Found> {
        line.clear();
        let mut length = 0;
        let ended = self.gather(line, &mut length)?;
        if length == 0 && !ended {
            return Ok(Found::End);
        }
        self.number += 1;
        if ended && line.last() == Some(&b'\r') {
            line.pop();
        }
        if self.number == 1 && line.starts_with(BYTE_ORDER_MARK) {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        let too_long = length > self.buffer_max() || line.len() > self.line_bytes_max;
        Ok(if too_long { Found::TooLong } else { Found::Line })
    }

    /// The buffer holds a CR and a byte-order mark beside the longest line.
    const fn buffer_max(&self) -> usize {
        self.line_bytes_max + 1 + BYTE_ORDER_MARK.len()
    }

    /// Takes bytes up to an LF, which is taken too, and counts them; keeps those that fit. Whether there was an LF.
    fn gather(&mut self, line: &mut Vec<u8>, length: &mut usize) -> io::Result<bool> {
        loop {
            let room = self.buffer_max() - line.len();
            let buffer = match self.input.fill_buf() {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            let end = buffer.iter().position(|&b| b == b'\n');
            let piece = &buffer[..end.unwrap_or(buffer.len())];
            line.extend_from_slice(&piece[..piece.len().min(room)]);
            *length += piece.len();
            let taken = piece.len() + usize::from(end.is_some());
            self.input.consume(taken);
            self.bytes_read += taken as u64;
            if end.is_some() || taken == 0 {
                return Ok(end.is_some());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::BufReader;

    /// Every line of `text` read through a buffer of `capacity` bytes; `None` for one that is too long.
    fn lines(text: &[u8], capacity: usize, limit: usize) -> Vec<Option<Vec<u8>>> {
        let mut reader = Lines::new(BufReader::with_capacity(capacity, text), limit);
        let (mut all, mut line) = (Vec::new(), Vec::new());
        loop {
            match reader.next(&mut line).unwrap() {
                Found::End => break,
                Found::Line => all.push(Some(line.clone())),
                Found::TooLong => all.push(None),
            }
            assert!(line.capacity() <= 2 * (limit + 4).max(8));
        }
        assert_eq!(reader.number(), all.len() as u64);
        assert_eq!(reader.bytes_read(), text.len() as u64);
        all
    }

    fn some(text: &str) -> Option<Vec<u8>> {
        Some(text.as_bytes().to_vec())
    }

    #[test]
    fn ends_are_lf_or_cr_lf_or_the_end_of_the_stream() {
        for capacity in 1..9 {
            assert_eq!(
                lines(b"ab\r\nc\n\nd\re", capacity, 10),
                [some("ab"), some("c"), some(""), some("d\re")]
            );
            assert_eq!(lines(b"ab\n", capacity, 10), [some("ab")]);
            assert_eq!(lines(b"", capacity, 10), []);
        }
    }

    #[test]
    fn a_line_over_the_limit_is_passed_over() {
        for capacity in 1..9 {
            assert_eq!(
                lines(b"abcd\nabcde\nab\r\nabcd\r\n", capacity, 4),
                [some("abcd"), None, some("ab"), some("abcd")]
            );
            assert_eq!(lines(b"abcdefghijklmnop", capacity, 4), [None]);
            assert_eq!(lines(b"abcdefghijklmnop\nx", capacity, 4), [None, some("x")]);
        }
    }

    #[test]
    fn a_byte_order_mark_is_dropped_from_the_head_only() {
        let text = "\u{feff}abcd\n\u{feff}\n";
        assert_eq!(lines(text.as_bytes(), 2, 4), [some("abcd"), some("\u{feff}")]);
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_the_buffer(text in "[ab\r\n]{0,60}", capacity in 1_usize..20) {
            let model: Vec<_> = text.split_inclusive('\n').map(|l| {
                some(l.strip_suffix("\r\n").or(l.strip_suffix('\n')).unwrap_or(l))
            }).collect();
            prop_assert_eq!(lines(text.as_bytes(), capacity, 100), model);
        }
    }
}
