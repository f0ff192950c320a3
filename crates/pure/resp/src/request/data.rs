// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands of pairs.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::{Condition, Refusal, Request};
use crate::args::Args;

pub(crate) type Read<'a, 'p> = Result<Request<'a, 'p>, Refusal<'a>>;

pub(crate) fn ping<'a, 'p>(args: Args<'a, 'p>) -> Read<'a, 'p> {
    if args.len() > 2 { Err(Refusal::Arity(args.at(0))) } else { Ok(Request::Ping(args.get(1))) }
}

pub(crate) fn echo<'a, 'p>(args: Args<'a, 'p>) -> Read<'a, 'p> {
    Ok(Request::Echo(args.at(1)))
}

/// `GET`, `STRLEN`
pub(crate) fn key<'a, 'p>(make: fn(&'a [u8]) -> Request<'a, 'p>, args: Args<'a, 'p>) -> Read<'a, 'p> {
    Ok(make(args.at(1)))
}

/// `MGET`, `DEL`, `EXISTS`
pub(crate) fn keys<'a, 'p>(make: fn(Args<'a, 'p>) -> Request<'a, 'p>, args: Args<'a, 'p>) -> Read<'a, 'p> {
    Ok(make(args.from(1)))
}

pub(crate) fn mset<'a, 'p>(args: Args<'a, 'p>) -> Read<'a, 'p> {
    let pairs = args.from(1);
    if pairs.len() % 2 == 1 { Err(Refusal::Arity(args.at(0))) } else { Ok(Request::MultiSet(pairs)) }
}

pub(crate) fn set<'a, 'p>(args: Args<'a, 'p>) -> Read<'a, 'p> {
    let (mut condition, mut returns_old) = (Condition::Always, false);
    for option in args.from(3).iter() {
        match (option.to_ascii_uppercase().as_slice(), condition) {
            (b"NX", Condition::Always) => condition = Condition::Absent,
            (b"XX", Condition::Always) => condition = Condition::Present,
            (b"GET", _) => returns_old = true,
            // No pair has a time to live, so there is none to lose.
            (b"KEEPTTL", _) => {}
            (b"EX" | b"PX" | b"EXAT" | b"PXAT" | b"IFEQ" | b"IFNE" | b"IFDEQ" | b"IFDNE", _) => {
                return Err(Refusal::Unsupported("SET", option));
            }
            _ => return Err(Refusal::Syntax),
        }
    }
    Ok(Request::Set { key: args.at(1), value: args.at(2), condition, returns_old })
}
