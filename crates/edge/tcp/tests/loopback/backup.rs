// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Backups of a target at work: as of one moment where the engine shows one, and refused where it does not.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use saker::{
    BackupError, BackupOptions, Consistency, EngineKind, Error, ImagePlan, Kv, NamespacePlan, RestoreOptions,
    ScanOptions, back_up, restore, restore_kv, scrub,
};
use saker_tcp::Server;
use saker_testing::tier;

use crate::loopback::support::{open, serve, url};

/// Keys that writers go through, round after round.
const KEYS: u64 = 400;

fn image(path: &Path, engine: EngineKind) -> String {
    let namespaces = vec![
        NamespacePlan::Kv { flash_bytes: None },
        NamespacePlan::Block { bytes: Some(256 << 10), block_bytes: 512 },
    ];
    ImagePlan { engine, namespaces, ..ImagePlan::kv(16 << 20, "tiny", 1) }.create(path).expect("creates");
    format!("file:{}", path.display())
}

/// Every fifth one is long.
fn key(n: u64) -> Vec<u8> {
    let n = n % KEYS;
    if n.is_multiple_of(5) {
        format!("a key of more than sixteen bytes {n:04}")
    } else {
        format!("key {n:04}")
    }
    .into_bytes()
}

/// The `n`th write.
fn write(kv: &mut Kv, n: u64) {
    let mut value = n.to_le_bytes().to_vec();
    value.resize(8 + (n % 300) as usize, 7);
    kv.put(&key(n), &value).expect("stores");
}

/// The number of the write that each key has, after a restore elsewhere.
fn restored(files: &[std::path::PathBuf]) -> Vec<u64> {
    let mut kv = Kv::open("mem:?size=16MiB&profile=tiny").expect("opens");
    let only = RestoreOptions { namespace: Some(1), ..RestoreOptions::default() };
    restore_kv(files, &mut kv, &only, &mut |_| {}).expect("restores");
    let read = |n: u64| {
        let value = kv.get(&key(n)).expect("reads").expect("it is there");
        u64::from_le_bytes(value[..8].try_into().expect("eight bytes"))
    };
    (0..KEYS).map(read).collect()
}

/// Whether the keys are as they were after one write, whichever.
fn is_one_moment(numbers: &[u64]) -> bool {
    let last = numbers.iter().copied().max().unwrap_or(0);
    (0..KEYS).zip(numbers).all(|(k, number)| *number == last - (last - k) % KEYS)
}

/// Writes until `work` has ended, which is given how many writes have been acknowledged.
fn beside_a_writer<T>(server: &Server, work: impl FnOnce(&AtomicU64) -> T) -> T {
    let (done, stop) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let mut kv = open(server, "");
        (0..KEYS).for_each(|n| write(&mut kv, n));
        done.store(KEYS, Ordering::SeqCst);
        let (done, stop) = (&done, &stop);
        scope.spawn(move || {
            for n in KEYS.. {
                write(&mut kv, n);
                done.store(n + 1, Ordering::SeqCst);
                if stop.load(Ordering::SeqCst) == 1 {
                    break;
                }
            }
        });
        let result = work(done);
        stop.store(1, Ordering::SeqCst);
        result
    })
}

#[test]
fn beside_writers_it_is_of_one_moment_or_refused() {
    for engine in EngineKind::ALL {
        let name = engine.name();
        let dir = tempfile::tempdir().expect("a temporary directory");
        let server = serve(&image(&dir.path().join("disk.img"), *engine));
        let pairs = url(&server, "nsid=1");
        beside_a_writer(&server, |done| {
            let mut chain = Vec::new();
            for round in 0..tier(2, 100) {
                let file = dir.path().join(format!("{round}.bak"));
                let before = done.load(Ordering::SeqCst);
                let strict = BackupOptions { since: chain.clone(), ..BackupOptions::default() };
                let loose = BackupOptions { each: true, ..strict.clone() };
                let made = match back_up(&pairs, &file, &strict, &mut |_| {}) {
                    Ok(made) => {
                        assert_eq!(made.namespaces[0].consistency, Consistency::Snapshot, "{name}");
                        made
                    }
                    Err(Error::Backup(BackupError::Moving { nsid: 1, .. })) => {
                        assert!(!file.exists(), "{name}: nothing is left");
                        back_up(&pairs, &file, &loose, &mut |_| {}).expect("a backup")
                    }
                    Err(error) => panic!("{name}: {error}"),
                };
                chain.push(file);
                let numbers = restored(&chain);
                let is_ordered = [EngineKind::LSM, EngineKind::TREE].contains(engine);
                assert_eq!(made.namespaces[0].consistency == Consistency::Snapshot, is_ordered, "{name}");
                assert!(!is_ordered || is_one_moment(&numbers), "{name} round {round}");
                // What was acknowledged before it began is in it, or what came later.
                let acknowledged = |k: u64| (before - 1) - (before - 1 - k) % KEYS;
                assert!((0..KEYS).all(|k| numbers[k as usize] >= acknowledged(k)), "{name} round {round}");
            }
        });
        server.stop().expect("stops");
    }
}

#[test]
fn all_namespaces_need_leave_where_blocks_are_among_them() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (path, file) = (dir.path().join("disk.img"), dir.path().join("disk.bak"));
    let image_url = image(&path, EngineKind::TREE);
    let server = serve(&image_url);
    let mut kv = open(&server, "");
    (0..KEYS).for_each(|n| write(&mut kv, n));
    let mut disk = saker::Block::open(&url(&server, "")).expect("opens");
    disk.write(7, &[7; 1024]).expect("writes");
    let all = url(&server, "");
    let refused = back_up(&all, &file, &BackupOptions::default(), &mut |_| {});
    assert!(matches!(refused, Err(Error::Backup(BackupError::Moving { nsid: 2, .. }))), "{refused:?}");
    assert_eq!(std::fs::read_dir(dir.path()).expect("lists").count(), 1, "no part is left");
    let each = BackupOptions { each: true, ..BackupOptions::default() };
    let made = back_up(&all, &file, &each, &mut |_| {}).expect("a backup");
    let kinds: Vec<_> = made.namespaces.iter().map(|n| (n.consistency, n.pairs, n.blocks_written)).collect();
    assert_eq!(kinds, [(Consistency::Snapshot, KEYS, 0), (Consistency::Each, 0, 2)]);
    assert!(scrub(&all, None, &mut |_| true).expect("reads").sound >= KEYS);
    // Restored over the network, on what a Format has emptied.
    disk.format().expect("formats");
    kv.format().expect("formats");
    restore(&[file], &all, &RestoreOptions::default(), &mut |_| {}).expect("restores");
    assert_eq!(kv.list(None).count() as u64, KEYS);
    let mut blocks = [0; 1536];
    disk.read(6, &mut blocks).expect("reads");
    assert_eq!((blocks[0], blocks[512], blocks[1535]), (0, 7, 7));
    // The image behind the target is scrubbed beside it.
    assert_eq!(scrub(&image_url, None, &mut |_| true).expect("reads").damaged, 0);
}

#[test]
fn a_format_meanwhile_leaves_all_or_an_error() {
    for engine in [EngineKind::LSM, EngineKind::TREE] {
        for round in 0..tier(3, 200) {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let file = dir.path().join("disk.bak");
            let server = serve(&image(&dir.path().join("disk.img"), engine));
            let mut kv = open(&server, "");
            (0..KEYS).for_each(|n| write(&mut kv, n));
            let mut looked = 0;
            let made = back_up(&url(&server, "nsid=1"), &file, &BackupOptions::default(), &mut |seen| {
                if seen == 1 + round * 97 % (KEYS - 1) {
                    kv.format().expect("formats");
                    looked = seen;
                }
            });
            assert!(looked > 0);
            match made {
                Ok(made) => assert_eq!(made.namespaces[0].pairs, KEYS, "{} round {round}", engine.name()),
                Err(error) => assert!(!file.exists(), "{} round {round}: {error}", engine.name()),
            }
            let mut left = 0;
            kv.scan(&ScanOptions::default(), &mut |_, _| {
                left += 1;
                true
            })
            .expect("scans");
            assert_eq!(left, 0);
        }
    }
}
