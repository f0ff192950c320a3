// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Redis clients of an LSM store that puts merges off.

use std::time::Duration;

use saker::Kv;

use super::client::{Reply, ok};
use super::server::{connect, serve};

const DEVICE: &str =
    "mem:?size=64MiB&profile=tiny&engine=lsm&min_blob_size=unlimited&write_buffer_size=64KiB";
/// Of level 0, as the LSM store's URL options have it.
const TRIGGER: u64 = 4;
/// So many files show that merges are put off.
const PUT_OFF: u64 = 8;

fn level0(kv: &mut Kv) -> u64 {
    let all = kv.counters().expect("told").expect("it has counters");
    all.iter().find(|counter| counter.name == "num_files_at_level0").expect("it has that one").value
}

fn key(n: u32) -> Vec<u8> {
    format!("key {:06}", n.wrapping_mul(7919) % 100_000).into_bytes()
}

fn value(n: u32) -> Vec<u8> {
    vec![n as u8; 1 + n as usize % 60]
}

/// So many fill ten memtables.
const PAIRS: u32 = 6400;

/// Their commands are none of the target's own queue, and no idleness. When they rest, it merges.
#[test]
fn their_writes_put_merges_off_and_their_pauses_do_them() {
    let server = serve(DEVICE);
    let (mut redis, mut kv) = (connect(&server), Kv::open(&nvme_url(&server)).expect("connects"));
    for n in 0..PAIRS {
        assert_eq!(redis.ask(&[b"SET", &key(n), &value(n)]), ok());
    }
    let files = level0(&mut kv);
    assert!(files >= PUT_OFF, "level 0 has {files} files");
    for n in (0..PAIRS).step_by(17) {
        assert_eq!(redis.ask(&[b"GET", &key(n)]), Reply::Bulk(value(n)), "{n}");
    }
    let mut looks = 0;
    while level0(&mut kv) >= TRIGGER {
        looks += 1;
        assert!(looks < 10, "level 0 has {} files behind {looks} pauses", level0(&mut kv));
        std::thread::sleep(Duration::from_millis(500));
    }
    for n in 0..PAIRS {
        assert_eq!(redis.ask(&[b"GET", &key(n)]), Reply::Bulk(value(n)), "{n}");
    }
    assert_eq!(redis.line("DBSIZE"), Reply::Integer(PAIRS.into()));
}

fn nvme_url(server: &saker_tcp::Server) -> String {
    format!("tcp://{}/{}", server.addresses()[0], server.names()[0])
}
