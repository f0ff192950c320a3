// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Queued gets over the network.

#[path = "../../../saker/tests/support/queued_gets.rs"]
mod cases;

use super::splits::{ENGINES, device};
use super::support::{count, open, serve};
use super::waiting::HELD_BACK;
use saker::KvError;

#[test]
fn agree_with_a_model() {
    for (seed, engine) in ENGINES.into_iter().enumerate() {
        let server = serve(&device(engine));
        for depth in [1, 5, 64] {
            let mut kv = open(&server, &format!("depth={depth}"));
            kv.format().expect("formats");
            let kv = cases::agree_with_a_model(kv, depth, seed as u64, count(4_000));
            kv.close().expect("closes");
        }
        server.stop().expect("stops");
    }
}

#[test]
fn are_bounded_and_of_one_handle() {
    let server = serve(&device("lsm"));
    for depth in [1, 7, 64] {
        cases::are_bounded(&mut open(&server, &format!("depth={depth}")), depth);
    }
    cases::are_of_one_handle(&mut open(&server, ""), &mut open(&server, ""));
    server.stop().expect("stops");
}

#[test]
fn see_puts_that_are_held_back() {
    for held_back in HELD_BACK {
        let server = serve(&format!("mem:?profile=tiny&size=8MiB&engine=lsm&{held_back}"));
        cases::see_queued_puts(&mut open(&server, "depth=256"));
        server.stop().expect("stops");
    }
}

/// A target that is gone: gets that it has not answered say so, and those behind them do not wait long.
#[test]
fn of_a_target_that_is_gone_say_so() {
    let server = serve(&device("hash_store"));
    let mut kv = open(&server, "");
    kv.put(b"key", b"value").expect("stored");
    let answered = kv.get_queued(b"key").expect("queued");
    assert_eq!(kv.wait_any(std::slice::from_ref(&answered)), Ok(Some(0)));
    server.stop().expect("stops");
    let late: Vec<_> = (0..20).map(|_| kv.get_queued(b"key").expect("queued")).collect();
    assert_eq!(kv.finish_get(answered), Ok(Some(b"value".to_vec())), "its answer had come");
    for get in late {
        assert_eq!(kv.finish_get(get), Err(KvError::Unreachable.into()));
    }
}
