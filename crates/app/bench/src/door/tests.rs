// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;
use saker::{KvCache, RetentionOptions};
use saker_store::Drain;

const URL: &str = "mem:?size=16MiB&profile=tiny&seed=1";

fn put(key: &str, value: &str) -> Op {
    Op::Put(key.into(), value.into())
}

/// How operations end, in words.
fn told<L: Lane<Error = HostError>>(lane: &mut L, op: Op) -> String {
    let show = |outcome: Outcome<'_>| match outcome {
        Outcome::Value { data, .. } => String::from_utf8_lossy(data).into_owned(),
        Outcome::Pairs { .. } => {
            let pairs = outcome.pairs();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            pairs.iter().map(|(key, value)| format!("{}={} ", text(key), text(value))).collect()
        }
        Outcome::Group { failed, .. } => format!("{failed} missing"),
        other => format!("{other:?}"),
    };
    carry_out(lane, &op, show).unwrap_or_else(|error| format!("refused: {error}"))
}

#[test]
fn a_door_carries_out_what_it_says_and_refuses_the_rest_by_name() {
    for engine in ["hash_store", "lsm"] {
        let mut kv = Kv::open(&format!("{URL}&engine={engine}")).expect("opens");
        let mut store = DoorStore::new(&mut kv, false);
        assert!(store.capabilities().contains(&"seek"));
        let mut lane = store.open_lane().expect("one");
        assert_eq!(store.open_lane().map(|_| ()), Err(Refusal::Lanes));
        let done = format!("{:?}", Outcome::DONE);
        assert_eq!(told(&mut lane, put("a", "1")), done);
        let group = Op::Group { operations: vec![put("b", "2"), Op::Delete("c".into())], flags: 0 };
        assert_eq!(told(&mut lane, group), done);
        assert_eq!(
            [told(&mut lane, Op::Get("b".into())), told(&mut lane, Op::Get("c".into()))],
            ["2", "Absent"]
        );
        assert_eq!(told(&mut lane, Op::Exists("a".into())), done);
        assert_eq!(told(&mut lane, Op::Delete("c".into())), "Absent");
        let list = |values| Op::List { from: Vec::new(), entries: 9, values };
        assert_eq!(told(&mut lane, list(true)).len(), "a=1 b=2 ".len());
        assert_eq!(told(&mut lane, list(false)).len(), "a= b= ".len());
        let seek = |from: &str, backwards| Op::Seek { from: from.into(), entries: 1, backwards };
        if engine == "lsm" {
            assert_eq!(
                [told(&mut lane, seek("aa", false)), told(&mut lane, seek("aa", true))],
                ["b=2 ", "a=1 "]
            );
        } else {
            assert!(told(&mut lane, seek("aa", true)).starts_with("refused: "), "it has no order of bytes");
        }
        assert_eq!(told(&mut lane, Op::Snapshot), "refused: the store has no snapshot");
        assert_eq!(told(&mut lane, Op::Batch(vec![put("d", "4")])), "refused: the store has no batch");
        let reads = Op::Group { operations: vec![Op::Get("a".into())], flags: 0 };
        assert_eq!(told(&mut lane, reads), "refused: the store has no group of reads");
        assert_eq!(told(&mut lane, Op::Flush), done);
        let long = told(&mut lane, put(&"k".repeat(256), "too long a key"));
        assert!(long.starts_with("refused: ") && long.contains("256"), "{long}");
        assert_eq!(told(&mut lane, Op::Get("a".into())), "1", "the lane goes on");
    }
}

#[test]
fn queued_puts_fail_at_the_drain_and_awaited_ones_at_once() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("disk.img");
    saker::create_image(&path, 4 << 20, "tiny", 1).expect("creates");
    Kv::open(&format!("file:{}", path.display())).expect("opens").close().expect("closes");
    let mut kv = Kv::open(&format!("file:{}?readonly", path.display())).expect("opens");
    let mut lane = DoorStore::new(&mut kv, false).open_lane().expect("one");
    assert!(told(&mut lane, put("a", "1")).starts_with("refused: "));
    let mut lane = DoorStore::new(&mut kv, true).open_lane().expect("one");
    assert_eq!(told(&mut lane, put("a", "1")), format!("{:?}", Outcome::DONE));
    assert!(drain(&mut lane).is_err());
    assert_eq!(lane.drain(NOW), Ok(Drain::Synced { failed: 0 }), "it was told");
}

#[test]
fn threads_take_turns_at_one_handle() {
    let mut kv = Kv::open(URL).expect("opens");
    let door = Turnstile::new(&mut kv);
    let mut store = SharedStore::new(&door, true);
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            let mut lane = store.open_lane().expect("as many as wanted");
            scope.spawn(move || {
                for n in 0..200u8 {
                    assert_eq!(
                        carry_out(&mut lane, &Op::Put(vec![thread, n], vec![n]), |_| ()).ok(),
                        Some(())
                    );
                    let is_there =
                        carry_out(&mut lane, &Op::Get(vec![thread, n]), |outcome| outcome.data() == [n]);
                    assert_eq!(is_there.ok(), Some(true));
                }
            });
        }
    });
    let mut lane = store.open_lane().expect("one more");
    assert!(drain(&mut lane).is_ok() && store.stats().iter().any(|(name, _)| *name == "cache_hits"));
    assert_eq!(kv.list(None).count(), 800);
}

#[test]
fn a_cache_tells_of_prefixes_and_keeps_what_is_there() {
    let options = RetentionOptions { bytes_max: Some(1 << 20), ..RetentionOptions::default() };
    let mut cache = KvCache::open(URL, options).expect("opens");
    let mut lane = CacheStore::new(&mut cache, 4).open_lane().expect("one");
    for (key, value) in [("a", "1"), ("b", "2"), ("d", "4"), ("a", "other")] {
        assert_eq!(told(&mut lane, put(key, value)), format!("{:?}", Outcome::DONE));
    }
    let asked = ["a", "b", "c", "d"].map(|key| Op::Exists(key.into())).to_vec();
    assert_eq!(told(&mut lane, Op::Group { operations: asked, flags: 0 }), "2 missing");
    assert_eq!([told(&mut lane, Op::Get("a".into())), told(&mut lane, Op::Get("c".into()))], ["1", "Absent"]);
    assert_eq!(told(&mut lane, Op::Delete("a".into())), "refused: the store has no delete");
    let other = Op::Group { operations: vec![Op::Get("a".into())], flags: 0 };
    assert!(told(&mut lane, other).contains("has no group of anything but exists"));
}
