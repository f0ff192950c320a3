// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Limits of hosts and namespaces: what is over a rate waits, and nothing fails.

use std::time::{Duration, Instant};

use saker::{Kv, Saker, SakerOptions};
use saker_nvme::Status;
use saker_nvme::fabrics::ConnectData;
use saker_tcp::{HostRules, NamespaceLimits, Server, ServerConfig};

use crate::loopback::raw::RawQueue;
use crate::loopback::support::{DEVICE, config, serve, url};

const FIRST: &str = "nqn.2026-11.dev.saker:first";
const SECOND: &str = "nqn.2026-11.dev.saker:second";

fn limited(rules: HostRules) -> ServerConfig {
    let mut config = config(DEVICE);
    config.host_rules = vec![HostRules { nqn: FIRST.into(), ..rules }];
    config
}

fn start(config: ServerConfig) -> Server {
    Server::start(config).expect("the server starts")
}

fn host(server: &Server, name: &str, more: &str) -> Kv {
    Kv::open(&url(server, &format!("hostnqn={name}&{more}"))).expect("connected")
}

/// Gets by turns; how long they took.
fn gets(kv: &mut Kv, times: u32) -> Duration {
    let begun = Instant::now();
    (0..times).for_each(|_| assert_eq!(kv.get(b"nothing").expect("an answer"), None));
    begun.elapsed()
}

fn number(kv: &mut Kv, name: &str) -> u64 {
    let counters = kv.counters().expect("an answer").expect("counters");
    counters.iter().filter(|counter| counter.name == name).map(|counter| counter.value).sum()
}

#[test]
fn commands_over_the_rate_of_a_host_wait_and_nobody_elses_do() {
    let server = start(limited(HostRules { commands_per_second: Some(100), ..HostRules::default() }));
    let (mut first, mut second) = (host(&server, FIRST, ""), host(&server, SECOND, ""));
    // Ten may go at once. Each connection of the host adds nothing.
    let mut also_first = host(&server, FIRST, "");
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| gets(&mut first, 20));
        scope.spawn(|| gets(&mut also_first, 20));
        let free = scope.spawn(|| gets(&mut second, 500)).join().expect("no panic");
        assert!(free < Duration::from_millis(280), "{free:?}");
    });
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(285), "{took:?}");
    let (waits, nanos) =
        (number(&mut second, "host_limit_waits"), number(&mut second, "host_limit_wait_nanoseconds"));
    assert!((5..=40).contains(&waits), "{waits}");
    assert!((200_000_000..=took.as_nanos() as u64).contains(&nanos), "{nanos} of {took:?}");
    drop((first, also_first, second));
    server.stop().expect("stopped");
}

#[test]
fn bytes_over_the_rate_wait_in_both_ways() {
    let server = start(limited(HostRules { bytes_per_second: Some(4 << 20), ..HostRules::default() }));
    let mut kv = host(&server, FIRST, "");
    let (value, begun) = (vec![7; 256 << 10], Instant::now());
    (0..4_u32).for_each(|n| kv.put(&n.to_le_bytes(), &value).expect("stored"));
    (0..4_u32).for_each(|n| assert_eq!(kv.get(&n.to_le_bytes()).expect("read").as_ref(), Some(&value)));
    // 2 MiB at 4 MiB a second; 0.4 MiB go at once, and the last one need not be paid for.
    assert!(begun.elapsed() >= Duration::from_millis(330), "{:?}", begun.elapsed());
    // A short value costs what it is, whatever room there is for it.
    kv.put(b"short", b"value").expect("stored");
    let begun = Instant::now();
    (0..100).for_each(|_| assert!(kv.get(b"short").expect("read").is_some()));
    assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
    drop(kv);
    server.stop().expect("stopped");
}

#[test]
fn a_namespace_has_one_rate_for_all_hosts() {
    let mut config = config(DEVICE);
    let limits = NamespaceLimits { nsid: 1, commands_per_second: Some(100), bytes_per_second: None };
    config.subsystems[0].namespaces = vec![limits];
    let server = start(config);
    let (mut first, mut second) = (host(&server, FIRST, ""), host(&server, SECOND, ""));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| gets(&mut first, 20));
        scope.spawn(|| gets(&mut second, 20));
    });
    assert!(begun.elapsed() >= Duration::from_millis(285), "{:?}", begun.elapsed());
    assert!(number(&mut first, "namespace_limit_waits") > 0);
    assert_eq!(number(&mut first, "host_limit_waits"), 0);
    drop((first, second));
    server.stop().expect("stopped");
}

/// Sessions with deep queues of large values: all of a host's connections share what it may hold.
#[test]
fn memory_of_a_host_is_bounded_over_all_its_connections() {
    const MOST: usize = 4 << 20;
    let server = start(limited(HostRules { memory_max: Some(MOST), ..HostRules::default() }));
    let options = SakerOptions { sessions: 4, depth: 16, ..SakerOptions::default() };
    let saker = Saker::open(&url(&server, &format!("hostnqn={FIRST}")), options).expect("connected");
    let most = std::thread::scope(|scope| {
        for n in 0..4_u32 {
            let mut session = saker.session().expect("a session");
            scope.spawn(move || {
                for round in 0..12_u32 {
                    session.put(&(n * 100 + round).to_le_bytes(), &vec![n as u8; 1 << 20]).expect("stored");
                }
                session.sync().expect("stored");
            });
        }
        let looks = (0..200).map(|_| {
            std::thread::sleep(Duration::from_millis(1));
            server.memory_in_use()
        });
        looks.max().unwrap_or(0)
    });
    // What has come in capsules is held although it was not asked for.
    assert!(most <= MOST + (64 << 10), "{most}");
    saker.close().expect("closed");
    let mut kv = host(&server, SECOND, "");
    assert_eq!(kv.get(&311_u32.to_le_bytes()).expect("read"), Some(vec![3; 1 << 20]));
    drop(kv);
    server.stop().expect("stopped");
}

/// A host at its rate holds memory that others wait for: that is not its fault, and no reason to close its connections.
#[test]
fn a_host_that_waits_for_its_rate_is_not_taken_for_one_that_stands_still() {
    let mut config = limited(HostRules { bytes_per_second: Some(256 << 10), ..HostRules::default() });
    config.connections_max = 8;
    // Four of the longest values.
    config.connections_memory_max = 8 * (64 << 10) + 4 * (2 << 20);
    let server = start(config);
    let (mut slow, mut other) = (host(&server, FIRST, "reconnect=0"), host(&server, SECOND, ""));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..3_u32 {
                slow.put_queued(&n.to_le_bytes(), &vec![1; 512 << 10]).expect("sent");
            }
            slow.drain().expect("all of them are stored, nothing is lost");
        });
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(4) {
            other.put(b"other", &vec![2; 2 << 20]).expect("stored");
        }
    });
    drop((slow, other));
    server.stop().expect("stopped");
}

#[test]
fn connections_over_the_limit_of_a_host_are_refused_by_name() {
    let server = start(limited(HostRules { connections_max: Some(2), ..HostRules::default() }));
    let _first = host(&server, FIRST, "");
    let error = Kv::open(&url(&server, &format!("hostnqn={FIRST}&reconnect=0&timeout=2")))
        .expect_err("a third queue");
    assert!(error.to_string().lines().count() == 1, "{error}");
    let _second = host(&server, SECOND, "");
    server.stop().expect("stopped");
}

#[test]
fn raw_hosts_are_told_that_the_controller_is_busy() {
    let mut config = config(DEVICE);
    config.all_hosts.connections_max = Some(2);
    let server = start(config);
    let (address, nqn) = (server.addresses()[0], server.names()[0].clone());
    let (_admin, cntlid) = RawQueue::admin(address, &nqn);
    let _io = RawQueue::connect(address, &nqn, cntlid, (1, 8)).expect("connected");
    let refused = RawQueue::connect(address, &nqn, cntlid, (2, 8)).err();
    assert_eq!(refused, Some(Status::CONNECT_CONTROLLER_BUSY));
    let refused = RawQueue::connect(address, &nqn, ConnectData::ANY_CONTROLLER, (0, 8)).err();
    assert_eq!(refused, Some(Status::CONNECT_CONTROLLER_BUSY));
    server.stop().expect("stopped");
}

#[test]
fn a_server_that_stops_waits_for_no_limit() {
    let server = start(limited(HostRules { commands_per_second: Some(1), ..HostRules::default() }));
    let mut kv = host(&server, FIRST, "reconnect=0&depth=32");
    std::thread::scope(|scope| {
        let puts = scope.spawn(|| {
            (0..20_u32).for_each(|n| kv.put_queued(&n.to_le_bytes(), b"value").expect("sent"));
            kv.drain()
        });
        std::thread::sleep(Duration::from_millis(200));
        let begun = Instant::now();
        server.stop().expect("stopped");
        assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
        puts.join().expect("no panic").expect("what was asked is answered");
    });
}

#[test]
fn without_limits_nothing_waits() {
    let server = serve(DEVICE);
    let mut kv = host(&server, FIRST, "");
    gets(&mut kv, 100);
    for name in ["host_limit_waits", "host_limit_wait_nanoseconds", "namespace_limit_waits"] {
        assert_eq!(number(&mut kv, name), 0, "{name}");
    }
    drop(kv);
    server.stop().expect("stopped");
}
