// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands about the connection and the server.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::client::name;
use super::data::Read;
use super::{Refusal, Request};
use crate::args::Args;
use crate::number::integer;
use crate::reply::Version;

/// Who somebody says to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Auth<'a> {
    /// `default`, unless another is named.
    pub user: &'a [u8],
    /// The password.
    pub password: &'a [u8],
}

/// `HELLO`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hello<'a> {
    /// The version of the protocol from now on.
    pub version: Option<Version>,
    /// `AUTH`
    pub auth: Option<Auth<'a>>,
    /// `SETNAME`
    pub name: Option<&'a [u8]>,
}

/// What is asked about commands.
#[derive(Clone, Copy, Debug)]
pub enum CommandRequest<'a, 'p> {
    /// `COUNT`
    Count,
    /// `LIST`
    List,
    /// `INFO`, or nothing: of these, or of all.
    Info(Args<'a, 'p>),
    /// `DOCS`: of these, or of all.
    Docs(Args<'a, 'p>),
}

/// A command without arguments.
pub(crate) fn none<'a, 'p>(request: Request<'a, 'p>, args: Args<'a, 'p>) -> Read<'a, 'p> {
    if args.len() > 1 { Err(Refusal::Arity(args.at(0))) } else { Ok(request) }
}

/// `FLUSHDB`, `FLUSHALL`: there is one way, whatever is asked for.
pub(crate) fn flushdb<'a, 'p>(args: Args<'a, 'p>) -> Read<'a, 'p> {
    match args.len() {
        1 => Ok(Request::Clear),
        2 if args.is(1, "ASYNC") || args.is(1, "SYNC") => Ok(Request::Clear),
        _ => Err(Refusal::Syntax),
    }
}

pub(crate) fn wait<'a, 'p>(args: Args<'a, 'p>) -> Read<'a, 'p> {
    numbers(args, Request::Wait)
}

pub(crate) fn waitaof<'a, 'p>(args: Args<'a, 'p>) -> Read<'a, 'p> {
    numbers(args, Request::WaitLocal)
}

/// How many are waited for, and how long, does not matter: the answer comes when everything is durable.
fn numbers<'a, 'p>(args: Args<'a, 'p>, request: Request<'a, 'p>) -> Read<'a, 'p> {
    let are_numbers = args.from(1).iter().all(|arg| integer(arg).is_some_and(|number| number >= 0));
    if are_numbers { Ok(request) } else { Err(Refusal::Integer) }
}

pub(crate) fn select<'a, 'p>(args: Args<'a, 'p>) -> Read<'a, 'p> {
    match integer(args.at(1)) {
        Some(0) => Ok(Request::Select),
        Some(_) => Err(Refusal::Database),
        None => Err(Refusal::Integer),
    }
}

pub(crate) fn auth<'a, 'p>(args: Args<'a, 'p>) -> Read<'a, 'p> {
    match args.len() {
        2 => Ok(Request::Auth(Auth { user: b"default", password: args.at(1) })),
        3 => Ok(Request::Auth(Auth { user: args.at(1), password: args.at(2) })),
        _ => Err(Refusal::Syntax),
    }
}

pub(crate) fn hello<'a, 'p>(args: Args<'a, 'p>) -> Read<'a, 'p> {
    let mut hello = Hello::default();
    if let Some(version) = args.get(1) {
        hello.version = Some(match integer(version) {
            Some(2) => Version::Two,
            Some(3) => Version::Three,
            _ => return Err(Refusal::Version),
        });
    }
    let mut rest = args.from(2);
    while !rest.is_empty() {
        if rest.is(0, "AUTH") && rest.len() >= 3 {
            hello.auth = Some(Auth { user: rest.at(1), password: rest.at(2) });
            rest = rest.from(3);
        } else if rest.is(0, "SETNAME") && rest.len() >= 2 {
            hello.name = Some(name(rest.at(1))?);
            rest = rest.from(2);
        } else {
            return Err(Refusal::Syntax);
        }
    }
    Ok(Request::Hello(hello))
}

pub(crate) fn info<'a, 'p>(args: Args<'a, 'p>) -> Read<'a, 'p> {
    Ok(Request::Info(args.from(1)))
}

pub(crate) fn config<'a, 'p>(args: Args<'a, 'p>) -> Read<'a, 'p> {
    match args.len() {
        3.. if args.is(1, "GET") => Ok(Request::ConfigGet(args.from(2))),
        2 if args.is(1, "GET") => Err(Refusal::Arity(args.at(0))),
        _ => Err(Refusal::Subcommand("CONFIG", args.at(1))),
    }
}

pub(crate) fn command<'a, 'p>(args: Args<'a, 'p>) -> Read<'a, 'p> {
    let (word, rest) = (args.at(1), args.from(2));
    let request = match word.to_ascii_uppercase().as_slice() {
        b"" => CommandRequest::Info(rest),
        b"INFO" => CommandRequest::Info(rest),
        b"DOCS" => CommandRequest::Docs(rest),
        b"COUNT" if rest.is_empty() => CommandRequest::Count,
        b"LIST" if rest.is_empty() => CommandRequest::List,
        b"COUNT" => return Err(Refusal::Arity(args.at(0))),
        b"LIST" => return Err(Refusal::Unsupported("COMMAND LIST", rest.at(0))),
        _ => return Err(Refusal::Subcommand("COMMAND", word)),
    };
    Ok(Request::Command(request))
}
