// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stores that threads share, and spaces, of several hosts of one target.

use super::support::{serve, url};
use saker::{EngineKind, HostError, Spaces, Store, StoreError};

#[test]
fn stores_and_spaces_of_two_hosts_are_one() {
    for engine in EngineKind::ALL {
        let server = serve(&format!("mem:?size=64MiB&profile=tiny&engine={}", engine.name()));
        let url = url(&server, "");
        let [a, b] = [(); 2].map(|()| Spaces::open(&url).expect("connects"));
        // Made by both at once: one name has one number.
        let [mine, yours] = std::thread::scope(|scope| {
            [&a, &b]
                .map(|host| scope.spawn(|| host.space("both").expect("made")))
                .map(|made| made.join().expect("no panic"))
        });
        assert_eq!(mine.device_key("k"), yours.device_key("k"));
        let other = b.space("other").expect("made");
        assert_ne!(mine.device_key("k"), other.device_key("k"));
        let long = [7; 100];
        mine.put(long, "long").expect("stored");
        assert_eq!(yours.get(long).expect("read"), Some(b"long".to_vec()));
        let mut txn = yours.begin().expect("begins");
        txn.get(long).expect("read");
        mine.put(long, "new").expect("stored");
        txn.put("k", "v").expect("a key");
        assert!(
            matches!(txn.commit(), Err(StoreError::Host(HostError::Conflict { .. }))),
            "{}",
            engine.name()
        );
        let clones = [mine.clone(), mine.clone(), yours.clone(), other.clone()];
        std::thread::scope(|scope| {
            for (n, store) in clones.iter().enumerate() {
                scope
                    .spawn(move || (0..50).for_each(|k| store.put(format!("{n} {k}"), "v").expect("stored")));
            }
        });
        assert_eq!(mine.iter().expect("opens").count(), 151, "{}", engine.name());
        assert!(a.remove("other").expect("removed"));
        assert_eq!(b.names().expect("read"), ["both"]);
        let device = Store::open(&url).expect("connects");
        assert_eq!(device.iter().expect("opens").count(), 152, "the catalogue and the pairs of one space");
    }
}
