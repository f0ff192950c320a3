// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What commands ask.

use saker_resp::request::ClientRequest;
use saker_resp::table::{COMMANDS, request};
use saker_resp::{Condition, Limits, Next, Parser, Replies, Request, Version};

use crate::support::command;

const LIMITS: Limits = Limits { arguments_max: 100, argument_bytes_max: 1000, command_bytes_max: 10_000 };

/// The request of a line, told by `tell`; or the error it is answered with.
fn ask<R>(line: &str, tell: impl FnOnce(Request<'_, '_>) -> R) -> Result<R, String> {
    let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
    let bytes = command(&words);
    let mut parser = Parser::new(LIMITS);
    assert_eq!(parser.next(&bytes), Next::Command(bytes.len()));
    request(parser.args(&bytes)).map(tell).map_err(|refusal| {
        let mut replies = Replies::default();
        refusal.write(&mut replies);
        String::from_utf8_lossy(replies.bytes()).trim_end().to_owned()
    })
}

fn refused(line: &str) -> String {
    ask(line, |request| format!("{request:?}")).expect_err(line)
}

#[test]
fn options_of_set() {
    let set = |line: &str| {
        ask(line, |request| match request {
            Request::Set { condition, returns_old, .. } => (condition, returns_old),
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(set("set k v"), Ok((Condition::Always, false)));
    assert_eq!(set("SET k v nx"), Ok((Condition::Absent, false)));
    assert_eq!(set("SET k v GET XX"), Ok((Condition::Present, true)));
    assert_eq!(set("SET k v KEEPTTL NX GET"), Ok((Condition::Absent, true)));
    for line in ["SET k v NX XX", "SET k v NX NX", "SET k v WHATEVER"] {
        assert_eq!(refused(line), "-ERR syntax error", "{line}");
    }
    for option in ["EX", "PX", "EXAT", "PXAT", "IFEQ"] {
        assert_eq!(
            refused(&format!("SET k v {option} 10")),
            format!("-ERR SET {option} is not supported here")
        );
    }
}

#[test]
fn scans() {
    let scan = |line: &str| {
        ask(line, |request| match request {
            Request::Scan(scan) => (scan.cursor, scan.pattern.map(<[u8]>::to_vec), scan.count),
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(scan("SCAN 0"), Ok((0, None, 10)));
    assert_eq!(scan("SCAN 17 COUNT 5 MATCH a*"), Ok((17, Some(b"a*".to_vec()), 5)));
    assert_eq!(scan("SCAN 0 MATCH *"), Ok((0, None, 10)), "everything fits");
    let bad = [
        ("SCAN x", "-ERR invalid cursor"),
        ("SCAN -1", "-ERR invalid cursor"),
        ("SCAN 0 COUNT 0", "-ERR syntax error"),
        ("SCAN 0 COUNT x", "-ERR value is not an integer or out of range"),
        ("SCAN 0 MATCH", "-ERR syntax error"),
        ("SCAN 0 TYPE string", "-ERR SCAN TYPE is not supported here"),
    ];
    for (line, error) in bad {
        assert_eq!(refused(line), error, "{line}");
    }
}

#[test]
fn hello_and_auth() {
    let hello = |line: &str| {
        ask(line, |request| match request {
            Request::Hello(hello) => (hello.version, hello.auth.is_some(), hello.name.map(<[u8]>::to_vec)),
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(hello("HELLO"), Ok((None, false, None)));
    assert_eq!(hello("HELLO 3"), Ok((Some(Version::Three), false, None)));
    assert_eq!(hello("HELLO 2 AUTH u p SETNAME me"), Ok((Some(Version::Two), true, Some(b"me".to_vec()))));
    assert_eq!(refused("HELLO 4"), "-NOPROTO unsupported protocol version");
    assert_eq!(refused("HELLO 3 AUTH u"), "-ERR syntax error");
    let user = |line: &str| {
        ask(line, |request| match request {
            Request::Auth(auth) => auth.user.to_vec(),
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(user("AUTH p"), Ok(b"default".to_vec()));
    assert_eq!(user("AUTH u p"), Ok(b"u".to_vec()));
}

#[test]
fn what_is_not_there_is_refused_loudly() {
    let bad = [
        ("INCR k", "-ERR unknown command 'INCR': docs/redis.md has the list"),
        ("GET", "-ERR wrong number of arguments for 'get' command"),
        ("GET a b", "-ERR wrong number of arguments for 'get' command"),
        ("MSET a 1 b", "-ERR wrong number of arguments for 'mset' command"),
        ("SELECT 1", "-ERR DB index is out of range: there is database 0"),
        ("SELECT x", "-ERR value is not an integer or out of range"),
        ("CONFIG SET a b", "-ERR unknown subcommand 'SET' of CONFIG: docs/redis.md has the list"),
        ("CLIENT KILL x", "-ERR unknown subcommand 'KILL' of CLIENT: docs/redis.md has the list"),
        ("COMMAND GETKEYS GET a", "-ERR unknown subcommand 'GETKEYS' of COMMAND: docs/redis.md has the list"),
        ("WAIT one 0", "-ERR value is not an integer or out of range"),
        ("FLUSHDB NOW", "-ERR syntax error"),
        ("PING a b", "-ERR wrong number of arguments for 'ping' command"),
    ];
    for (line, error) in bad {
        assert_eq!(refused(line), error, "{line}");
    }
    let name = ask("CLIENT SETNAME a\nb", |_| ());
    assert!(name.is_err_and(|error| error.starts_with("-ERR Client names")));
    let id = ask("client id", |request| matches!(request, Request::Client(ClientRequest::Id)));
    assert_eq!(id, Ok(true));
}

#[test]
fn the_table_says_what_the_commands_take() {
    for row in COMMANDS {
        let least = row.arity.unsigned_abs() as usize;
        assert!(row.takes(least) && !row.takes(least - 1), "{}", row.name);
        assert_eq!(row.takes(least + 1), row.arity < 0, "{}", row.name);
        assert!(row.name.bytes().all(|byte| byte.is_ascii_uppercase()), "{}", row.name);
    }
}
