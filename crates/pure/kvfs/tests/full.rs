// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Full devices, full journals, and devices that fail.

use crate::disk::{BLOCK_BYTES, Cached, Loss};
use crate::model::shown;
use saker_kvfs::{Disk, Format, Fs, FsError, check};
use saker_sim::Seed;

fn small() -> Fs<Cached> {
    Fs::format(Cached::new(200), Format { identity: 1, area_bytes: Some(1) }).expect("makes")
}

/// Blocks of files that fit.
fn fill(fs: &mut Fs<Cached>, name: &str) -> u64 {
    let file = fs.create(name, 1).expect("a name is free");
    let block = [7; BLOCK_BYTES as usize];
    let mut blocks = 0;
    loop {
        match fs.append(file, &block, 1) {
            Ok(()) => blocks += 1,
            Err(FsError::NoSpace(_)) => break,
            Err(error) => panic!("{error}"),
        }
    }
    fs.sync_file(file).expect("a sync needs no space");
    assert_eq!(fs.bytes(file), Ok(blocks * u64::from(BLOCK_BYTES)));
    fs.close(file).expect("closes");
    blocks
}

#[test]
fn a_full_device_takes_as_much_again() {
    let mut fs = small();
    let first = fill(&mut fs, "a");
    assert_eq!(first * u64::from(BLOCK_BYTES), fs.space().total);
    for round in 0..50 {
        fs.remove("a").expect("removes");
        assert_eq!(fill(&mut fs, "a"), first, "round {round}");
    }
    let disk = fs.unmount().expect("unmounts");
    assert_eq!(check(disk).expect("is sound").problems, [""; 0]);
}

/// What is ahead of one file's bytes is no reason to refuse another's.
#[test]
fn blocks_ahead_are_given_back() {
    let mut fs = small();
    let ahead = fs.create("ahead", 1).expect("makes");
    (0..40).for_each(|_| fs.append(ahead, &[1; 512], 1).expect("fits"));
    let others = fill(&mut fs, "others");
    assert_eq!((others + 40) * u64::from(BLOCK_BYTES), fs.space().total);
    fs.truncate(ahead, 3, 1).expect("what was cut makes room for its rest");
    fs.sync().expect("syncs");
    let mut out = [0; 8];
    assert_eq!((fs.read_at(ahead, 0, &mut out), out), (Ok(3), [1, 1, 1, 0, 0, 0, 0, 0]));
}

/// A truncation in a block that records name needs another block; without one it does nothing.
#[test]
fn a_truncation_without_room_does_nothing() {
    let mut fs = small();
    let file = fs.create("short", 1).expect("makes");
    fs.append(file, &[5; 300], 1).expect("fits");
    fs.sync().expect("syncs");
    fill(&mut fs, "others");
    assert_eq!(fs.truncate(file, 100, 1), Err(FsError::NoSpace("no block is free")));
    let mut out = [0; 400];
    assert_eq!(fs.read_at(file, 0, &mut out), Ok(300));
    assert!(out[..300] == [5; 300]);
    fs.truncate(file, 0, 1).expect("needs none");
    fs.sync().expect("syncs");
}

#[test]
fn a_file_in_use_keeps_its_blocks_when_its_name_goes() {
    let mut fs = small();
    let file = fs.create("a", 1).expect("makes");
    fs.append(file, &[9; 5000], 1).expect("fits");
    fs.sync_file(file).expect("syncs");
    fs.remove("a").expect("removes");
    fs.sync().expect("syncs");
    fill(&mut fs, "b");
    let mut out = vec![0; 5000];
    assert_eq!(fs.read_at(file, 0, &mut out), Ok(5000));
    assert!(out == vec![9; 5000]);
    let free = fs.space().free;
    fs.close(file).expect("closes");
    assert!(fs.space().free >= free + 5000 / 512 * 512);
}

/// Names end before the journal does, and removing makes room.
#[test]
fn a_full_journal_refuses_names_and_goes_on() {
    let mut fs = small();
    let mut made = 0;
    let error = loop {
        match fs.make_directory(&format!("directory-{made}"), 1) {
            Ok(()) => made += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, FsError::NoSpace(_)) && made > 10, "{error} after {made}");
    fs.sync().expect("syncs");
    fs.remove_directory("directory-0").expect("removes");
    fs.make_directory("directory-0", 1).expect("there is room again");
    let disk = fs.unmount().expect("unmounts");
    let mut fs = Fs::mount(disk).expect("mounts");
    assert_eq!(shown(&mut fs).expect("reads").0.len(), made);
}

/// A failed write can be tried again; after a failed flush nobody knows what is durable, so everything stops until it is mounted.
#[test]
fn failures_of_the_device_are_told_and_nothing_is_lost() {
    let disk = Cached::new(200);
    let mut fs = Fs::format(disk.clone(), Format { identity: 1, area_bytes: Some(1) }).expect("makes");
    let file = fs.create("a", 1).expect("makes");
    fs.append(file, &[3; 900], 1).expect("fits");
    fs.sync_file(file).expect("syncs");
    fs.append(file, &[4; 900], 1).expect("fits");
    disk.fail(1);
    assert!(matches!(fs.send_file(file), Err(FsError::Disk(_))));
    fs.send_file(file).expect("again");
    disk.fail(1);
    assert!(matches!(fs.sync_file(file), Err(FsError::Disk(_))));
    assert!(matches!(fs.append(file, &[5], 1), Err(FsError::Stopped(_))));
    assert!(matches!(fs.create("b", 1), Err(FsError::Stopped(_))));
    let mut fs = Fs::mount(fs.abandon()).expect("mounts");
    let bytes = shown(&mut fs).expect("reads").0["a"].clone();
    assert!(bytes == Some(vec![3; 900]) || bytes.is_some_and(|b| b.len() == 1800));
}

/// What an append has taken in, a sync records, however full the journal is.
#[test]
fn a_full_journal_refuses_appends_and_no_sync() {
    let mut fs = Fs::format(Cached::new(4000), Format { identity: 1, area_bytes: Some(1) }).expect("makes");
    let files = [0, 1, 2].map(|n| fs.create(&format!("file-{n}"), 1).expect("makes"));
    while fs.make_directory(&format!("directory-{}", fs.tree().next_inode().0), 1).is_ok() {}
    let mut refused = 0;
    // Files that grow in turns have short runs.
    for n in 0..3000 {
        match fs.append(files[n % 3], &[n as u8; 512], 1) {
            Ok(()) => {}
            Err(FsError::NoSpace(_)) => refused += 1,
            Err(error) => panic!("{error}"),
        }
        if n % 40 == 0 {
            fs.sync_file(files[n / 40 % 3]).expect("a sync needs no space");
        }
    }
    assert!(refused > 0, "the journal is full");
    let bytes = files.map(|file| fs.bytes(file).expect("it is open"));
    let disk = fs.unmount().expect("a sync needs no space");
    let mut fs = Fs::mount(disk).expect("mounts");
    let left = [0, 1, 2].map(|n| fs.stat(&format!("file-{n}")).expect("is there").bytes);
    assert_eq!(left, bytes);
    assert!(shown(&mut fs).is_ok());
}

/// What a mount shows is durable, though the program before it died between a record and its flush.
#[test]
fn what_a_mount_shows_survives_a_cut() {
    let disk = Cached::new(200);
    let mut fs = Fs::format(disk.clone(), Format { identity: 1, area_bytes: Some(1) }).expect("makes");
    fs.make_directory("d", 1).expect("makes");
    disk.fail_flushes(1);
    assert!(fs.sync_names().is_err());
    let mut fs = Fs::mount(fs.abandon()).expect("mounts");
    let seen = shown(&mut fs).expect("reads").0;
    assert!(seen.contains_key("d"), "the record is in the device's cache");
    let mut fs = Fs::mount(disk.after_cut(Loss::Everything, Seed(1))).expect("mounts");
    assert!(shown(&mut fs).expect("reads").0 == seen);
}

/// The device can use the flash of what was removed.
#[test]
fn removed_files_are_trimmed() {
    let mut fs = small();
    fill(&mut fs, "a");
    let data = fs.layout().data();
    fs.remove("a").expect("removes");
    fs.sync_names().expect("syncs");
    let mut disk = fs.unmount().expect("unmounts");
    let mut all = vec![1; data.blocks as usize * BLOCK_BYTES as usize];
    disk.read(data.start, &mut all).expect("reads");
    assert!(all.iter().all(|byte| *byte == 0));
}

#[test]
fn an_area_is_as_long_as_a_record_can_say() {
    let made =
        Fs::format(Cached::new(200), Format { identity: 1, area_bytes: Some((1 << 30) + 1) }).map(|_| ());
    assert!(matches!(made, Err(FsError::Geometry(_))));
}
