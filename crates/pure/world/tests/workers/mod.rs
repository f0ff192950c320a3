// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device without time over an engine with a thread of its own: it waits for puts that are pending, and calls nothing full that
//! only waits for the thread.

mod engine;

use engine::{PAIRS_MAX, Remotes};
use saker_assembly::{Build, port};
use saker_engine::{EngineKind, Registration};
use saker_host::{
    ClientOptions, ConnectOptions, Connection, HostError, KvClient, KvError, KvStoreClient, WriteBatch,
};
use saker_profile::Profile;
use saker_world::Inline;

static REGISTRATION: Registration = Registration::outside::<Remotes>();

fn build() -> Build {
    let build = Build::kv(&Profile::builtin("tiny").expect("built in"), 32 << 20, 7).expect("large enough");
    build.with_engine(EngineKind::of(&REGISTRATION))
}

fn store() -> KvStoreClient<Inline> {
    let build = build();
    let host = build.attach(1, 64);
    let port = port(&host);
    let mut inline = Inline(build.untimed(host));
    let mut connection = Connection::connect(port, &mut inline, ConnectOptions::default()).expect("connects");
    let client = KvClient::open(&mut connection, inline, 1, ClientOptions::default()).expect("opens");
    KvStoreClient::new(client)
}

fn key(n: usize) -> Vec<u8> {
    format!("key {n}").into_bytes()
}

fn value(n: usize) -> Vec<u8> {
    vec![n as u8; n * 7 % 5000]
}

#[test]
fn puts_that_a_thread_carries_out_are_waited_for() {
    let mut store = store();
    for n in 0..40 {
        store.put(&key(n), &value(n)).expect("stored");
        assert_eq!(store.get(&key(n)).expect("read"), Some(value(n)), "what is answered is there");
    }
    // A new value, and many on their way at once.
    (0..40).for_each(|n| store.put_queued(&key(n), &value(n + 1)).expect("queued"));
    store.drain().expect("all are stored");
    store.flush().expect("flushed");
    for n in 0..40 {
        assert_eq!(store.get(&key(n)).expect("read"), Some(value(n + 1)));
    }
    assert!(store.delete(&key(3)).expect("deleted") && !store.exists(&key(3)).expect("asked"));
}

#[test]
fn so_are_members_of_groups_and_long_keys() {
    let mut store = store();
    let long: Vec<Vec<u8>> = (0..20).map(|n| [vec![b'l'; 60], key(n)].concat()).collect();
    for (n, key) in long.iter().enumerate() {
        store.put(key, &value(n)).expect("stored");
    }
    let mut batch = WriteBatch::default();
    for n in 0..40 {
        batch.put(&key(n), &value(n));
    }
    store.write(&batch).expect("all are stored");
    for (n, key) in long.iter().enumerate() {
        assert_eq!(store.get(key).expect("read"), Some(value(n)));
    }
    for n in 0..40 {
        assert_eq!(store.get(&key(n)).expect("read"), Some(value(n)));
    }
}

#[test]
fn waiting_for_a_thread_is_never_called_full_and_full_is_what_the_thread_says() {
    let mut store = store();
    for n in 0..PAIRS_MAX {
        store.put(&key(n), &value(n)).expect("there is room, however long the thread is busy");
    }
    let refused = store.put(b"one more", b"value");
    assert!(matches!(refused, Err(HostError::Kv(KvError::Full))), "{refused:?}");
    assert_eq!(store.get(b"one more").expect("read"), None);
    store.put(&key(5), b"a new value needs no room").expect("stored");
    assert!(store.delete(&key(6)).expect("deleted"));
    store.put(b"one more", b"value").expect("there is room again");
}

#[test]
#[should_panic(expected = "takes no part in virtual time")]
fn virtual_time_takes_no_such_engine() {
    let build = build();
    let host = build.attach(1, 4);
    build.timed(host);
}
