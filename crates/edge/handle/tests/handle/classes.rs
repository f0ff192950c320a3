// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every failure has its class, and classes are what bindings can rely on.

use saker_handle::{Class, Store, WriteBatch};
use std::collections::BTreeSet;

#[test]
fn numbers_and_names_are_of_one_class_each() {
    let numbers: BTreeSet<_> = Class::ALL.iter().map(|class| class.number()).collect();
    let names: BTreeSet<_> = Class::ALL.iter().map(|class| class.name()).collect();
    assert_eq!((numbers.len(), names.len()), (Class::ALL.len(), Class::ALL.len()));
    assert!(!numbers.contains(&0), "0 is success");
    assert!(Class::ALL.iter().all(|class| class.is(Class::Any)));
    assert!(Class::Full.is(Class::Kv) && Class::Full.is(Class::Host) && !Class::Full.is(Class::Handle));
}

#[test]
fn a_failure_has_class_key_and_status() {
    let store = Store::open("mem:?size=4MiB&profile=tiny").expect("opens");
    assert_eq!(store.put(b"", b"").unwrap_err().class, Class::KeyLength);
    assert_eq!(store.put(b"key", &vec![0; 3 << 20]).unwrap_err().class, Class::ValueLength);
    assert_eq!(Store::open("mem:?sise=1").unwrap_err().class, Class::Url);
    assert_eq!(Store::open("file:no/such.img").unwrap_err().class, Class::Image);
    assert_eq!(Store::open("tcp://127.0.0.1:1/nqn.x?reconnect=0").unwrap_err().class, Class::Remote);
    assert_eq!(Store::open("mem:?size=4MiB&profile=tiny&nsid=9").unwrap_err().class, Class::NoNamespace);
}

/// A write of a batch that fails is told as what became of it, with its key.
#[test]
fn a_full_device_names_the_key() {
    let store = Store::open("mem:?size=4MiB&profile=tiny").expect("opens");
    let fill = (0..10_000u32).find_map(|n| {
        let mut batch = WriteBatch::new();
        batch.put(format!("key {n}").as_bytes(), &[7; 20_000]);
        store.write(&batch).err().map(|fault| (n, fault))
    });
    let (n, fault) = fill.expect("it is full some time");
    assert_eq!((fault.class, fault.status), (Class::Full, Some(0x81)));
    assert_eq!(
        fault.key.as_deref().unwrap_or(b"none"),
        if fault.key.is_some() { format!("key {n}").into_bytes() } else { b"none".to_vec() }
    );
    assert!(
        store.get(b"key 0").expect("reads work").is_some() && store.delete(b"key 0").expect("deletes work")
    );
}
