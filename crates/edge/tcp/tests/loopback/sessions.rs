// SPDX-License-Identifier: Apache-2.0 OR MIT
//! SAKER's sessions over the network: containers as groups, one connection for each session.

use crate::loopback::support::{DEVICE, count, open, serve, url, value};
use saker::{Saker, SakerOptions};

const SESSIONS: u16 = 3;

fn options() -> SakerOptions {
    SakerOptions { sessions: SESSIONS, depth: 8, ..SakerOptions::default() }
}

#[test]
fn sessions_see_each_other_and_what_was_synced_is_at_the_target() {
    let server = serve(DEVICE);
    let keys = count(3000).max(300) as u32;
    let saker = Saker::open(&url(&server, ""), options()).expect("opens");
    std::thread::scope(|scope| {
        for lane in 0..u32::from(SESSIONS) {
            let mut session = saker.session().expect("as many as asked for");
            scope.spawn(move || {
                for n in 0..keys {
                    let key = [lane, n].map(u32::to_le_bytes).concat();
                    session.put(&key, &value(n, lane, n as usize % 200)).expect("puts");
                    if n % 5 == 4 {
                        session.delete(&key).expect("deletes");
                    }
                    let there = (n % 5 != 4).then(|| value(n, lane, n as usize % 200));
                    assert_eq!(session.get(&key).expect("gets"), there);
                }
                session.sync().expect("syncs");
            });
        }
    });
    let mut other = saker.session().expect("they are free again");
    assert_eq!(other.get(&[0, 1].map(u32::to_le_bytes).concat()).expect("gets"), Some(value(1, 0, 1)));
    drop(other);
    // Another host sees what was synced, although nobody has closed anything.
    let mut kv = open(&server, "");
    for lane in 0..u32::from(SESSIONS) {
        for n in 0..keys {
            let there = (n % 5 != 4).then(|| value(n, lane, n as usize % 200));
            assert_eq!(kv.get(&[lane, n].map(u32::to_le_bytes).concat()).expect("gets"), there);
        }
    }
    saker.close().expect("closes");
    server.stop().expect("stops");
}

#[test]
fn sync_tells_that_the_target_is_gone() {
    let server = serve(DEVICE);
    let saker = Saker::open(&url(&server, "reconnect=0&timeout=2"), options()).expect("opens");
    let mut session = saker.session().expect("a session");
    session.put(b"before", b"there").expect("puts");
    session.sync().expect("syncs");
    server.stop().expect("stops");
    let put = session.put(b"after", b"lost");
    assert!(put.is_err() || session.sync().is_err(), "nobody is there to store it");
}
