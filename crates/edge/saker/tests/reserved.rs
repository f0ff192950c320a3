// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys that the device keeps for what became of transactions: no door stores under one, since lists leave them out. Whoever reads or
//! deletes the device's pairs may.

use saker::{
    EngineKind, HostError, ImagePlan, Kv, KvCache, RetentionOptions, Saker, SakerOptions, SplitOutcome,
    Store, StoreError, SyncError, TransactionId, WriteBatch,
};
use saker_host::group::Form;
use saker_host::group::Op;

/// Of their shape.
const RESERVED: &[u8; 16] = b"\xFFTSKRX0123456789";
/// Nearly: shorter, longer, or with another byte.
const OTHERS: [&[u8]; 5] =
    [b"\xFFTSKRX012345678", b"\xFFTSKRX01234567890", b"\xFFTSKRY0123456789", b"\xFETSKRX0123456789", b"\xFF"];

fn refusal() -> HostError {
    HostError::ReservedKey { key: RESERVED.to_vec() }
}

/// All that a [`Kv`] can store with.
fn doors(kv: &mut Kv, what: &str) {
    assert_eq!(kv.put(RESERVED, b"v"), Err(refusal()), "{what}");
    assert_eq!(kv.put_if_absent(RESERVED, b"v"), Err(refusal()), "{what}");
    assert_eq!(kv.put_queued(RESERVED, b"v"), Err(refusal()), "{what}");
    let mut batch = WriteBatch::new();
    batch.put(b"beside", b"v").put(RESERVED, b"v").delete(b"none");
    for is_atomic in [false, true] {
        assert_eq!(kv.write(batch.set_atomic(is_atomic)), Err(refusal()), "{what}, {is_atomic}");
    }
    assert_eq!(kv.get(b"beside"), Ok(None), "{what}: nothing of a batch is stored");
    assert_eq!(kv.begin(Form::Mixed).store(RESERVED, b"v").err(), Some(refusal()), "{what}");
    assert_eq!(kv.begin(Form::All(Op::Store)).store(RESERVED, b"v").err(), Some(refusal()), "{what}");
    let mut txn = kv.begin_transaction().expect("it has them");
    assert_eq!(txn.put(RESERVED, b"v"), Err(refusal()), "{what}");
    let mut set = txn.suspend();
    set.write(RESERVED, Some(b"v"));
    assert_eq!(kv.resume_transaction(set.clone()).commit(), Err(refusal()), "{what}");
    let text = refusal().to_string();
    assert!(text.contains("reserved for outcomes of transactions") && !text.contains('\n'), "{text}");
    assert_eq!(kv.get(RESERVED), Ok(None), "{what}");
    kv.drain().expect("nothing has failed");
    for key in OTHERS {
        kv.put(key, b"near").expect("stored");
        assert_eq!(kv.get(key).expect("read").as_deref(), Some(&b"near"[..]), "{what}");
    }
    let listed: Vec<_> = kv.list(None).map(|key| key.expect("listed")).collect();
    assert!(OTHERS.iter().all(|key| listed.iter().any(|listed| listed == key)), "{what}: {listed:?}");
    // A put that a delete has replaced is none.
    let mut batch = WriteBatch::new();
    batch.put(RESERVED, b"v").delete(RESERVED);
    kv.write(&batch).expect("it only deletes");
    OTHERS.iter().for_each(|key| assert_eq!(kv.delete(key), Ok(true), "{what}"));
}

/// The device's own pairs can be read and deleted: the transaction may be carried out again then.
fn outcomes(kv: &mut Kv, what: &str) {
    let id = TransactionId { host: *b"a host's own ID.", number: 7 };
    let mut txn = kv.begin_transaction().expect("it has them");
    txn.put(b"key", b"value").expect("a good key");
    txn.commit_as(id).expect("carried out");
    let own = kv.client().list(None).map(|key| key.expect("listed")).find(|key| key.as_bytes()[0] == 0xFF);
    let own = own.unwrap_or_else(|| panic!("{what}: the outcome is a pair")).as_bytes().to_vec();
    assert!(kv.list(None).all(|key| key.expect("listed") != own), "{what}");
    assert_eq!(kv.put(&own, b"forged"), Err(HostError::ReservedKey { key: own.clone() }), "{what}");
    assert_eq!(kv.transaction_outcome(id), Ok(SplitOutcome::DoneBefore), "{what}");
    assert_eq!((kv.exists(&own), kv.get(&own).map(|value| value.is_some())), (Ok(true), Ok(true)), "{what}");
    assert_eq!(kv.delete(&own), Ok(true), "{what}");
    assert_eq!(kv.transaction_outcome(id), Ok(SplitOutcome::NotDone), "{what}");
}

#[test]
fn nobody_stores_under_a_key_of_outcomes() {
    for engine in EngineKind::ALL.iter().copied() {
        let (dir, name) = (tempfile::tempdir().expect("a directory"), engine.name());
        let path = dir.path().join("disk.img");
        ImagePlan { engine, ..ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path).expect("made");
        let memory = format!("mem:?size=16MiB&profile=tiny&engine={name}");
        for url in [memory.clone(), format!("{memory}&cache=1MiB"), format!("file:{}", path.display())] {
            let mut kv = Kv::open(&url).expect("opens");
            doors(&mut kv, &url);
            outcomes(&mut kv, &url);
            kv.close().expect("closes");
        }
    }
}

#[test]
fn a_hybrid_refuses_them_too() {
    let mut kv = Kv::open("mem:?profile=tiny&size=24MiB&hybrid").expect("opens");
    doors(&mut kv, "hybrid");
    kv.close().expect("closes");
}

#[test]
fn other_doors_refuse_them() {
    const MEM: &str = "mem:?size=64MiB&profile=tiny";
    let store = Store::open(MEM).expect("opens");
    let refused = |outcome: Result<(), StoreError>| {
        assert!(matches!(outcome, Err(StoreError::Host(HostError::ReservedKey { .. }))), "{outcome:?}");
    };
    refused(store.put(RESERVED, "v"));
    refused(store.put_if_absent(RESERVED, "v").map(drop));
    refused(store.put_many([(&b"good"[..], &b"v"[..]), (RESERVED, b"v")]));
    let saker = Saker::open(MEM, SakerOptions::default()).expect("opens");
    let mut session = saker.session().expect("one is free");
    assert_eq!(session.put(RESERVED, b"v"), Err(refusal()));
    assert_eq!(session.put_if_absent(RESERVED, b"v"), Err(refusal()));
    assert_eq!(session.multi_put_if_absent(&[(b"good", b"v"), (RESERVED, b"v")]), Err(refusal()));
    assert_eq!(session.put_durable(RESERVED, b"v"), Err(SyncError::Unknown(refusal())));
    assert_eq!(session.put_durable_async(RESERVED, b"v").err(), Some(refusal()));
    session.delete(RESERVED).expect("a delete is taken");
    session.sync().expect("nothing has failed");
    drop(session);
    saker.close().expect("closes");
    let pairs = RetentionOptions { bytes_max: Some(2 * 17), ..RetentionOptions::default() };
    let mut cache = KvCache::open(MEM, pairs).expect("opens");
    for n in [b"0123456789abcdef", b"fedcba9876543210"] {
        assert_eq!(cache.put_if_absent(n, b"v"), Ok(true));
    }
    assert_eq!(cache.put_if_absent(RESERVED, b"v"), Err(refusal()));
    assert_eq!(cache.stats().evicted, 0, "no pair makes room for one that is refused");
}
