// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a device that is full, or may not be written, says in Redis's words.

use saker::ImagePlan;

use super::client::{Reply, error, ok};
use super::server::{connect, serve};

#[test]
fn a_full_device_is_out_of_memory_and_reads_go_on() {
    let server = serve("mem:?size=4MiB&profile=tiny");
    let mut redis = connect(&server);
    let value = vec![7; 4000];
    let mut stored = 0_u32;
    let refused = loop {
        (0..16_u32).for_each(|n| redis.send(&[b"SET", &(stored + n).to_be_bytes(), &value]));
        let answers: Vec<Reply> = (0..16).map(|_| redis.read()).collect();
        let good = answers.iter().take_while(|answer| **answer == ok()).count();
        stored += good as u32;
        if let Some(refused) = answers.get(good) {
            break refused.clone();
        }
        assert!(stored < 10_000, "it is never full");
    };
    assert!(error(&refused).starts_with("OOM "), "{refused:?}");
    (0..stored).for_each(|n| assert_eq!(redis.ask(&[b"GET", &n.to_be_bytes()]), Reply::Bulk(value.clone())));
    let mset = redis.ask(&[b"MSET", b"a", &value, b"b", &value, b"c", &value, b"d", &value]);
    assert!(mset == ok() || error(&mset).starts_with("OOM "), "{mset:?}");
    assert_eq!(redis.ask(&[b"DEL", &0_u32.to_be_bytes()]), Reply::Integer(1));
    assert_eq!(redis.line("FLUSHDB"), ok());
    assert_eq!(redis.ask(&[b"SET", b"k", &value]), ok());
}

#[test]
fn a_device_that_is_only_read_is_read_only() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("disk.img");
    ImagePlan::kv(16 << 20, "tiny", 1).create(&path).expect("an image");
    let mut kv = saker::Kv::open(&format!("file:{}", path.display())).expect("opened");
    kv.put(b"k", b"v").expect("stored");
    kv.close().expect("closed");
    let server = serve(&format!("file:{}?readonly", path.display()));
    let mut redis = connect(&server);
    assert_eq!(redis.line("GET k"), Reply::Bulk(b"v".to_vec()));
    for line in ["SET k w", "SET k w XX", "SET k w GET", "MSET a 1 b 2", "DEL k", "FLUSHDB"] {
        assert!(error(&redis.line(line)).starts_with("READONLY "), "{line}: {:?}", redis.line(line));
    }
    assert_eq!(redis.line("DEL none"), Reply::Integer(0));
}

#[test]
fn keys_of_outcomes_are_refused_one_by_one() {
    let server = serve("mem:?size=4MiB&profile=tiny");
    let mut redis = connect(&server);
    let key: &[u8] = b"\xFFTSKRX0123456789";
    // What comes with it in one go is carried out.
    redis.send(&[b"SET", b"before", b"1"]);
    redis.send(&[b"SET", key, b"2"]);
    redis.send(&[b"SET", b"behind", b"3"]);
    let answers: Vec<Reply> = (0..3).map(|_| redis.read()).collect();
    assert_eq!((&answers[0], &answers[2]), (&ok(), &ok()));
    let refused = |answer: &Reply| assert!(error(answer).contains("reserved for outcomes"), "{answer:?}");
    refused(&answers[1]);
    for more in [
        &[b"SET", key, b"2", b"NX"][..],
        &[b"SET", key, b"2", b"GET"],
        &[b"MSET", b"beside", b"4", key, b"2"],
    ] {
        refused(&redis.ask(more));
    }
    assert_eq!(redis.line("DBSIZE"), Reply::Integer(2));
    assert_eq!(redis.ask(&[b"DEL", key]), Reply::Integer(0));
}

#[test]
fn an_answer_that_is_too_long_is_an_error_and_the_next_command_works() {
    let server = serve("mem:?size=512MiB");
    let mut redis = connect(&server);
    assert_eq!(redis.ask(&[b"SET", b"big", &vec![1; 2 << 20]]), ok());
    let many: Vec<&[u8]> = std::iter::once(&b"MGET"[..]).chain([&b"big"[..]; 40]).collect();
    assert!(error(&redis.ask(&many)).contains("too long"));
    assert_eq!(redis.line("STRLEN big"), Reply::Integer(2 << 20));
}

#[test]
fn what_no_transaction_takes_is_refused_wholly() {
    let server = serve("mem:?size=512MiB");
    let mut redis = connect(&server);
    let value = vec![1; 100_000];
    for (pairs, fits) in [(10_u8, true), (11, false)] {
        let keys: Vec<[u8; 2]> = (0..pairs).map(|n| [pairs, n]).collect();
        let command = std::iter::once(&b"MSET"[..]).chain(keys.iter().flat_map(|key| [&key[..], &value]));
        let answer = redis.ask(&command.collect::<Vec<_>>());
        assert!(if fits { answer == ok() } else { error(&answer).contains("too long") }, "{answer:?}");
        let there = keys.iter().filter(|key| redis.ask(&[b"EXISTS", &key[..]]) == Reply::Integer(1)).count();
        assert_eq!(there, if fits { keys.len() } else { 0 });
    }
}
