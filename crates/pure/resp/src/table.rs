// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The commands. Everything that is told of them is told from here.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::args::Args;
use crate::reply::Replies;
use crate::request::{
    Refusal, Request, auth, client, command, config, echo, flushdb, hello, info, key, keys, mset, none, ping,
    scan, select, set, wait, waitaof,
};

/// A command.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its name, in capitals.
    pub name: &'static str,
    /// Its arguments with the name; negative: at least so many.
    pub arity: i64,
    /// As `COMMAND` names what it does.
    pub flags: &'static [&'static str],
    /// First key, last key (-1: the last argument) and their distance; zeros: no keys.
    pub keys: [i64; 3],
    /// As `COMMAND DOCS` sorts it.
    pub group: &'static str,
    /// One line about it.
    pub summary: &'static str,
    pub(crate) read: for<'a, 'p> fn(Args<'a, 'p>) -> Result<Request<'a, 'p>, Refusal<'a>>,
}

macro_rules! commands {
    ($($name:literal $arity:literal $flags:tt $keys:tt $group:literal $summary:literal $read:expr;)*) => {
        &[$(Row { name: $name, arity: $arity, flags: &$flags, keys: $keys, group: $group, summary: $summary, read: $read }),*]
    };
}

/// All of them; those first that are asked for most.
pub const COMMANDS: &[Row] = commands! {
    "GET" 2 ["readonly", "fast"] [1, 1, 1] "string" "The value of a key." |args| key(Request::Get, args);
    "SET" -3 ["write", "denyoom"] [1, 1, 1] "string" "Stores a pair. NX, XX, GET, KEEPTTL." set;
    "MGET" -2 ["readonly", "fast"] [1, -1, 1] "string" "The values of keys." |args| keys(Request::MultiGet, args);
    "MSET" -3 ["write", "denyoom"] [1, -1, 2] "string" "Stores pairs, all of them or none." mset;
    "DEL" -2 ["write"] [1, -1, 1] "generic" "Deletes keys; how many there were." |args| keys(Request::Delete, args);
    "UNLINK" -2 ["write", "fast"] [1, -1, 1] "generic" "The same as DEL." |args| keys(Request::Delete, args);
    "EXISTS" -2 ["readonly", "fast"] [1, -1, 1] "generic" "How many of the keys exist." |args| keys(Request::Exists, args);
    "STRLEN" 2 ["readonly", "fast"] [1, 1, 1] "string" "Bytes of a value." |args| key(Request::Length, args);
    "SCAN" -2 ["readonly"] [0, 0, 0] "generic" "Some of the keys, and where to go on. MATCH, COUNT." scan;
    "DBSIZE" 1 ["readonly", "fast"] [0, 0, 0] "server" "How many keys there are." |args| none(Request::Size, args);
    "FLUSHDB" -1 ["write"] [0, 0, 0] "server" "Deletes everything, wholly or not at all." flushdb;
    "FLUSHALL" -1 ["write"] [0, 0, 0] "server" "The same as FLUSHDB." flushdb;
    "WAIT" 3 ["blocking"] [0, 0, 0] "generic" "Makes what was acknowledged survive a power cut." wait;
    "WAITAOF" 4 ["blocking"] [0, 0, 0] "generic" "The same as WAIT, with another answer." waitaof;
    "PING" -1 ["fast"] [0, 0, 0] "connection" "Whether the server is there." ping;
    "ECHO" 2 ["fast"] [0, 0, 0] "connection" "Its argument." echo;
    "SELECT" 2 ["loading", "fast"] [0, 0, 0] "connection" "Database 0." select;
    "HELLO" -1 ["noscript", "loading", "no_auth", "fast"] [0, 0, 0] "connection" "Version of the protocol." hello;
    "AUTH" -2 ["noscript", "loading", "no_auth", "fast"] [0, 0, 0] "connection" "Who somebody is." auth;
    "INFO" -1 ["loading"] [0, 0, 0] "server" "About the server." info;
    "CONFIG" -2 ["admin", "loading"] [0, 0, 0] "server" "GET: settings." config;
    "COMMAND" -1 ["loading"] [0, 0, 0] "server" "About commands. COUNT, LIST, INFO, DOCS." command;
    "CLIENT" -2 ["loading"] [0, 0, 0] "connection" "ID, GETNAME, SETNAME, SETINFO, INFO, LIST." client;
    "RESET" 1 ["noscript", "loading", "no_auth", "fast"] [0, 0, 0] "connection" "As a new connection." |args| none(Request::Reset, args);
    "QUIT" -1 ["noscript", "loading", "no_auth", "fast"] [0, 0, 0] "connection" "Closes the connection." |_| Ok(Request::Quit);
};

/// The command of that name, in whatever case.
#[inline]
#[must_use]
pub fn find(name: &[u8]) -> Option<&'static Row> {
    COMMANDS.iter().find(|row| row.name.as_bytes().eq_ignore_ascii_case(name))
}

/// A command out of its arguments.
///
/// # Errors
/// [`Refusal`].
#[inline]
pub fn request<'a, 'p>(args: Args<'a, 'p>) -> Result<Request<'a, 'p>, Refusal<'a>> {
    let name = args.at(0);
    let row = find(name).ok_or(Refusal::Unknown(name))?;
    if !row.takes(args.len()) {
        return Err(Refusal::Arity(name));
    }
    (row.read)(args)
}

impl Row {
    /// Whether it takes so many arguments.
    #[inline]
    #[must_use]
    pub const fn takes(&self, arguments: usize) -> bool {
        let arguments = arguments as i64;
        if self.arity < 0 { arguments >= -self.arity } else { arguments == self.arity }
    }

    /// Whether it is for those who have not said who they are.
    #[must_use]
    pub fn is_for_strangers(&self) -> bool {
        self.flags.contains(&"no_auth")
    }

    /// Its row of `COMMAND`.
    pub fn write_info(&self, replies: &mut Replies) {
        replies.array(6);
        replies.bulk(self.name.to_ascii_lowercase().as_bytes());
        replies.integer(self.arity);
        replies.array(self.flags.len());
        self.flags.iter().for_each(|flag| replies.simple(flag));
        self.keys.iter().for_each(|key| replies.integer(*key));
    }

    /// Its entry of `COMMAND DOCS`.
    pub fn write_docs(&self, replies: &mut Replies) {
        replies.bulk(self.name.to_ascii_lowercase().as_bytes());
        replies.map(3);
        for (name, text) in [("summary", self.summary), ("since", "1.0.0"), ("group", self.group)] {
            replies.bulk(name.as_bytes());
            replies.bulk(text.as_bytes());
        }
    }
}
