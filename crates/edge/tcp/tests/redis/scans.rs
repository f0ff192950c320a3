// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scans beside writes.

use std::collections::BTreeSet;

use saker::EngineKind;

use super::client::{Redis, Reply, error, ok};
use super::server::{connect, serve};

/// One step: where to go on, and its keys.
fn step(redis: &mut Redis, cursor: &[u8], options: &[&[u8]]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let answer = redis.ask(&[&[b"SCAN", cursor], options].concat());
    let Reply::Array(parts) = answer else { panic!("{answer:?}") };
    let [Reply::Bulk(cursor), Reply::Array(keys)] = &parts[..] else { panic!("{parts:?}") };
    let key = |reply: &Reply| match reply {
        Reply::Bulk(key) => key.clone(),
        other => panic!("{other:?}"),
    };
    (cursor.clone(), keys.iter().map(key).collect())
}

fn name(n: u32) -> Vec<u8> {
    // Short and long ones.
    if n.is_multiple_of(2) {
        format!("key:{n}").into_bytes()
    } else {
        format!("key:of:more:than:sixteen:bytes:{n}").into_bytes()
    }
}

#[test]
fn keys_that_stay_are_found_whatever_comes_and_goes() {
    for engine in EngineKind::ALL {
        let server = serve(&format!("mem:?size=32MiB&profile=tiny&engine={}", engine.name()));
        let (mut redis, mut other) = (connect(&server), connect(&server));
        (0..300).for_each(|n| assert_eq!(redis.ask(&[b"SET", &name(n), b"v"]), ok()));
        let (mut cursor, mut found, mut steps) = (b"0".to_vec(), BTreeSet::new(), 0);
        loop {
            let (next, keys) = step(&mut redis, &cursor, &[b"COUNT", b"7"]);
            assert!(keys.len() <= 7);
            found.extend(keys);
            steps += 1;
            // Another connection may go on where this one was.
            std::mem::swap(&mut redis, &mut other);
            // The tail goes, and others come.
            other.ask(&[b"DEL", &name(300 - steps), &name(1000 + steps - 1)]);
            other.ask(&[b"SET", &name(1000 + steps), b"v"]);
            cursor = next;
            if cursor == b"0" {
                break;
            }
        }
        let stayed: BTreeSet<_> = (0..300 - steps).map(name).collect();
        assert!(steps >= 30 && stayed.is_subset(&found), "{engine:?}: {steps} steps");
    }
}

#[test]
fn patterns_and_counts() {
    let server = serve("mem:?size=64MiB&profile=tiny");
    let mut redis = connect(&server);
    assert_eq!(step(&mut redis, b"0", &[]), (b"0".to_vec(), Vec::new()));
    (0..50).for_each(|n| assert_eq!(redis.ask(&[b"SET", &name(n), b"v"]), ok()));
    let (cursor, keys) = step(&mut redis, b"0", &[b"COUNT", b"1000", b"MATCH", b"key:of:*:4?"]);
    assert_eq!((cursor, keys.len()), (b"0".to_vec(), 5));
    assert_eq!(step(&mut redis, b"0", &[]).1.len(), 10);
    assert!(error(&redis.line("SCAN 12345")).contains("begin again with 0"));
}
