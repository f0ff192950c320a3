// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where a command begins and ends.
//!
//! The bytes of a connection are shown from the first byte of a command on; what was read of an unfinished command is remembered, so that
//! no byte is looked at twice however slowly they come. A command that is longer than its limits is read to its end and thrown away
//! while it comes: it takes no memory, and the connection stays in step.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::args::{Args, Place};
use crate::number::integer;

/// Longest line: a header, or a command that is written as a line.
const LINE_BYTES_MAX: usize = 64 << 10;
/// A header needs no more.
const HEADER_BYTES_MAX: usize = 32;
/// Redis takes no more arguments, nor longer ones.
const ARGUMENTS_MAX: i64 = 1 << 20;
const BULK_BYTES_MAX: i64 = 512 << 20;

/// What is taken of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Arguments of a command, its name included.
    pub arguments_max: u32,
    /// Bytes of an argument.
    pub argument_bytes_max: u32,
    /// Bytes of a command as it comes.
    pub command_bytes_max: u32,
}

/// Why a command was thrown away. The connection is in step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It has more arguments than the limit.
    Arguments,
    /// An argument is longer than the limit.
    Argument,
    /// Its arguments together are.
    Command,
}

/// Bytes that are no commands. Nothing behind them can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The number of arguments is none.
    ArgumentCount,
    /// The length of an argument is none.
    BulkLength,
    /// This byte stands where `$` belongs.
    NoBulk(u8),
    /// A header without an end.
    Header,
    /// A line without an end.
    Line,
    /// An argument is longer than its header says.
    NoEnd,
}

/// What the bytes say next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A command of so many bytes. Its arguments are [`Parser::args`]; one without arguments is ignored.
    Command(usize),
    /// More bytes are needed.
    More,
    /// So many bytes are of a command that is thrown away, and may go.
    Skip(usize),
    /// Such a command has ended with these bytes.
    Refused(usize, Refused),
    /// The connection is to be closed.
    Broken(Broken),
}

/// A command that is thrown away.
#[derive(Clone, Copy, Debug)]
struct Discarding {
    why: Refused,
    /// Bytes of the argument that is coming, with its end.
    bytes: usize,
}

/// The commands of one connection.
#[derive(Debug)]
pub struct Parser {
    limits: Limits,
    /// Those of the command that is coming, from its first byte on.
    places: Vec<Place>,
    /// Arguments that have not come; nothing before the first header.
    left: Option<u32>,
    /// How far the command has been read; 0 between commands.
    at: usize,
    discarding: Option<Discarding>,
}

/// What a header says, and the byte behind it.
enum Header {
    Number(i64, usize),
    More,
    Broken,
}

impl Parser {
    /// For a new connection.
    #[must_use]
    pub const fn new(limits: Limits) -> Self {
        Self { limits, places: Vec::new(), left: None, at: 0, discarding: None }
    }

    /// Other limits, from the next argument on.
    pub const fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Looks at the bytes of the connection. They begin where the last command ended, or where the same call with fewer bytes said
    /// [`Next::More`].
    #[inline]
    pub fn next(&mut self, input: &[u8]) -> Next {
        match (self.discarding, self.left, input.first()) {
            (_, _, None) => Next::More,
            (Some(discarding), ..) => self.discard(discarding, input),
            (None, Some(left), _) => self.arguments(left, input),
            (None, None, Some(b'*')) => self.begin(input),
            (None, None, Some(_)) => self.line(input),
        }
    }

    /// The arguments of the command that [`Next::Command`] has told of, whose bytes these are.
    #[inline]
    #[must_use]
    pub fn args<'a, 'p>(&'p self, command: &'a [u8]) -> Args<'a, 'p> {
        Args::new(command, &self.places)
    }

    /// The connection goes back to the beginning of a command that has been told of.
    pub const fn go_back(&mut self) {
        (self.left, self.at, self.discarding) = (None, 0, None);
    }

    /// Bytes of memory beyond the bytes of the connection.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.places.capacity() * size_of::<Place>()
    }

    /// Gives back memory that a command of many arguments has taken.
    pub fn settle(&mut self) {
        if self.left.is_none() {
            self.places = Vec::new();
        }
    }

    fn begin(&mut self, input: &[u8]) -> Next {
        self.places.clear();
        match header(input, 1) {
            Header::More => Next::More,
            Header::Broken => Next::Broken(Broken::Header),
            Header::Number(count, _) if count > ARGUMENTS_MAX => Next::Broken(Broken::ArgumentCount),
            Header::Number(..=0, end) => Next::Command(end),
            Header::Number(count, end) => {
                self.at = end;
                let count = count as u32;
                self.left = Some(count);
                if count > self.limits.arguments_max {
                    return self.refuse(Refused::Arguments, 0, end);
                }
                self.arguments(count, input)
            }
        }
    }

    fn arguments(&mut self, mut left: u32, input: &[u8]) -> Next {
        while left > 0 {
            let (length, start) = match bulk(input, self.at) {
                Ok(Some(found)) => found,
                Ok(None) => {
                    self.left = Some(left);
                    return Next::More;
                }
                Err(broken) => return Next::Broken(broken),
            };
            let end = start + length;
            self.left = Some(left - 1);
            if let Some(why) = self.too_long(length, end) {
                return self.refuse(why, length + 2, start);
            }
            match input.get(end..end + 2) {
                Some(b"\r\n") => {}
                Some(_) => return Next::Broken(Broken::NoEnd),
                None => {
                    self.left = Some(left);
                    return Next::More;
                }
            }
            self.places.push((start as u32, end as u32));
            (self.at, left) = (end + 2, left - 1);
        }
        self.left = None;
        Next::Command(std::mem::take(&mut self.at))
    }

    const fn too_long(&self, length: usize, end: usize) -> Option<Refused> {
        if length > self.limits.argument_bytes_max as usize {
            Some(Refused::Argument)
        } else if end > self.limits.command_bytes_max as usize {
            Some(Refused::Command)
        } else {
            None
        }
    }

    /// The bytes that were read may go; `bytes` of an argument are still to come.
    fn refuse(&mut self, why: Refused, bytes: usize, read: usize) -> Next {
        self.places.clear();
        self.at = 0;
        self.discarding = Some(Discarding { why, bytes });
        Next::Skip(read)
    }

    fn discard(&mut self, mut discarding: Discarding, input: &[u8]) -> Next {
        let mut used = 0;
        loop {
            let now = discarding.bytes.min(input.len() - used);
            (used, discarding.bytes) = (used + now, discarding.bytes - now);
            let left = self.left.unwrap_or(0);
            if discarding.bytes == 0 && left == 0 {
                (self.discarding, self.left) = (None, None);
                return Next::Refused(used, discarding.why);
            }
            if discarding.bytes == 0 {
                match bulk(input, used) {
                    Ok(Some((length, start))) => {
                        (self.left, used, discarding.bytes) = (Some(left - 1), start, length + 2);
                        continue;
                    }
                    Ok(None) => {}
                    Err(broken) => return Next::Broken(broken),
                }
            }
            self.discarding = Some(discarding);
            return if used == 0 { Next::More } else { Next::Skip(used) };
        }
    }

    /// A command as a line, as one types it: words between blanks.
    fn line(&mut self, input: &[u8]) -> Next {
        self.places.clear();
        let seen = std::mem::take(&mut self.at);
        let Some(end) = input.iter().skip(seen).position(|byte| *byte == b'\n') else {
            self.at = input.len();
            return if input.len() >= LINE_BYTES_MAX { Next::Broken(Broken::Line) } else { Next::More };
        };
        let (end, mut start) = (seen + end, 0);
        for (n, byte) in input.iter().take(end + 1).enumerate() {
            if byte.is_ascii_whitespace() {
                if start < n {
                    self.places.push((start as u32, n as u32));
                }
                start = n + 1;
            }
        }
        Next::Command(end + 1)
    }
}

/// The length of the argument whose header begins at `at`, and where its bytes begin; nothing while that has not come.
#[inline]
fn bulk(input: &[u8], at: usize) -> Result<Option<(usize, usize)>, Broken> {
    match input.get(at) {
        None => return Ok(None),
        Some(b'$') => {}
        Some(other) => return Err(Broken::NoBulk(*other)),
    }
    match header(input, at + 1) {
        Header::More => Ok(None),
        Header::Number(length @ 0..=BULK_BYTES_MAX, start) => Ok(Some((length as usize, start))),
        Header::Number(..) | Header::Broken => Err(Broken::BulkLength),
    }
}

/// The number between `at` and the end of its line.
#[inline]
fn header(input: &[u8], at: usize) -> Header {
    let rest = input.get(at..).unwrap_or_default();
    let Some(length) = rest.iter().take(HEADER_BYTES_MAX).position(|byte| *byte == b'\r') else {
        return if rest.len() >= HEADER_BYTES_MAX { Header::Broken } else { Header::More };
    };
    match (rest.get(length + 1), rest.get(..length).and_then(integer)) {
        (None, _) => Header::More,
        (Some(b'\n'), Some(number)) => Header::Number(number, at + length + 2),
        _ => Header::Broken,
    }
}

impl Broken {
    /// As Redis says it, behind `Protocol error: `.
    #[must_use]
    pub const fn what(self) -> &'static str {
        match self {
            Self::ArgumentCount | Self::Header => "invalid multibulk length",
            Self::BulkLength | Self::NoEnd => "invalid bulk length",
            Self::NoBulk(_) => "expected '$'",
            Self::Line => "too big inline request",
        }
    }
}
