// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Clients that ask for much and do not read, or are many.

use saker_testing::tier;

use super::client::{Redis, Reply, bulk, command, ok};
use super::server::{connect, serve, serve_with};

/// Bytes of memory of this process that are there now.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: usize = status.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number");
    pages * 4096
}

#[test]
fn who_asks_and_does_not_read_is_not_served_further() {
    let server = serve("mem:?size=512MiB");
    let mut redis = connect(&server);
    assert_eq!(redis.ask(&[b"SET", b"big", &vec![1; 1 << 20]]), ok());
    let before = resident();
    let mut greedy = connect(&server);
    let gets = tier(300, 2000);
    for _ in 0..gets {
        greedy.send(&[b"GET", b"big"]);
    }
    // Others are served, and what the greedy one has asked for is not in memory.
    (0..50).for_each(|_| assert_eq!(redis.line("PING"), Reply::Simple("PONG".into())));
    std::thread::sleep(std::time::Duration::from_millis(200));
    let grown = resident().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes for {gets} MiB that nobody reads");
    for _ in 0..gets {
        assert!(matches!(greedy.read(), Reply::Bulk(value) if value.len() == 1 << 20));
    }
}

/// Reads that are put off come before the writes behind them, whatever is between.
#[test]
fn a_read_that_is_put_off_does_not_see_what_comes_behind_it() {
    let server = serve("mem:?size=512MiB");
    let mut redis = connect(&server);
    let old = vec![1; 700_000];
    for round in 0..tier(20_u8, 200) {
        assert_eq!(redis.ask(&[b"SET", b"big", &old]), ok());
        assert_eq!(redis.line("SET small old"), ok());
        let mut pipeline = [command(&[b"GET", b"big"])].concat().repeat(1 + usize::from(round % 7));
        pipeline.extend(command(&[b"GET", b"small"]));
        pipeline.extend(command(&[b"SET", b"small", b"new"]));
        pipeline.extend(command(&[b"SET", b"big", b"new"]));
        pipeline.extend(command(&[b"MGET", b"small", b"big"]));
        redis.write(&pipeline);
        for _ in 0..=round % 7 {
            assert_eq!(redis.read(), Reply::Bulk(old.clone()));
        }
        let new = bulk("new");
        assert_eq!([redis.read(), redis.read(), redis.read()], [bulk("old"), ok(), ok()], "round {round}");
        assert_eq!(redis.read(), Reply::Array(vec![new.clone(), new]));
    }
}

#[test]
fn half_a_gigabyte_that_is_announced_takes_no_memory() {
    let server = serve("mem:?size=64MiB&profile=tiny");
    let before = resident();
    let mut clients: Vec<Redis> = (0..50).map(|_| connect(&server)).collect();
    let piece = vec![0; 1 << 20];
    for client in &mut clients {
        client.write(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$536870912\r\n");
        client.write(&piece);
    }
    let grown = resident().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes");
    assert_eq!(connect(&server).line("EXISTS k"), Reply::Integer(0));
}

#[test]
fn together_they_hold_what_they_may_and_the_largest_goes() {
    let server = serve_with("mem:?size=512MiB", |redis| redis.memory_max = Some(16 << 20));
    let mut small = connect(&server);
    let half = command(&[b"SET", b"k", &vec![1; 2 << 20]]);
    let half = &half[..half.len() - 2];
    let mut clients: Vec<Redis> = (0..20).map(|_| connect(&server)).collect();
    for client in &mut clients {
        // The server may have closed it already.
        let _ = client.try_write(half);
        assert_eq!(small.line("PING"), Reply::Simple("PONG".into()));
    }
    let Reply::Bulk(info) = small.line("INFO stats") else { panic!("a text") };
    let info = String::from_utf8(info).expect("a text");
    let cut: u64 =
        info.lines().find_map(|line| line.strip_prefix("evicted_clients:")?.parse().ok()).expect("a number");
    assert!(cut >= 8, "{cut} were closed");
}

#[test]
fn there_are_so_many_places() {
    let server = serve_with("mem:?size=64MiB&profile=tiny", |redis| redis.clients_max = Some(3));
    let mut clients: Vec<Redis> = (0..3).map(|_| connect(&server)).collect();
    clients.iter_mut().for_each(|client| assert_eq!(client.line("PING"), Reply::Simple("PONG".into())));
    let mut fourth = connect(&server);
    assert!(matches!(fourth.read(), Reply::Error(text) if text.contains("max number of clients")));
    drop(clients.pop());
    let served = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        let mut client = connect(&server);
        client.send(&[b"PING"]);
        client.try_read().is_ok_and(|answer| answer == Reply::Simple("PONG".into()))
    });
    assert!(served, "a place that was left is free");
}
