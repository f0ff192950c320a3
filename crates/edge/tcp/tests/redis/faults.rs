// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What Redis clients see of a device that is slow, and of a connection that is lost: what their libraries make their own errors of.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use saker::{EngineKind, ImagePlan};
use saker_testing::Network;

use super::client::{Redis, Reply, bulk, error, ok};
use super::server::{connect, serve};

/// A client that has waited long enough goes; the server goes on, and what was acknowledged is there.
#[test]
fn a_slow_device_answers_late() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("disk.img");
    ImagePlan::kv(16 << 20, "tiny", 1).create(&path).expect("an image");
    let slow = "timing=real&fault.spike=1/1&fault.spike_ns=100000000";
    for url in [format!("mem:?size=16MiB&profile=tiny&{slow}"), format!("file:{}?{slow}", path.display())] {
        let server = serve(&url);
        let value = [7; 20_000];
        let mut impatient = TcpStream::connect(server.redis_addresses()[0]).expect("connects");
        impatient.set_read_timeout(Some(Duration::from_millis(30))).expect("set");
        let (mut answers, mut sent) = (0, 0);
        let refused = loop {
            impatient.write_all(&super::client::command(&[b"SET", &[sent], &value])).expect("sent");
            sent += 1;
            match impatient.read_exact(&mut [0; 5]) {
                Ok(()) => answers += 1,
                Err(refused) => break refused,
            }
            assert!(sent < 100, "it is never slow");
        };
        assert!(matches!(refused.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{refused}");
        drop(impatient);
        let mut redis = connect(&server);
        for n in [0, answers - 1] {
            assert_eq!(redis.ask(&[b"GET", &[n]]), Reply::Bulk(value.to_vec()), "{url}: {n}");
        }
        assert_eq!(redis.ask(&[b"SET", b"patient", &value]), ok(), "it is slow, and no failure");
        assert_eq!(redis.line("WAIT 1 0"), Reply::Integer(1));
    }
}

/// A connection that breaks amid a pipeline: what was answered took place, of the rest each command did or did not, in their order.
#[test]
fn a_connection_that_is_lost_amid_a_pipeline() {
    for engine in EngineKind::ALL {
        let server = serve(&format!("mem:?size=64MiB&profile=tiny&engine={}", engine.name()));
        let network = Network::to(server.redis_addresses()[0]);
        let mut redis = Redis::connect(network.address());
        let mut answered = 0_u32;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(30));
                network.cut();
            });
            'sending: for first in (0..).step_by(16) {
                for n in first..first + 16 {
                    let sent = redis.try_write(&super::client::command(&[
                        b"SET",
                        format!("{n:08}").as_bytes(),
                        b"v",
                    ]));
                    if sent.is_err() {
                        break 'sending;
                    }
                }
                for _ in 0..16 {
                    match redis.try_read() {
                        Ok(answer) => assert_eq!(answer, ok()),
                        Err(_) => break 'sending,
                    }
                    answered += 1;
                }
            }
        });
        network.pass();
        let mut again = Redis::connect(network.address());
        let Reply::Integer(pairs) = again.line("DBSIZE") else { panic!("a number") };
        assert!(
            (i64::from(answered)..=i64::from(answered) + 16).contains(&pairs),
            "{engine:?}: {answered}, {pairs}"
        );
        for n in 0..pairs {
            assert_eq!(again.ask(&[b"GET", format!("{n:08}").as_bytes()]), bulk("v"), "{engine:?}: {n}");
        }
    }
}

/// `MSET` on a full device does all or nothing, also where a part of it would fit.
#[test]
fn a_full_device_takes_no_half_of_a_command() {
    for engine in EngineKind::ALL {
        let server = serve(&format!("mem:?size=8MiB&profile=tiny&engine={}", engine.name()));
        let mut redis = connect(&server);
        if let Reply::Error(why) = redis.line("MSET a 1 b 2") {
            assert!(why.starts_with("ERR this command needs transactions"), "{engine:?}: {why}");
            continue;
        }
        let value = vec![7; 9000];
        let key = |n: u32, m: u32| {
            let bytes = if m == 2 { 30 } else { 8 };
            format!("{n:04}:{m}:{:bytes$}", "").into_bytes()
        };
        let (mut stored, mut refused) = (0_u32, 0);
        for n in 0..4000 {
            let keys = [0, 1, 2].map(|m| key(n, m));
            let answer = redis.ask(&[b"MSET", &keys[0], &value, &keys[1], &value, &keys[2], &value]);
            let there = redis.ask(&[b"EXISTS", &keys[0], &keys[1], &keys[2]]);
            if answer == ok() {
                assert_eq!(there, Reply::Integer(3), "{engine:?}: {n}");
                stored += 1;
            } else {
                assert!(error(&answer).starts_with("OOM "), "{engine:?}: {answer:?}");
                assert_eq!(there, Reply::Integer(0), "{engine:?}: {n}: a half of a command took place");
                refused += 1;
                if refused == 5 {
                    break;
                }
            }
        }
        assert!(stored > 10 && refused == 5, "{engine:?}: {stored}, {refused}");
        for n in 0..stored {
            let keys = [0, 1, 2].map(|m| key(n, m));
            assert_eq!(
                redis.ask(&[b"DEL", &keys[0], &keys[1], &keys[2]]),
                Reply::Integer(3),
                "{engine:?}: {n}"
            );
        }
        assert_eq!(redis.ask(&[b"SET", b"again", &value]), ok(), "{engine:?}");
    }
}
