// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `CLIENT`

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::data::Read;
use super::{Refusal, Request};
use crate::args::Args;

/// What is asked of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientRequest<'a> {
    /// `ID`
    Id,
    /// `GETNAME`
    Name,
    /// `SETNAME`
    SetName(&'a [u8]),
    /// `SETINFO LIB-NAME` or `LIB-VER`, which is told by `is_version`.
    SetLibrary {
        /// The version, not the name.
        is_version: bool,
        /// What it is.
        value: &'a [u8],
    },
    /// `LIST`: all connections.
    List,
    /// `INFO`: this one.
    Info,
}

pub(crate) fn client<'a, 'p>(args: Args<'a, 'p>) -> Read<'a, 'p> {
    let (word, count) = (args.at(1), args.len());
    let request = match (word.to_ascii_uppercase().as_slice(), count) {
        (b"ID", 2) => ClientRequest::Id,
        (b"GETNAME", 2) => ClientRequest::Name,
        (b"SETNAME", 3) => ClientRequest::SetName(name(args.at(2))?),
        (b"SETINFO", 4) => {
            let is_version = args.is(2, "LIB-VER");
            if !is_version && !args.is(2, "LIB-NAME") {
                return Err(Refusal::Unsupported("CLIENT SETINFO", args.at(2)));
            }
            ClientRequest::SetLibrary { is_version, value: name(args.at(3))? }
        }
        (b"LIST", 2) => ClientRequest::List,
        (b"INFO", 2) => ClientRequest::Info,
        (b"ID" | b"GETNAME" | b"SETNAME" | b"SETINFO" | b"INFO", _) => {
            return Err(Refusal::Arity(args.at(0)));
        }
        (b"LIST", _) => return Err(Refusal::Unsupported("CLIENT LIST", args.at(2))),
        _ => return Err(Refusal::Subcommand("CLIENT", word)),
    };
    Ok(Request::Client(request))
}

/// A name that fits a line of `CLIENT LIST`.
pub(crate) fn name(bytes: &[u8]) -> Result<&[u8], Refusal<'_>> {
    if bytes.iter().all(u8::is_ascii_graphic) { Ok(bytes) } else { Err(Refusal::Name) }
}
