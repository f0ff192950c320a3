// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups, batches of all or nothing, transactions and scans that fall, in a store over both namespaces: across switches between the trees,
//! copies that go back, Format, cuts, full devices and long values.

use super::{BYTES, Model, PRESSED, all_of, counter, fallen, image};
use saker::{HostError, KeyRange, Kv, KvError, Require, WriteBatch};
use saker_testing::tier;

fn in_memory(policy: &str) -> String {
    format!("mem:?profile=tiny&size={BYTES}B&hybrid={policy}&{PRESSED}")
}

/// The pairs of batch `n`: five keys, which come again, with one number.
fn batch_of(n: u64) -> (WriteBatch, [Vec<u8>; 5]) {
    let (mut batch, keys) =
        (WriteBatch::new(), [0, 1, 2, 3, 4].map(|at| format!("{at}of{}", n % 60).into_bytes()));
    batch.set_atomic(true);
    for key in &keys {
        batch.put(key, &[&n.to_le_bytes()[..], &vec![n as u8; 300]].concat());
    }
    (batch, keys)
}

fn key(n: u64) -> Vec<u8> {
    format!("key{:03}", n % 150).into_bytes()
}

/// Writes in bursts until the device has so many copies that count.
fn press(kv: &mut Kv, which: impl Fn(u64) -> u64, copies: u64) {
    for burst in 0..100 {
        for n in 100 * burst..100 * (burst + 1) {
            kv.put_queued(&key(which(n)), &[n as u8; 700]).expect("room");
        }
        kv.drain().expect("stored");
        if counter(kv, "metadata_keys_current") >= copies {
            return;
        }
    }
    panic!("nothing was redirected");
}

fn number(value: &[u8]) -> u64 {
    u64::from_le_bytes(value[..8].try_into().expect("eight bytes"))
}

/// Of every batch there is all or nothing, and none that is older than what was flushed. Batches of one place count.
fn are_whole(all: &Model, flushed: Option<u64>, written: u64) {
    for place in 0..60 {
        let (_, keys) = batch_of(place);
        let found = keys.map(|key| all.get(&key).map(|value| number(value)));
        assert!(found.iter().all(|n| *n == found[0]), "batches of place {place} are torn: {found:?}");
        let least = flushed.and_then(|last| (0..=last).rev().find(|n| n % 60 == place));
        let is_new =
            found[0].is_none_or(|n| n <= written) && least.is_none_or(|least| found[0] >= Some(least));
        assert!(is_new, "place {place} has {:?}, not {least:?} or later", found[0]);
    }
}

/// Power is cut at the n-th program or erase of a history of batches: each is there as a whole or not at all, whichever tree had it and
/// however far its copies had gone back.
#[test]
fn a_cut_leaves_each_batch_whole() {
    let dir = tempfile::tempdir().expect("a folder");
    for policy in ["eager", "lazy"] {
        let url = format!("{}={policy}&{PRESSED}", image(dir.path()));
        let path = dir.path().join("disk.img");
        let new = std::fs::read(&path).expect("reads");
        let (mut cuts, mut redirected, mut moved) = (0, 0, 0);
        for nth in (1..).step_by(tier(37, 1)) {
            std::fs::write(&path, &new).expect("writes");
            let (mut flushed, mut written) = (None, 0);
            let Ok(mut kv) = Kv::open(&format!("{url}&fault.cut={nth}")) else { continue };
            let is_over = (0..400).all(|n| {
                written = n;
                let is_written = kv.write(&batch_of(n).0).is_ok();
                if n % 50 == 49 && is_written && kv.flush().is_ok() {
                    flushed = Some(n);
                }
                is_written
            });
            if is_over {
                redirected = counter(&mut kv, "redirected_writes");
                moved = counter(&mut kv, "rollback_moved");
            }
            drop(kv);
            let mut kv = Kv::open(&url).unwrap_or_else(|error| panic!("cut {nth}: {error}"));
            are_whole(&all_of(&mut kv), flushed, written);
            cuts += 1;
            if is_over {
                break;
            }
        }
        println!("{policy}: {cuts} cuts, {redirected} writes redirected, {moved} copies went back");
        assert!(
            cuts > 10 && redirected > 30 && (policy == "lazy" || moved > 0),
            "{policy}: {cuts}, {redirected}, {moved}"
        );
        std::fs::remove_file(&path).expect("removed");
    }
}

/// What a transaction has read is known by its version, whichever tree has the pair; a copy that goes back is not written by that.
#[test]
fn versions_are_those_of_writes() {
    let mut kv = Kv::open(&in_memory("lazy")).expect("opens");
    press(&mut kv, |n| n, 50);
    let keys: Vec<Vec<u8>> = (0..150).map(key).collect();
    let keys: Vec<_> = keys.into_iter().filter(|key| kv.exists(key).expect("asks")).collect();
    let before: Vec<_> = keys.iter().map(|key| kv.get_versioned(key).expect("reads")).collect();
    let distinct: std::collections::BTreeSet<_> = before.iter().map(|pair| pair.version).collect();
    assert_eq!(distinct.len(), keys.len(), "no two writes have one version");
    let begun = std::time::Instant::now();
    while counter(&mut kv, "metadata_keys") > 0 {
        assert!(begun.elapsed().as_secs() < 60, "copies do not go back");
        std::thread::sleep(std::time::Duration::from_millis(5));
        kv.get(b"nothing").expect("reads");
    }
    assert!(counter(&mut kv, "rollback_moved") >= 50);
    for (key, pair) in keys.iter().zip(&before) {
        assert_eq!(kv.get_versioned(key).expect("reads"), *pair);
    }
    let mut txn = kv.begin_transaction().expect("it has them");
    txn.require(&keys[0], Require::Version(before[0].version)).expect("a key");
    txn.put(&keys[0], b"new").expect("a key");
    txn.commit().expect("nobody has written it");
    let mut txn = kv.begin_transaction().expect("it has them");
    txn.require(&keys[0], Require::Version(before[0].version)).expect("a key");
    assert_eq!(txn.commit(), Err(HostError::Unmet { key: keys[0].clone() }));
}

/// The first write behind a Format has the number that the first write of all had, and another version; so has one behind a reopening.
#[test]
fn a_format_ends_versions() {
    let dir = tempfile::tempdir().expect("a folder");
    for url in [in_memory("lazy"), format!("{}=lazy&{PRESSED}", image(dir.path()))] {
        let mut kv = Kv::open(&url).expect("opens");
        kv.put(b"key", b"value").expect("room");
        let before = kv.get_versioned(b"key").expect("reads");
        for _ in 0..2 {
            kv.format().expect("emptied");
            kv.put(b"key", b"value").expect("room");
            let mut txn = kv.begin_transaction().expect("it has them");
            txn.require(b"key", Require::Version(before.version)).expect("a key");
            assert_eq!(txn.commit(), Err(HostError::Unmet { key: b"key".to_vec() }), "{url}");
            if url.starts_with("file:") {
                kv.close().expect("closes");
                kv = Kv::open(&url).expect("opens");
            }
        }
    }
}

/// What a transaction requires of a range counts the keys of both trees, each once, and no tombstone.
#[test]
fn a_range_has_the_keys_of_both_trees() {
    let mut kv = Kv::open(&in_memory("lazy")).expect("opens");
    press(&mut kv, |n| n * 7, 50);
    for n in 0..60 {
        kv.delete(&key(n * 11)).expect("deletes");
    }
    assert!(counter(&mut kv, "metadata_keys_current") > 10, "copies are in the device");
    // The first key of the range is in it, and the key that it ends with is not.
    kv.put(b"key020", b"inside").expect("room");
    kv.put(b"key110", b"outside").expect("room");
    let range = KeyRange { from: b"key020", to: b"key110", ..KeyRange::default() };
    let inside: Model = all_of(&mut kv).into_iter().filter(|(key, _)| range.contains(key)).collect();
    assert!((10..90).contains(&inside.len()), "{} keys", inside.len());
    assert_eq!(fallen(&mut kv, range.from, range.to), inside);
    let read = |kv: &mut Kv| {
        let mut txn = kv.begin_transaction().expect("it has them");
        let found: Model = txn.scan(&range).expect("reads").into_iter().collect();
        txn.put(b"result", b"all").expect("a key");
        (found, txn.suspend())
    };
    let (found, set) = read(&mut kv);
    assert_eq!(found, inside);
    kv.resume_transaction(set).commit().expect("nobody is between");
    let missing = (20..110).map(key).find(|key| !inside.contains_key(key)).expect("one is missing");
    for change in 0..2 {
        let (_, set) = read(&mut kv);
        match change {
            0 => kv.put(&missing, b"new").expect("room"),
            _ => assert!(kv.delete(&missing).expect("deletes")),
        }
        let told = kv.resume_transaction(set).commit();
        assert!(matches!(told, Err(HostError::Conflict { .. })), "{told:?}");
    }
}

/// A scan that falls may turn round, and shows what one that rises does.
#[test]
fn scans_go_either_way() {
    let mut kv = Kv::open(&in_memory("eager")).expect("opens");
    let mut model = Model::new();
    for n in 0..1500_u64 {
        let key = [(n * 37 % 251) as u8, (n % 5) as u8][..1 + (n % 2) as usize].to_vec();
        if n % 6 == 5 {
            assert_eq!(kv.delete(&key).expect("deletes"), model.remove(&key).is_some());
        } else {
            kv.put(&key, &[n as u8; 500]).expect("room");
            model.insert(key, vec![n as u8; 500]);
        }
        if n % 50 == 0 {
            let (low, high) = ([(n % 100) as u8], [100 + (n % 150) as u8, 2]);
            let inside: Model =
                model.range(low.to_vec()..high.to_vec()).map(|(k, v)| (k.clone(), v.clone())).collect();
            assert_eq!(fallen(&mut kv, &low, &high), inside, "{n}");
            assert_eq!(fallen(&mut kv, b"", b""), model, "{n}");
        }
    }
    assert!(counter(&mut kv, "redirected_writes") > 0 && counter(&mut kv, "rollback_moved") > 0);
}

/// A batch that has no room changes nothing; one of deletes makes some, whichever tree is full.
#[test]
fn a_full_store_takes_a_batch_whole_or_not_at_all() {
    let mut kv = Kv::open(&in_memory("lazy")).expect("opens");
    let mut model = Model::new();
    let refused = (0..20_000_u64).find(|n| {
        let (mut batch, value) = (WriteBatch::new(), vec![*n as u8; 3000]);
        batch.set_atomic(true);
        let keys = [0, 1, 2].map(|at| format!("{at}of{n}").into_bytes());
        keys.iter().for_each(|key| _ = batch.put(key, &value));
        match kv.write(&batch) {
            Ok(()) => model.extend(keys.map(|key| (key, value.clone()))),
            Err(HostError::Kv(KvError::Full)) => return true,
            Err(other) => panic!("{n}: {other}"),
        }
        false
    });
    assert!(refused.is_some_and(|n| n > 300), "{refused:?} batches");
    assert_eq!(all_of(&mut kv), model);
    let keys: Vec<Vec<u8>> = model.keys().cloned().collect();
    for some in keys.chunks(10).step_by(2) {
        let mut batch = WriteBatch::new();
        batch.set_atomic(true);
        some.iter().for_each(|key| _ = batch.delete(key));
        kv.write(&batch).expect("deletes make room");
        some.iter().for_each(|key| _ = model.remove(key));
    }
    assert_eq!(all_of(&mut kv), model);
    let again = (0..100_u64).filter(|n| kv.write(&batch_of(*n).0).is_ok()).count();
    assert!(again > 50, "{again} of 100");
}

/// A value that no tree takes refuses its batch; one that only the main tree takes goes there with all others.
#[test]
fn a_long_value_takes_its_batch_along() {
    let mut kv = Kv::open(&in_memory("lazy")).expect("opens");
    let write = |kv: &mut Kv, bytes: usize| {
        let mut batch = WriteBatch::new();
        batch.set_atomic(true).put(b"one", &vec![1; bytes]).put(b"two", &bytes.to_le_bytes());
        kv.write(&batch)
    };
    let (mut fits, mut refused, mut n) = (1, 4 << 20, 0_u64);
    while fits + 1 < refused {
        // Between them writes that are redirected.
        for _ in 0..100 {
            n += 1;
            kv.put_queued(&key(n), &[n as u8; 700]).expect("room");
        }
        let bytes = usize::midpoint(fits, refused);
        match write(&mut kv, bytes) {
            Ok(()) => fits = bytes,
            Err(HostError::TransactionLength { .. } | HostError::Batch { .. }) => refused = bytes,
            Err(error) => panic!("{bytes}: {error}"),
        }
        let found = kv.multi_get(&[b"one", b"two"]).expect("reads");
        let kept = (fits > 1).then_some(fits);
        assert_eq!(found[0].as_ref().map(Vec::len), kept, "{bytes}");
        assert_eq!(found[1], kept.map(|bytes| bytes.to_le_bytes().to_vec()), "{bytes}");
    }
    assert!(fits > 64 << 10 && counter(&mut kv, "redirected_writes") > 0, "{fits}");
}
