// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a command asks.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod client;
mod data;
mod scan;
mod server;

use crate::args::Args;

pub use client::ClientRequest;
pub use scan::Scan;
pub use server::{Auth, CommandRequest, Hello};

pub(crate) use client::client;
pub(crate) use data::{echo, key, keys, mset, ping, set};
pub(crate) use scan::scan;
pub(crate) use server::{auth, command, config, flushdb, hello, info, none, select, wait, waitaof};

/// What must be true for a `SET` to take place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    /// Nothing.
    #[default]
    Always,
    /// `NX`: there is no such key.
    Absent,
    /// `XX`: there is such a key.
    Present,
}

/// A command, understood.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a, 'p> {
    /// `GET`
    Get(&'a [u8]),
    /// `SET`
    Set {
        /// The key.
        key: &'a [u8],
        /// Its value.
        value: &'a [u8],
        /// `NX` or `XX`.
        condition: Condition,
        /// `GET`: the value before is the answer.
        returns_old: bool,
    },
    /// `MGET`: keys.
    MultiGet(Args<'a, 'p>),
    /// `MSET`: keys and values in turn.
    MultiSet(Args<'a, 'p>),
    /// `DEL`, `UNLINK`: keys.
    Delete(Args<'a, 'p>),
    /// `EXISTS`: keys.
    Exists(Args<'a, 'p>),
    /// `STRLEN`
    Length(&'a [u8]),
    /// `SCAN`
    Scan(Scan<'a>),
    /// `DBSIZE`
    Size,
    /// `FLUSHDB`, `FLUSHALL`
    Clear,
    /// `WAIT`
    Wait,
    /// `WAITAOF`
    WaitLocal,
    /// `PING`, with what it wants to hear.
    Ping(Option<&'a [u8]>),
    /// `ECHO`
    Echo(&'a [u8]),
    /// `SELECT 0`
    Select,
    /// `HELLO`
    Hello(Hello<'a>),
    /// `AUTH`
    Auth(Auth<'a>),
    /// `INFO`: sections.
    Info(Args<'a, 'p>),
    /// `CONFIG GET`: patterns.
    ConfigGet(Args<'a, 'p>),
    /// `COMMAND`
    Command(CommandRequest<'a, 'p>),
    /// `CLIENT`
    Client(ClientRequest<'a>),
    /// `RESET`
    Reset,
    /// `QUIT`
    Quit,
}

/// Why a command is not carried out.
#[derive(Clone, Copy, Debug)]
pub enum Refusal<'a> {
    /// There is no such command here.
    Unknown(&'a [u8]),
    /// Too many or too few arguments of this command.
    Arity(&'a [u8]),
    /// An option that has no sense there.
    Syntax,
    /// A number that is none.
    Integer,
    /// What Redis has and this server has not: the command, and the option.
    Unsupported(&'a str, &'a [u8]),
    /// There is one database.
    Database,
    /// A version of the protocol that is not 2 or 3.
    Version,
    /// A cursor that is no number.
    Cursor,
    /// A name with blanks or ends of lines.
    Name,
    /// A subcommand that is not there: the command, and what was written.
    Subcommand(&'a str, &'a [u8]),
}

impl Refusal<'_> {
    /// Writes it as an answer.
    pub fn write(&self, replies: &mut crate::Replies) {
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes.get(..128).unwrap_or(bytes)).into_owned();
        match *self {
            Self::Unknown(name) => replies
                .error(format_args!("ERR unknown command '{}': docs/redis.md has the list", shown(name))),
            Self::Arity(name) => {
                let name = shown(name).to_ascii_lowercase();
                replies.error(format_args!("ERR wrong number of arguments for '{name}' command"));
            }
            Self::Syntax => replies.error(format_args!("ERR syntax error")),
            Self::Integer => replies.error(format_args!("ERR value is not an integer or out of range")),
            Self::Unsupported(command, option) => {
                replies.error(format_args!(
                    "ERR {command} {} is not supported here",
                    shown(option).to_ascii_uppercase()
                ));
            }
            Self::Database => {
                replies.error(format_args!("ERR DB index is out of range: there is database 0"))
            }
            Self::Version => replies.error(format_args!("NOPROTO unsupported protocol version")),
            Self::Cursor => replies.error(format_args!("ERR invalid cursor")),
            Self::Name => {
                let what = "Client names and infos cannot contain spaces, newlines or special characters.";
                replies.error(format_args!("ERR {what}"));
            }
            Self::Subcommand(command, name) => {
                replies.error(format_args!(
                    "ERR unknown subcommand '{}' of {command}: docs/redis.md has the list",
                    shown(name)
                ));
            }
        }
    }
}
