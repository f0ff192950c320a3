// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Each command, and how connections begin and end.

use super::client::{Reply, bulk, error, ok};
use super::server::{connect, serve, serve_with};

const DEVICE: &str = "mem:?size=64MiB&profile=tiny";

#[test]
fn pairs() {
    let server = serve(DEVICE);
    let mut redis = connect(&server);
    let talk: [(&str, Reply); 29] = [
        ("GET k", Reply::Null),
        ("SET k v", ok()),
        ("get k", bulk("v")),
        ("STRLEN k", Reply::Integer(1)),
        ("STRLEN none", Reply::Integer(0)),
        ("SET k w NX", Reply::Null),
        ("SET k w XX", ok()),
        ("SET other w XX", Reply::Null),
        ("SET other w NX", ok()),
        ("SET k x GET", bulk("w")),
        ("SET new x GET", Reply::Null),
        ("SET new y NX GET", bulk("x")),
        ("SET newer y NX GET", Reply::Null),
        ("SET newest y XX GET", Reply::Null),
        ("GET newest", Reply::Null),
        ("SET new z XX GET KEEPTTL", bulk("x")),
        ("MGET k none new", Reply::Array(vec![bulk("x"), Reply::Null, bulk("z")])),
        ("EXISTS k k none new", Reply::Integer(3)),
        ("MSET a 1 b 2 a 3", ok()),
        ("MGET a b", Reply::Array(vec![bulk("3"), bulk("2")])),
        ("MSET only one", ok()),
        ("DBSIZE", Reply::Integer(7)),
        ("DEL a a none", Reply::Integer(1)),
        ("UNLINK b", Reply::Integer(1)),
        ("DEL none", Reply::Integer(0)),
        ("WAIT 1 100", Reply::Integer(1)),
        ("WAITAOF 1 0 0", Reply::Array(vec![Reply::Integer(1), Reply::Integer(0)])),
        ("FLUSHDB", ok()),
        ("DBSIZE", Reply::Integer(0)),
    ];
    for (line, expected) in talk {
        assert_eq!(redis.line(line), expected, "{line}");
    }
}

#[test]
fn a_pipeline_is_answered_in_its_order() {
    let server = serve(DEVICE);
    let mut redis = connect(&server);
    let lines = [
        "SET a 1",
        "GET a",
        "SET a 2",
        "SET b 3",
        "MGET a b",
        "DEL a b none",
        "GET a",
        "NO",
        "PING x",
        "EXISTS a",
        "GET",
    ];
    for line in lines {
        redis.send(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>());
    }
    let answers: Vec<Reply> = lines.iter().map(|_| redis.read()).collect();
    assert_eq!(answers[..4], [ok(), bulk("1"), ok(), ok()]);
    assert_eq!(answers[4], Reply::Array(vec![bulk("2"), bulk("3")]));
    assert_eq!(answers[5..7], [Reply::Integer(2), Reply::Null]);
    assert!(error(&answers[7]).starts_with("ERR unknown command 'NO'"));
    assert_eq!(answers[8..10], [bulk("x"), Reply::Integer(0)]);
    assert!(error(&answers[10]).starts_with("ERR wrong number"));
}

#[test]
fn keys_and_values_of_every_length() {
    let server = serve("mem:?size=512MiB");
    let mut redis = connect(&server);
    let lengths = [0, 1, 100, 4095, 4096, 4097, 70_000, 1 << 20, 2 << 20];
    for key_bytes in [1, 15, 16, 17, 254, 255] {
        for (n, value_bytes) in lengths.into_iter().enumerate() {
            let key = vec![b'a' + n as u8; key_bytes];
            // A key that is not the device's own takes its length, and 13 bytes, from the longest value.
            let value_bytes = value_bytes.min((2 << 20) - if key_bytes > 16 { key_bytes + 13 } else { 0 });
            let value = vec![n as u8; value_bytes];
            assert_eq!(redis.ask(&[b"SET", &key, &value]), ok(), "{key_bytes} {value_bytes}");
            assert_eq!(redis.ask(&[b"STRLEN", &key]), Reply::Integer(value_bytes as i64));
            assert_eq!(redis.ask(&[b"GET", &key]), Reply::Bulk(value.clone()), "{key_bytes} {value_bytes}");
            assert_eq!(
                redis.ask(&[b"MGET", &key, b"none"]),
                Reply::Array(vec![Reply::Bulk(value), Reply::Null])
            );
            assert_eq!(redis.ask(&[b"EXISTS", &key]), Reply::Integer(1));
            assert_eq!(redis.ask(&[b"DEL", &key]), Reply::Integer(1));
        }
    }
    let value = vec![0; (2 << 20) + 1];
    assert!(error(&redis.ask(&[b"SET", b"k", &value])).contains("longer than a value"));
    for key in [vec![b'k'; 256], Vec::new()] {
        for name in [&b"GET"[..], b"DEL", b"EXISTS", b"STRLEN", b"MGET"] {
            assert!(error(&redis.ask(&[name, &key])).starts_with("ERR a key has 1 to 255 bytes"));
        }
        assert!(error(&redis.ask(&[b"SET", &key, b"v"])).starts_with("ERR a key has"));
        assert!(error(&redis.ask(&[b"MSET", b"k", b"v", &key, b"v"])).starts_with("ERR a key has"));
    }
    assert_eq!(redis.line("DBSIZE"), Reply::Integer(0));
}

#[test]
fn about_connection_and_server() {
    let server = serve(DEVICE);
    let mut redis = connect(&server);
    assert_eq!(redis.line("PING"), Reply::Simple("PONG".into()));
    redis.write(b"ping hello\r\n");
    assert_eq!(redis.read(), bulk("hello"));
    assert_eq!(redis.line("SELECT 0"), ok());
    assert_eq!(redis.line("CLIENT GETNAME"), Reply::Null);
    assert_eq!(redis.line("CLIENT SETNAME me"), ok());
    assert_eq!(redis.line("CLIENT SETINFO LIB-NAME mine"), ok());
    assert_eq!(redis.line("CLIENT GETNAME"), bulk("me"));
    let Reply::Integer(id) = redis.line("CLIENT ID") else { panic!("a number") };
    let text = |reply| match reply {
        Reply::Bulk(bytes) => String::from_utf8(bytes).expect("a text"),
        other => panic!("{other:?}"),
    };
    let list = text(redis.line("CLIENT LIST"));
    assert!(list.contains(&format!("id={id} addr=127.0.0.1:")) && list.contains("lib-name=mine"), "{list}");
    let Reply::Map(hello) = redis.line("HELLO 3") else { panic!("a map") };
    assert!(hello.contains(&bulk("proto")) && hello.contains(&Reply::Integer(3)));
    redis.line("SET k v");
    let info = text(redis.line("INFO"));
    assert!(info.contains("txt:# Server") && info.contains("db0:keys=1,expires=0,avg_ttl=0"), "{info}");
    let info = text(redis.line("INFO keyspace"));
    assert!(!info.contains("Server"), "{info}");
    assert_eq!(
        redis.line("CONFIG GET save appendonly"),
        Reply::Map(["save", "", "appendonly", "yes"].map(bulk).into())
    );
    assert_eq!(redis.line("RESET"), Reply::Simple("RESET".into()));
    assert_eq!(redis.line("GET none"), Reply::Null);
    let Reply::Integer(count) = redis.line("COMMAND COUNT") else { panic!("a number") };
    for line in ["COMMAND", "COMMAND LIST"] {
        assert!(matches!(redis.line(line), Reply::Array(all) if all.len() == count as usize), "{line}");
    }
    assert!(matches!(redis.line("COMMAND INFO get none"), Reply::Array(two) if two[1] == Reply::Null));
    assert!(matches!(redis.line("COMMAND DOCS"), Reply::Array(all) if all.len() == 2 * count as usize));
    assert_eq!(redis.line("QUIT"), ok());
    assert!(redis.is_closed());
}

#[test]
fn whoever_does_not_know_the_password_gets_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("password");
    std::fs::write(&file, "open sesame\nignored\n").expect("written");
    let server = serve_with(DEVICE, |redis| redis.password_file = Some(file));
    let mut redis = connect(&server);
    for line in ["GET k", "SET k v", "INFO", "PING", "FLUSHDB", "CLIENT LIST", "COMMAND"] {
        assert!(error(&redis.line(line)).starts_with("NOAUTH"), "{line}");
    }
    assert!(error(&redis.line("HELLO 3")).starts_with("NOAUTH"));
    assert!(error(&redis.ask(&[b"AUTH", b"open"])).starts_with("WRONGPASS"));
    assert!(error(&redis.ask(&[b"AUTH", b"other", b"open sesame"])).starts_with("WRONGPASS"));
    // A stranger is not listened to for long.
    assert!(error(&redis.ask(&[b"AUTH", &[b'x'; 20_000]])).contains("longer than"));
    assert_eq!(redis.ask(&[b"AUTH", b"open sesame"]), ok());
    assert_eq!(redis.ask(&[b"SET", b"k", &[b'x'; 20_000]]), ok());
    assert_eq!(redis.line("RESET"), Reply::Simple("RESET".into()));
    assert!(error(&redis.line("GET k")).starts_with("NOAUTH"));
    let hello = redis.ask(&[b"HELLO", b"3", b"AUTH", b"default", b"open sesame"]);
    assert!(matches!(hello, Reply::Map(_)));
    // AUTH and what follows may come together.
    let mut other = connect(&server);
    other.send(&[b"AUTH", b"open sesame"]);
    other.send(&[b"SET", b"k", &[b'y'; 20_000]]);
    assert_eq!([other.read(), other.read()], [ok(), ok()]);
    let server = serve(DEVICE);
    let mut open = connect(&server);
    assert!(error(&open.line("AUTH x")).starts_with("ERR AUTH was called"));
}

#[test]
fn bytes_that_are_no_commands_are_told_and_close_the_connection() {
    let server = serve(DEVICE);
    for bytes in [&b"*1\r\n:3\r\n"[..], b"*x\r\n", b"*1\r\n$-5\r\n", b"*1\r\n$1\r\nabc\r\n"] {
        let mut redis = connect(&server);
        redis.send(&[b"SET", b"k", b"v"]);
        redis.write(bytes);
        assert_eq!(redis.read(), ok(), "what came before is answered");
        assert!(error(&redis.read()).starts_with("ERR Protocol error: "));
        assert!(redis.is_closed());
    }
}
