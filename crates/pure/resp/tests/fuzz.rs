// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands, good and spoilt, in pieces of all sizes.

use saker_resp::table::request;
use saker_resp::{Limits, Next, Parser, Replies};
use saker_sim::seed::{Rng, Seed};
use saker_testing::{seeds, tier};

use crate::support::{command, feed};

const WORDS: [&[u8]; 24] = [
    b"GET", b"SET", b"MGET", b"MSET", b"DEL", b"EXISTS", b"SCAN", b"HELLO", b"AUTH", b"CLIENT", b"COMMAND",
    b"CONFIG", b"WAIT", b"NX", b"GET", b"COUNT", b"MATCH", b"0", b"3", b"-1", b"default", b"SETNAME", b"",
    b"\r\n",
];

fn argument(rng: &mut Rng) -> Vec<u8> {
    match rng.below(4) {
        0..3 => WORDS[rng.below(WORDS.len() as u64) as usize].to_vec(),
        _ => {
            // Now and then beyond the limit of 40.
            let mut bytes = vec![0; rng.below(48) as usize];
            rng.fill(&mut bytes);
            bytes
        }
    }
}

/// Commands of a connection.
fn stream(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..1 + rng.below(8) {
        let arguments: Vec<Vec<u8>> = (0..1 + rng.below(9)).map(|_| argument(rng)).collect();
        if rng.below(8) == 0 {
            bytes.extend(arguments.join(&b' '));
            bytes.extend_from_slice(b"\r\n");
        } else {
            bytes.extend(command(&arguments.iter().map(Vec::as_slice).collect::<Vec<_>>()));
        }
    }
    bytes
}

fn spoil(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..rng.below(4) {
        let at = rng.below(bytes.len() as u64 + 1) as usize;
        match rng.below(4) {
            0 if at < bytes.len() => bytes[at] = rng.below(256) as u8,
            1 if at < bytes.len() => drop(bytes.remove(at)),
            2 => bytes.insert(at, b"*$\r\n-0123456789"[rng.below(15) as usize]),
            _ => bytes.truncate(at.max(1)),
        }
    }
}

fn pieces<'b>(bytes: &'b [u8], rng: &mut Rng) -> Vec<&'b [u8]> {
    let (mut rest, mut pieces) = (bytes, Vec::new());
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(1 + rng.below(rest.len().min(24) as u64) as usize);
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

/// Every request is understood or refused, without a panic; what a refusal is answered with is one line.
fn understand(bytes: &[u8]) {
    let limits = Limits { arguments_max: 64, argument_bytes_max: 1 << 20, command_bytes_max: 1 << 20 };
    let (mut parser, mut rest) = (Parser::new(limits), bytes);
    while let Next::Command(used) = parser.next(rest) {
        let (this, behind) = rest.split_at(used);
        rest = behind;
        if let Err(refusal) = request(parser.args(this)) {
            let mut replies = Replies::default();
            refusal.write(&mut replies);
            let line = replies.bytes().strip_suffix(b"\r\n").expect("a line ends");
            assert!(line.first() == Some(&b'-') && !line.contains(&b'\n') && !line.contains(&b'\r'));
        }
    }
}

#[test]
fn it_does_not_matter_how_bytes_come() {
    for seed in seeds(tier(20_000, 100_000_000)) {
        let mut rng = Seed(seed).child("resp").rng();
        let mut bytes = stream(&mut rng);
        spoil(&mut bytes, &mut rng);
        let whole = feed([&bytes[..]]);
        assert_eq!(whole, feed(pieces(&bytes, &mut rng)), "seed {seed}: {}", bytes.escape_ascii());
        understand(&bytes);
    }
}
