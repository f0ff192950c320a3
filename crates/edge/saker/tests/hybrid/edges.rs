// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where such a store ends: a device that is gone, the longest value, what it does not have, what somebody else has written.

use super::{BYTES, PRESSED, all_of, counter, image};
use saker::{
    BackupOptions, DeviceUrl, EngineKind, HostError, ImagePlan, Kv, KvError, RestoreOptions, TransactionId,
    WriteBatch,
};
use saker_testing::tier;

/// Writes until one fails, and what it failed with. Every eighth is a batch of all or nothing.
fn fill(kv: &mut Kv) -> Option<HostError> {
    (0..6000_u64).find_map(|n| {
        let (key, value) = (format!("key{}", n % 700), [n as u8; 700]);
        if n % 8 > 0 {
            return kv.put(key.as_bytes(), &value).err();
        }
        let mut batch = WriteBatch::new();
        batch.set_atomic(true).put(key.as_bytes(), &value).put(b"other", &value);
        kv.write(&batch).err()
    })
}

/// Without power no call lasts for good: neither tree goes on with work that cannot end.
#[test]
fn when_power_has_gone_every_call_ends() {
    let mut failed = 0;
    for policy in ["eager", "lazy", "adaptive"] {
        for cut in (0..tier(24, 400)).map(|n: u64| 1 + n * n / 2) {
            let url = format!("mem:?profile=tiny&size={BYTES}B&hybrid={policy}&{PRESSED}&fault.cut={cut}");
            let Ok(mut kv) = Kv::open(&url) else { continue };
            let Some(error) = fill(&mut kv) else { continue };
            failed += 1;
            assert!(!matches!(error, HostError::Timeout { .. }), "{policy}, cut {cut}: {error}");
            assert!(kv.flush().is_err() && kv.put(b"key", b"value").is_err(), "{policy}, cut {cut}");
            let _ = (kv.get(b"key1"), kv.delete(b"key2"), kv.multi_get(&[b"key1", b"key2"]));
            assert!(kv.begin_transaction().is_err() || kv.flush().is_err(), "{policy}, cut {cut}");
        }
    }
    assert!(failed > 20, "{failed} cuts were felt");
}

/// The device's tree of such a store is an `lsm` beside blocks. Compactions of one read ahead, unless they are told not to; alone they do not.
#[test]
fn a_tree_beside_blocks_reads_ahead() {
    let folder = tempfile::tempdir().expect("a folder");
    let (both, alone) = (folder.path().join("disk.img"), folder.path().join("alone.img"));
    let url = |path: &std::path::Path, more: &str| format!("file:{}?{more}", path.display());
    let hybrid = image(folder.path());
    ImagePlan { engine: EngineKind::LSM, ..ImagePlan::kv(24 << 20, "tiny", 1) }.create(&alone).expect("made");
    let beside = format!("mem:?profile=tiny&size={BYTES}B&engine=lsm&blocks=4MiB");
    for (url, told) in [
        (url(&both, ""), "2097152"),
        (url(&both, "compaction_readahead_size=0"), "0"),
        (url(&both, "compaction_readahead_size=64KiB"), "65536"),
        (url(&alone, ""), "0"),
        (beside.clone(), "2097152"),
        (format!("{beside}&compaction_readahead_size=0"), "0"),
        ("mem:?profile=tiny&size=24MiB&engine=lsm".to_owned(), "0"),
    ] {
        let mut kv = Kv::open(&url).expect("opens");
        let all = kv.settings().expect("told");
        let found = all.iter().find(|setting| setting.name == "compaction_readahead_size");
        assert_eq!(found.map(|setting| setting.value.as_str()), Some(told), "{url}");
        kv.close().expect("closes");
    }
    let mut kv = Kv::open(&hybrid).expect("opens as one store");
    kv.put(b"key", b"value").expect("room");
    kv.close().expect("closes");
}

/// The device's tree has two fifths of the flash, and needs 24 superblocks of 8 MiB.
#[test]
fn a_store_over_both_fits_on_480_mib() {
    let folder = tempfile::tempdir().expect("a folder");
    let (small, large) = (folder.path().join("small.img"), folder.path().join("large.img"));
    let refused = ImagePlan::hybrid(479 << 20, "saker-mid", 1).create(&small).expect_err("too small");
    assert!(refused.to_string().contains("namespace 1 would have 184MiB"), "{refused}");
    ImagePlan::hybrid(480 << 20, "saker-mid", 1).create(&large).expect("large enough");
    let mut kv = Kv::open(&format!("file:{}?hybrid", large.display())).expect("opens");
    kv.put(b"key", b"value").expect("room");
    assert_eq!(kv.get(b"key").expect("reads"), Some(b"value".to_vec()));
    kv.close().expect("closes");
}

/// What is one byte too long is refused and leaves what was there, whichever tree would have taken it.
#[test]
fn a_value_that_is_too_long_changes_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    for url in [format!("mem:?profile=tiny&size={BYTES}B&hybrid&{PRESSED}"), image(dir.path())] {
        let mut kv = Kv::open(&url).expect("opens");
        let (mut fits, mut refused) = (1, 4 << 20);
        while fits + 1 < refused {
            let bytes = usize::midpoint(fits, refused);
            match kv.put(b"key", &vec![7; bytes]) {
                Ok(()) => fits = bytes,
                Err(HostError::Kv(KvError::ValueLength) | HostError::ValueLength { .. }) => refused = bytes,
                Err(error) => panic!("{bytes}: {error}"),
            }
            let kept = kv.get(b"key").expect("reads").map_or(0, |value| value.len());
            assert_eq!(kept, if fits == 1 { 0 } else { fits });
        }
        assert!(fits > 64 << 10, "{fits}");
    }
}

#[test]
fn what_the_store_does_not_have_is_refused_by_name() {
    let dir = tempfile::tempdir().expect("a folder");
    let url = image(dir.path());
    let mut kv = Kv::open(&url).expect("opens");
    kv.put(b"key", b"value").expect("stored");
    let named = kv.begin_transaction().expect("begins").commit_as(TransactionId { host: [7; 16], number: 1 });
    assert!(matches!(named, Err(HostError::NoTransactions(_))), "{named:?}");
    let mut txn = kv.begin_transaction().expect("begins");
    txn.put(&[b'k'; 40], b"value").expect("a key");
    let long = txn.commit();
    assert!(matches!(long, Err(HostError::NoTransactions(_))), "{long:?}");
    kv.close().expect("closes");
    let error = Kv::open(&format!("{url}&depth=2000")).expect_err("too deep");
    assert!(error.to_string().contains("takes 1 to 1023"), "{error}");
    Kv::open(&format!("{url}&depth=1023")).expect("opens").close().expect("closes");
    let parsed = DeviceUrl::parse(&url).expect("a URL");
    let error = saker::build_device(&parsed).map(drop).expect_err("not served");
    assert!(error.to_string().contains("leave it out"), "{error}");
    let file = dir.path().join("disk.bak");
    let error = saker::back_up(&url, &file, &BackupOptions::default(), &mut |_| {}).expect_err("no backup");
    assert!(error.to_string().contains("hybrid") && !file.exists(), "{error}");
    let alone = url.trim_end_matches("?hybrid");
    saker::back_up(alone, &file, &BackupOptions::default(), &mut |_| {}).expect("namespaces");
    let options = RestoreOptions { replace: true, ..RestoreOptions::default() };
    let files = [file];
    let error = saker::restore(&files, &url, &options, &mut |_| {}).expect_err("no restore");
    assert!(error.to_string().contains("hybrid"), "{error}");
    // The namespaces bring the store with them.
    saker::restore(&files, alone, &options, &mut |_| {}).expect("restored");
    let mut kv = Kv::open(&url).expect("opens");
    assert_eq!(kv.get(b"key").expect("reads"), Some(b"value".to_vec()));
}

/// Copies of long keys in the device's tree are no pairs of its namespace: who copies that alone is told, and loses nothing. When they have gone
/// back the namespace is copied, and so it is where all keys are short.
#[test]
fn copies_of_long_keys_keep_the_namespace_from_being_copied_alone() {
    let dir = tempfile::tempdir().expect("a folder");
    let url = image(dir.path());
    let alone = url.trim_end_matches("?hybrid");
    let path = dir.path().join("disk.img");
    let mut kv = Kv::open(&format!("{url}=lazy&{PRESSED}")).expect("opens");
    for n in 0..600_u64 {
        for m in 0..4 {
            kv.put_queued(format!("short{}", (4 * n + m) % 100).as_bytes(), &[m as u8; 700]).expect("room");
        }
        kv.put(format!("a key of more than sixteen bytes {}", n % 50).as_bytes(), &[n as u8; 700])
            .expect("room");
    }
    assert!(counter(&mut kv, "metadata_keys_current") > 0, "copies in the device are newest");
    let all = all_of(&mut kv);
    kv.close().expect("closes");
    let copy = dir.path().join("disk.bak");
    let errors = [
        saker::back_up(alone, &copy, &BackupOptions::default(), &mut |_| {})
            .map(drop)
            .expect_err("no backup"),
        saker::grow_image(&path, 2 * BYTES, Some(1), &mut |_| {}).map(drop).expect_err("not grown"),
    ];
    for error in errors.map(|error| error.to_string()) {
        assert!(error.contains("long keys") && !error.contains('\n'), "{error}");
    }
    let mut kv = Kv::open(&format!("{url}=eager")).expect("opens");
    assert_eq!(all_of(&mut kv), all, "nothing is lost");
    let mut looks = 0..10_000;
    while counter(&mut kv, "metadata_keys") > 0 {
        looks.next().expect("they go back");
        kv.get(b"key").expect("reads");
        kv.flush().expect("flushes");
    }
    kv.close().expect("closes");
    saker::back_up(alone, &copy, &BackupOptions::default(), &mut |_| {}).expect("copied");
    saker::grow_image(&path, 2 * BYTES, Some(1), &mut |_| {}).expect("grown");
    let mut kv = Kv::open(&url).expect("opens");
    assert_eq!(all_of(&mut kv), all);
}

/// Who writes to the namespace of pairs alone keeps the store from opening; the error names the key, and what to do with it helps.
#[test]
fn what_others_have_written_is_named() {
    let dir = tempfile::tempdir().expect("a folder");
    let url = image(dir.path());
    let mut kv = Kv::open(&url).expect("opens");
    kv.put(b"ours", b"value").expect("stored");
    kv.close().expect("closes");
    let alone = url.replace("?hybrid", "?nsid=1");
    let mut kv = Kv::open(&alone).expect("opens");
    kv.put(b"theirs", b"short").expect("stored");
    kv.close().expect("closes");
    let error = Kv::open(&url).expect_err("not ours").to_string();
    assert!(error.contains("`theirs`") && error.contains("delete it there"), "{error}");
    let mut kv = Kv::open(&alone).expect("opens");
    assert!(kv.delete(b"theirs").expect("deleted"));
    kv.close().expect("closes");
    let mut kv = Kv::open(&url).expect("opens");
    assert_eq!(kv.get(b"ours").expect("reads"), Some(b"value".to_vec()));
}
