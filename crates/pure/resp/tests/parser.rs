// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where commands begin and end.

use saker_resp::Refused;
use saker_resp::parser::Broken;

use crate::support::{Event, command, feed};

fn words(words: &[&str]) -> Event {
    Event::Command(words.iter().map(|word| word.as_bytes().to_vec()).collect())
}

fn one(bytes: &[u8]) -> Vec<Event> {
    let whole = feed([bytes]);
    assert_eq!(whole, feed(bytes.chunks(1)), "it matters how the bytes come: {}", bytes.escape_ascii());
    whole
}

#[test]
fn arrays_of_bulk_strings_are_commands() {
    assert_eq!(one(b"*1\r\n$4\r\nPING\r\n"), [words(&["PING"])]);
    let pipeline = [command(&[b"SET", b"k", b"a\r\nb"]), command(&[b"GET", b"k"]), command(&[b""])].concat();
    assert_eq!(one(&pipeline), [words(&["SET", "k", "a\r\nb"]), words(&["GET", "k"]), words(&[""])]);
}

#[test]
fn lines_are_commands() {
    assert_eq!(one(b"PING\r\n"), [words(&["PING"])]);
    assert_eq!(one(b"  set  k\tv \nget k\r\n"), [words(&["set", "k", "v"]), words(&["get", "k"])]);
}

#[test]
fn nothing_is_no_command() {
    assert_eq!(one(b"*0\r\n*-1\r\n\r\n   \r\n*1\r\n$4\r\nPING\r\n"), [words(&["PING"])]);
}

#[test]
fn what_is_too_long_is_thrown_away_and_the_next_is_understood() {
    let long = [b'x'; 41];
    let many: [&[u8]; 9] = [b"a"; 9];
    let together: [&[u8]; 4] = [&[b'y'; 40]; 4];
    let ping = command(&[b"PING"]);
    let cases = [
        (command(&[b"SET", b"k", &long]), Refused::Argument),
        (command(&[b"SET", &long, b"v"]), Refused::Argument),
        (command(&many), Refused::Arguments),
        (command(&together), Refused::Command),
    ];
    for (bytes, why) in cases {
        let bytes = [&ping[..], &bytes, &bytes, &ping].concat();
        let expected = [words(&["PING"]), Event::Refused(why), Event::Refused(why), words(&["PING"])];
        assert_eq!(one(&bytes), expected);
    }
}

#[test]
fn half_a_gigabyte_takes_no_memory() {
    let head = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$536870912\r\n".to_vec();
    let piece = vec![b'x'; 1 << 20];
    let mut pieces: Vec<&[u8]> = vec![&head];
    // `feed` asserts what is held.
    pieces.extend((0..512).map(|_| &piece[..]));
    pieces.push(b"\r\n*1\r\n$4\r\nPING\r\n");
    assert_eq!(feed(pieces), [Event::Refused(Refused::Argument), words(&["PING"])]);
}

#[test]
fn bytes_that_are_no_commands_end_the_connection() {
    let cases: [(&[u8], Broken); 11] = [
        (b"*x\r\n", Broken::Header),
        (b"*1048577\r\n", Broken::ArgumentCount),
        (b"*00000000000000000000000000000000", Broken::Header),
        (b"*1\rx$4\r\n", Broken::Header),
        (b"*1\r\nPING\r\n", Broken::NoBulk(b'P')),
        (b"*1\r\n$-1\r\n", Broken::BulkLength),
        (b"*1\r\n$536870913\r\n", Broken::BulkLength),
        (b"*1\r\n$99999999999999999999\r\n", Broken::BulkLength),
        (b"*1\r\n$1\r\nxyz\r\n", Broken::NoEnd),
        (b"*9\r\n$1\r\nx\r\nboom", Broken::NoBulk(b'b')),
        (&[b'x'; 64 << 10], Broken::Line),
    ];
    for (bytes, broken) in cases {
        assert_eq!(one(bytes), [Event::Broken(broken)], "{}", bytes.escape_ascii());
    }
}
