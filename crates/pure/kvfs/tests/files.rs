// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Single cases that users meet: locks, large files, names, bytes of the format.

use crate::disk::Cached;
use saker_kvfs::{Disk, Format, Fs, FsError};

fn fs(blocks: u64) -> Fs<Cached> {
    Fs::format(Cached::new(blocks), Format { identity: 0x1122_3344_5566_7788, area_bytes: None })
        .expect("makes")
}

#[test]
fn a_lock_is_one_users_at_a_time() {
    let mut fs = fs(500);
    let lock = fs.lock("LOCK", 1).expect("nobody has it");
    assert_eq!(fs.lock("LOCK", 1), Err(FsError::Locked("LOCK".into())));
    fs.unlock(lock).expect("it is ours");
    let lock = fs.lock("LOCK", 1).expect("nobody has it any more");
    assert!(fs.stat("LOCK").is_ok());
    fs.unlock(lock).expect("it is ours");
    assert_eq!(fs.unlock(lock), Err(FsError::Closed));
}

#[test]
fn large_files_are_read_at_any_place() {
    let mut fs = fs(40_000);
    let (file, other) = (fs.create("a", 1).expect("makes"), fs.create("b", 1).expect("makes"));
    let mut all = Vec::new();
    for n in 0..4000_u32 {
        let part: Vec<u8> = (0..1000).map(|at| (at * 7 + n) as u8).collect();
        fs.append(file, &part, 1).expect("fits");
        fs.append(other, &[1; 100], 1).expect("fits");
        all.extend_from_slice(&part);
    }
    for from in [0, 1, 511, 512, 999_999, 3_999_000, 4_000_000, 5_000_000] {
        let mut out = vec![0; 70_000];
        let read = fs.read_at(file, from, &mut out).expect("reads");
        let wanted = all.get(from as usize..).unwrap_or_default();
        assert!(out[..read] == wanted[..wanted.len().min(70_000)], "{from}");
    }
    let runs = fs.tree().file(fs.stat("a").expect("is there").inode).map(|f| f.extents.len());
    assert_eq!(runs, Some(0), "nothing is recorded yet");
    fs.sync().expect("syncs");
    let runs = fs.tree().file(fs.stat("a").expect("is there").inode).map(|f| f.extents.len());
    assert!(runs.is_some_and(|runs| runs < 20), "{runs:?} runs of two files that grew together");
}

#[test]
fn errors_say_what_is_wrong() {
    let mut fs = fs(500);
    fs.make_directory("d", 1).expect("makes");
    fs.create("d/f", 1).expect("makes");
    let text = |done: Result<(), FsError>| done.expect_err("it is refused").to_string();
    assert_eq!(text(fs.remove("x/y")), "x/y: no such file or directory");
    assert_eq!(text(fs.remove("d/f/g")), "d/f/g: not a directory");
    assert_eq!(text(fs.remove("d")), "d: is a directory");
    assert_eq!(text(fs.remove_directory("d")), "d: the directory is not empty");
    assert_eq!(text(fs.make_directory("d", 1)), "d: it exists already");
    assert_eq!(text(fs.make_directory("/", 1)), "/: it exists already");
    assert_eq!(text(fs.rename("d", "d/e")), "d/e: a directory cannot move below itself");
    assert_eq!(text(fs.rename("d/f", "d")), "d: is a directory");
    assert!(text(fs.make_directory("..", 1)).contains("is not a name"));
}

#[test]
fn a_device_without_files_says_so() {
    let mounted = Fs::mount(Cached::new(500)).map(|_| ());
    assert_eq!(mounted, Err(FsError::NoFileSystem));
    let tiny = Fs::format(Cached::new(40), Format::default()).map(|_| ());
    assert_eq!(
        tiny.expect_err("it is too small").to_string(),
        "the namespace cannot take a file system: it has 40 blocks; 66 are needed"
    );
}

/// The bytes on a device: a superblock at both ends, a checkpoint of nothing, a record.
#[test]
fn bytes_of_a_device_are_these() {
    let mut fs = fs(2000);
    fs.make_directory("ab", 5).expect("makes");
    let mut disk = fs.unmount().expect("unmounts");
    let mut block = [0; 512];
    let layout = [
        &b"SAKERFS1"[..],
        &[3, 0, 0, 0, 0, 2, 0, 0],
        &2000_u64.to_le_bytes(),
        &0x1122_3344_5566_7788_u64.to_le_bytes(),
        &31_u64.to_le_bytes(),
    ]
    .concat();
    for at in [0, 1999] {
        disk.read(at, &mut block).expect("reads");
        assert_eq!(block[..40], layout);
        assert_eq!(block[40..44], crc_fast::crc32_iscsi(&layout).to_le_bytes());
        assert_eq!(block[44..], [0; 468]);
    }
    for (at, number, operations) in [(1, 0_u64, &[][..]), (2, 1, &[2, 1, 0, 0, 0, 0, 0, 0, 0, 2][..])] {
        disk.read(at, &mut block).expect("reads");
        assert_eq!(block[..4], *b"SKJR");
        let bytes = u32::from_le_bytes(block[32..36].try_into().expect("four")) as usize;
        assert_eq!(block[4..8], crc_fast::crc32_iscsi(&block[8..36 + bytes]).to_le_bytes());
        assert_eq!(block[8..16], 0x1122_3344_5566_7788_u64.to_le_bytes());
        assert_eq!((&block[16..24], &block[24..32]), (&1_u64.to_le_bytes()[..], &number.to_le_bytes()[..]));
        assert!(block[36..36 + bytes].starts_with(operations));
        assert_eq!(bytes, if number == 0 { 0 } else { 28 });
    }
}
