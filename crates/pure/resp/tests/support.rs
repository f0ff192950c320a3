// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A connection without a socket.

use saker_resp::parser::Broken;
use saker_resp::{Limits, Next, Parser, Refused};

/// What has come out of a connection's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Command(Vec<Vec<u8>>),
    Refused(Refused),
    Broken(Broken),
}

/// Small enough to be met.
pub const LIMITS: Limits = Limits { arguments_max: 8, argument_bytes_max: 40, command_bytes_max: 120 };

/// Bytes that a connection may hold of an unfinished command: the longest command, or a line.
pub const HELD_BYTES_MAX: usize = 64 << 10;

/// Feeds `pieces` one behind the other, as sockets do. No byte is shown again once it is done with.
pub fn feed<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> Vec<Event> {
    let (mut parser, mut input, mut events) = (Parser::new(LIMITS), Vec::new(), Vec::new());
    for piece in pieces {
        input.extend_from_slice(piece);
        loop {
            let next = parser.next(&input);
            let used = match next {
                Next::More => break,
                Next::Command(bytes) => {
                    let args = parser.args(&input[..bytes]);
                    if !args.is_empty() {
                        events.push(Event::Command(args.iter().map(<[u8]>::to_vec).collect()));
                    }
                    bytes
                }
                Next::Skip(bytes) => bytes,
                Next::Refused(bytes, why) => {
                    events.push(Event::Refused(why));
                    bytes
                }
                Next::Broken(broken) => {
                    events.push(Event::Broken(broken));
                    return events;
                }
            };
            assert!(used <= input.len(), "{next:?} of {} bytes", input.len());
            input.drain(..used);
        }
        assert!(input.len() <= HELD_BYTES_MAX + piece.len(), "{} bytes are held", input.len());
        assert!(parser.memory() <= HELD_BYTES_MAX * 8, "{} bytes of places", parser.memory());
    }
    events
}

/// A command as clients write it.
pub fn command(arguments: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        bytes.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
        bytes.extend_from_slice(argument);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}
