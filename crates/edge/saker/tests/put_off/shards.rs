// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Shards put merges off each by itself, on the caller's thread and on threads of their own.

use crate::support::put_off::{
    AT_OPEN, Model, PUT_OFF_MAX, TRIGGER, WORDS, assert_has, level0, write_blindly,
};
use saker::Kv;
use saker_shards::shard_of;
use saker_sim::Seed;
use std::time::{Duration, Instant};

const SHARDS: usize = 3;
/// Files of all level 0 when nothing is due.
const IN_ORDER: u64 = (TRIGGER - 1) * SHARDS as u64;
/// More files than one shard puts off while the others are in order.
const SEVERAL: u64 = PUT_OFF_MAX + (SHARDS as u64 - 1) * (TRIGGER - 1);

fn open(word: &str) -> Kv {
    let url =
        format!("mem:?size=192MiB&profile=tiny&engine=lsm&shards={SHARDS}&min_blob_size={word}&{AT_OPEN}");
    Kv::open(&url).expect("opens")
}

/// Pairs of one shard that fill more memtables than are merged while writes come, and fewer than are put off. Nothing is asked meanwhile: each
/// question is a pause of all shards.
const PAIRS: usize = 7000;

/// As many pairs for each shard: of one after the other, or in turns.
fn write_to_all(kv: &mut Kv, in_turns: bool, model: &mut Model) {
    for shard in 0..if in_turns { 1 } else { SHARDS } {
        let all = (0..100_000_u32).map(|n| format!("key {:06}", n.wrapping_mul(7919) % 100_000).into_bytes());
        let mine = all.filter(|key| in_turns || shard_of(key, SHARDS) == shard);
        for (n, key) in mine.take(if in_turns { SHARDS } else { 1 } * PAIRS).enumerate() {
            let value = vec![n as u8; 1 + n % 60];
            kv.put(&key, &value).expect("stores");
            model.insert(key, value);
        }
    }
    // What the others have put off has stayed so while writes came, whoever got them.
    let files = level0(kv);
    assert!(files > SEVERAL, "in turns: {in_turns}, level 0 of all shards has {files} files");
}

#[test]
fn each_puts_off_what_its_own_writes_leave() {
    for (word, in_turns) in WORDS.into_iter().flat_map(|word| [(word, false), (word, true)]) {
        let (mut kv, mut model) = (open(word), Model::new());
        write_to_all(&mut kv, in_turns, &mut model);
        assert_has(&mut kv, &model, word);
        let keys = model.keys().cycle().take(200_000);
        for (n, key) in keys.enumerate() {
            assert_eq!(kv.get(key).expect("reads").as_ref(), model.get(key));
            if n % 100 == 0 && level0(&mut kv) <= IN_ORDER {
                break;
            }
        }
        assert!(level0(&mut kv) <= IN_ORDER, "{word}: level 0 has {} files", level0(&mut kv));
        assert_has(&mut kv, &model, word);
        kv.close().expect("closes");
    }
}

/// Every other way of writing behind that: batches and lists are in several shards.
#[test]
fn all_pairs_of_all_shards_are_there() {
    for word in WORDS {
        let (mut kv, mut model, mut rng) = (open(word), Model::new(), Seed(6).rng());
        for _ in 0..2 {
            write_to_all(&mut kv, true, &mut model);
            write_blindly(&mut kv, &mut rng, &mut model, 1000);
            assert_has(&mut kv, &model, word);
            let mut listed: Vec<_> = kv.list(None).map(|key| key.expect("lists")).collect();
            listed.sort();
            assert!(listed.iter().eq(model.keys()), "{word}: {} keys", listed.len());
            kv.flush().expect("flushes");
            kv.format().expect("formats");
            model.clear();
            assert_eq!((level0(&mut kv), kv.list(None).count()), (0, 0), "{word}");
        }
        kv.close().expect("closes");
    }
}

/// With threads of their own they merge what was put off while nobody asks.
#[test]
fn idle_shards_do_what_was_put_off() {
    let url = "mem:?size=64MiB&profile=tiny&engine=lsm&shards=2&min_blob_size=unlimited&write_buffer_size=8KiB&threads=1";
    let (mut kv, mut model, mut rng) = (Kv::open(url).expect("opens"), Model::new(), Seed(8).rng());
    write_blindly(&mut kv, &mut rng, &mut model, 800);
    let give_up = Instant::now() + Duration::from_secs(60);
    while level0(&mut kv) > 2 * (TRIGGER - 1) {
        assert!(Instant::now() < give_up, "level 0 has {} files", level0(&mut kv));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_has(&mut kv, &model, "by themselves");
    kv.close().expect("closes");
}
