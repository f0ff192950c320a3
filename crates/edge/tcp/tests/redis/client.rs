// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A Redis client for tests, written apart from the server's own encoder and parser.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Simple(String),
    Error(String),
    Integer(i64),
    Bulk(Vec<u8>),
    Null,
    Array(Vec<Reply>),
    /// Of RESP3.
    Map(Vec<Reply>),
}

pub fn ok() -> Reply {
    Reply::Simple("OK".into())
}

pub fn bulk(text: &str) -> Reply {
    Reply::Bulk(text.as_bytes().to_vec())
}

/// A connection.
pub struct Redis {
    reader: BufReader<TcpStream>,
}

impl Redis {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        Self { reader: BufReader::new(stream) }
    }

    pub fn write(&mut self, bytes: &[u8]) {
        self.try_write(bytes).expect("written");
    }

    pub fn try_write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.reader.get_mut().write_all(bytes)
    }

    /// Sends a command without waiting.
    pub fn send(&mut self, arguments: &[&[u8]]) {
        self.write(&command(arguments));
    }

    /// Sends a command and reads its answer.
    pub fn ask(&mut self, arguments: &[&[u8]]) -> Reply {
        self.send(arguments);
        self.read()
    }

    /// The same of a line of words.
    pub fn line(&mut self, line: &str) -> Reply {
        self.ask(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>())
    }

    pub fn read(&mut self) -> Reply {
        self.try_read().expect("an answer")
    }

    /// Whether the server has closed the connection.
    pub fn is_closed(&mut self) -> bool {
        matches!(self.reader.read(&mut [0]), Ok(0) | Err(_))
    }

    pub fn try_read(&mut self) -> std::io::Result<Reply> {
        let mut line = Vec::new();
        self.reader.read_until(b'\n', &mut line)?;
        let text = String::from_utf8_lossy(&line);
        let text = text.strip_suffix("\r\n").ok_or(std::io::ErrorKind::UnexpectedEof)?;
        let (kind, rest) = text.split_at(1);
        let number = || rest.parse::<i64>().expect("a number");
        Ok(match kind {
            "+" => Reply::Simple(rest.into()),
            "-" => Reply::Error(rest.into()),
            ":" => Reply::Integer(number()),
            "_" => Reply::Null,
            "$" | "*" if number() < 0 => Reply::Null,
            "$" | "=" => {
                let mut bytes = vec![0; number() as usize + 2];
                self.reader.read_exact(&mut bytes)?;
                assert!(bytes.ends_with(b"\r\n"));
                bytes.truncate(bytes.len() - 2);
                Reply::Bulk(bytes)
            }
            "*" => Reply::Array((0..number()).map(|_| self.try_read()).collect::<Result<_, _>>()?),
            "%" => Reply::Map((0..2 * number()).map(|_| self.try_read()).collect::<Result<_, _>>()?),
            other => panic!("an answer of kind {other}"),
        })
    }
}

/// The bytes of a command.
pub fn command(arguments: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        bytes.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
        bytes.extend_from_slice(argument);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// The text of an error.
pub fn error(reply: &Reply) -> &str {
    match reply {
        Reply::Error(text) => text,
        other => panic!("no error: {other:?}"),
    }
}
