// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `SCAN`

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::data::Read;
use super::{Refusal, Request};
use crate::args::Args;
use crate::number::{integer, unsigned};

/// One step through all keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan<'a> {
    /// Where to go on; 0: from the beginning.
    pub cursor: u64,
    /// `MATCH`: what keys have to fit.
    pub pattern: Option<&'a [u8]>,
    /// `COUNT`: keys that are looked at, at least 1.
    pub count: u64,
}

/// Keys that are looked at unless the command says otherwise.
const COUNT: u64 = 10;

pub(crate) fn scan<'a, 'p>(args: Args<'a, 'p>) -> Read<'a, 'p> {
    let cursor = unsigned(args.at(1)).ok_or(Refusal::Cursor)?;
    let mut scan = Scan { cursor, pattern: None, count: COUNT };
    let options = args.from(2);
    for (option, value) in options.pairs() {
        match option.to_ascii_uppercase().as_slice() {
            b"MATCH" => scan.pattern = Some(value).filter(|pattern| *pattern != b"*"),
            b"COUNT" => match integer(value).ok_or(Refusal::Integer)? {
                count @ 1.. => scan.count = count.unsigned_abs(),
                _ => return Err(Refusal::Syntax),
            },
            b"TYPE" => return Err(Refusal::Unsupported("SCAN", option)),
            _ => return Err(Refusal::Syntax),
        }
    }
    if options.len() % 2 == 1 { Err(Refusal::Syntax) } else { Ok(Request::Scan(scan)) }
}
