// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What was flushed outlives the program: beside names, truncations, full devices, failures, and in files of an older format.

use crate::disk::{BLOCK_BYTES, Cached, Loss};
use crate::model::shown;
use saker_kvfs::layout::{SUPERBLOCK_BYTES, VERSION, VERSION_WITHOUT_FOLLOW, VERSION_WITHOUT_PASSING};
use saker_kvfs::op::Op;
use saker_kvfs::{Disk, FileId, Format, Fs, FsError, check};
use saker_sim::Seed;

fn fs(blocks: u64) -> (Cached, Fs<Cached>) {
    let disk = Cached::new(blocks);
    let fs = Fs::format(disk.clone(), Format { identity: 1, area_bytes: Some(1) }).expect("makes");
    (disk, fs)
}

/// The program dies, and what the device has taken stays.
fn killed(disk: &Cached) -> Fs<Cached> {
    let left = disk.after_cut(Loss::Nothing, Seed(1));
    assert_eq!(check(left.clone()).expect("is sound").problems, [""; 0]);
    Fs::mount(left).expect("mounts")
}

fn left(disk: &Cached, loss: Loss) -> Vec<(String, Option<Vec<u8>>)> {
    let mut fs = Fs::mount(disk.after_cut(loss, Seed(1))).expect("mounts");
    shown(&mut fs).expect("reads").0.into_iter().collect()
}

fn text(fs: &mut Fs<Cached>, name: &str) -> String {
    let bytes = shown(fs).expect("reads").0.remove(name).flatten();
    String::from_utf8(bytes.unwrap_or_else(|| panic!("{name} is there"))).expect("text")
}

fn logged(fs: &mut Fs<Cached>, name: &str, bytes: &[u8]) -> FileId {
    let file = fs.create(name, 1).expect("makes");
    fs.append(file, bytes, 1).expect("fits");
    fs.flush_file(file).expect("flushes");
    file
}

#[test]
fn a_flush_asks_the_device_for_nothing_durable() {
    let (disk, mut fs) = fs(400);
    let file = logged(&mut fs, "log", b"one");
    disk.fail_flushes(1);
    for _ in 0..100 {
        fs.append(file, b" more", 1).expect("fits");
        fs.flush_file(file).expect("no Flush is sent");
    }
    assert_eq!(text(&mut killed(&disk), "log"), format!("one{}", " more".repeat(100)));
    assert_eq!(left(&disk, Loss::Everything), [], "power is another matter");
    assert!(fs.sync().is_err(), "a sync sends one");
}

#[test]
fn names_that_were_given_before_a_flush_are_there() {
    let (disk, mut fs) = fs(400);
    let file = logged(&mut fs, "log.new", b"a");
    let old = logged(&mut fs, "log", b"old");
    fs.rename("log.new", "log").expect("renames");
    fs.remove("nothing").expect_err("is not there");
    fs.append(file, b"b", 1).expect("fits");
    fs.flush_file(file).expect("flushes");
    // It has no name, so there is nothing to keep.
    fs.append(old, b"er", 1).expect("fits");
    fs.flush_file(old).expect("flushes");
    let mut after = killed(&disk);
    assert_eq!(text(&mut after, "log"), "ab");
    assert!(after.stat("log.new").is_err());
    // A rename behind the flush may be there or not; the bytes are.
    fs.rename("log", "log.old").expect("renames");
    assert_eq!(text(&mut killed(&disk), "log"), "ab");
    fs.flush_file(file).expect("flushes the name alone");
    assert_eq!(text(&mut killed(&disk), "log.old"), "ab");
}

/// Blocks that a cut of the file has let go are nobody else's before power could bring them back.
#[test]
fn a_truncation_and_a_flush_leave_what_was_synced_to_a_cut() {
    let (disk, mut fs) = fs(400);
    let synced = "0123456789".repeat(130);
    let file = logged(&mut fs, "log", synced.as_bytes());
    fs.sync_file(file).expect("syncs");
    fs.truncate(file, 700, 2).expect("cuts");
    fs.append(file, b"other", 2).expect("fits");
    fs.flush_file(file).expect("flushes");
    // Another file takes all that is free, and is flushed too.
    let other = fs.create("other", 1).expect("makes");
    while fs.append(other, &[b'x'; 512], 1).is_ok() {
        fs.flush_file(other).expect("flushes");
    }
    let mut after = killed(&disk);
    assert_eq!(text(&mut after, "log"), format!("{}other", &synced[..700]));
    for loss in Loss::ALL {
        let log = left(&disk, loss).into_iter().find(|(name, _)| name == "log").and_then(|(_, bytes)| bytes);
        let log = String::from_utf8(log.expect("it was synced")).expect("text");
        let states = [synced.clone(), synced[..700].to_owned(), format!("{}other", &synced[..700])];
        assert!(states.contains(&log), "{loss:?}: {} bytes", log.len());
    }
}

#[test]
fn a_full_device_flushes_what_it_has_taken() {
    let (disk, mut fs) = fs(200);
    let file = fs.create("log", 1).expect("makes");
    let mut bytes = 0;
    while fs.append(file, &[b'y'; 300], 1).is_ok() {
        fs.flush_file(file).expect("a flush needs no space");
        bytes += 300;
    }
    assert!(bytes + 512 > fs.space().total, "{bytes} of {:?}", fs.space());
    assert_eq!(text(&mut killed(&disk), "log").len() as u64, bytes);
    fs.remove("log").expect("removes");
    fs.close(file).expect("closes");
    logged(&mut fs, "again", &vec![b'z'; bytes as usize]);
    assert_eq!(text(&mut killed(&disk), "again").len() as u64, bytes);
}

#[test]
fn a_failed_flush_can_be_tried_again() {
    // The first command is the file's blocks, the second one the record.
    for fails in 1..3 {
        let (disk, mut fs) = fs(400);
        let file = logged(&mut fs, "log", b"one");
        fs.append(file, &[b'2'; 900], 1).expect("fits");
        let before = disk.events();
        if fails == 1 {
            disk.fail(1);
        } else {
            disk.cut_at(before + 2);
        }
        assert!(matches!(fs.flush_file(file), Err(FsError::Disk(_))));
        assert_eq!(text(&mut killed(&disk), "log"), "one");
        disk.cut_at(u64::MAX);
        fs.append(file, b"3", 1).expect("fits");
        fs.flush_file(file).expect("again");
        assert_eq!(text(&mut killed(&disk), "log").len(), 904);
    }
}

/// A recovery that is killed has changed nothing; what it wrote first is a checkpoint, whole or not there.
#[test]
fn a_program_that_is_killed_while_it_goes_on_from_a_flush_loses_nothing() {
    let (disk, mut first) = fs(400);
    logged(&mut first, "log", b"flushed");
    for event in 0..20 {
        let disk = disk.after_cut(Loss::Nothing, Seed(1));
        let mut second = Fs::mount(disk.clone()).expect("mounts");
        disk.cut_at(disk.events() + event);
        let again = second.open("log").and_then(|file| {
            second.append(file, b" twice", 2)?;
            second.flush_file(file)
        });
        let said = text(&mut killed(&disk), "log");
        assert!(said == "flushed twice" || said == "flushed" && again.is_err(), "event {event}: {said}");
    }
}

/// Records that a cut has left without those before them are not taken for records of the next life.
#[test]
fn what_a_cut_leaves_of_passing_records_never_comes_back() {
    // A record of two blocks: names and the log.
    let names = |fs: &mut Fs<Cached>, salt: &str| {
        let log = fs.create(&format!("{salt}log"), 1).expect("makes");
        (0..6).for_each(|n| assert!(fs.create(&format!("{salt}{n:050}"), 1).is_ok()));
        fs.append(log, b"bytes", 1).expect("fits");
        fs.flush_file(log).expect("flushes");
        log
    };
    // Of this format a record does not say which one it is behind.
    let disk = of_version(VERSION_WITHOUT_FOLLOW);
    let mut fs = Fs::mount(disk.clone()).expect("mounts");
    fs.make_directory("d", 1).expect("makes");
    fs.sync().expect("syncs");
    let (generation, records) = fs.journal_position();
    let log = names(&mut fs, "a");
    assert_eq!(fs.journal_position(), (generation, records + 1));
    // And one behind it, of which each operation can be carried out in the second life.
    fs.make_directory("stale", 1).expect("makes");
    fs.flush_file(log).expect("flushes");
    assert_eq!(fs.journal_position(), (generation, records + 2));
    // The first of them is lost.
    let full = disk.after_cut(Loss::Nothing, Seed(1));
    let at = fs.layout().area(1 - (generation % 2) as u8) + 1 + records;
    (at..at + 2).for_each(|at| full.forge(at, |block| block.fill(0)));
    let mut fs = Fs::mount(full.clone()).expect("mounts");
    assert_eq!(shown(&mut fs).expect("reads").0.len(), 1);
    names(&mut fs, "b");
    let seen = shown(&mut killed(&full)).expect("reads").0;
    assert!(seen.contains_key("blog") && !seen.contains_key("stale"), "{:?}", seen.keys());
    assert_eq!(seen.len(), 8);
}

#[test]
fn more_than_a_megabyte_is_synced() {
    let (disk, mut fs) = fs(8000);
    let file = fs.create("log", 1).expect("makes");
    fs.append(file, &vec![7; 3 << 20], 1).expect("fits");
    fs.flush_file(file).expect("syncs");
    assert_eq!(left(&disk, Loss::Everything)[0].1.as_ref().map(Vec::len), Some(3 << 20));
}

/// An empty file system whose superblocks say that it is of a format.
fn of_version(version: u32) -> Cached {
    let (disk, fs) = fs(400);
    let superblocks = fs.layout().superblocks();
    let mut changed = fs.unmount().expect("unmounts");
    let mut block = [0; BLOCK_BYTES as usize];
    changed.read(0, &mut block).expect("reads");
    block[8..12].copy_from_slice(&version.to_le_bytes());
    let crc = crc_fast::crc32_iscsi(&block[..SUPERBLOCK_BYTES - 4]);
    block[SUPERBLOCK_BYTES - 4..SUPERBLOCK_BYTES].copy_from_slice(&crc.to_le_bytes());
    superblocks.iter().for_each(|at| changed.write(*at, &block).expect("writes"));
    changed.flush().expect("flushes");
    disk
}

#[test]
fn files_of_formats_before_are_used() {
    assert_eq!((VERSION, VERSION_WITHOUT_FOLLOW, VERSION_WITHOUT_PASSING), (3, 2, 1));
    // Flushes are syncs.
    let disk = of_version(VERSION_WITHOUT_PASSING);
    logged(&mut Fs::mount(disk.clone()).expect("the first format is known"), "log", b"synced");
    assert_eq!(left(&disk, Loss::Everything), [("log".to_owned(), Some(b"synced".to_vec()))]);
    // The journal hears of each flush, in words that programs of that time know.
    let disk = of_version(VERSION_WITHOUT_FOLLOW);
    let mut fs = Fs::mount(disk.clone()).expect("the second format is known");
    let file = logged(&mut fs, "log", &[7; 3000]);
    for n in 0..40 {
        fs.append(file, &[n; 100], 1).expect("fits");
        let events = disk.events();
        fs.flush_file(file).expect("flushes");
        assert!(disk.events() >= events + 2, "blocks of the file and of the journal");
    }
    assert_eq!(text_bytes(&disk).len(), 7000);
    let (layout, generation) = (*fs.layout(), fs.journal_position().0);
    for at in 0..layout.area_blocks {
        let mut block = [0; BLOCK_BYTES as usize];
        disk.clone().read(layout.area(1 - (generation % 2) as u8) + at, &mut block).expect("reads");
        let bytes = u32::from_le_bytes(block[32..36].try_into().expect("four")) as usize;
        let Some(mut rest) = block.get(36..36 + bytes) else { continue };
        let kinds = std::iter::from_fn(|| Op::decode(&mut rest));
        assert!(kinds.into_iter().all(|op| !matches!(op, Op::Follow { .. } | Op::Behind { .. })));
    }
}

fn text_bytes(disk: &Cached) -> Vec<u8> {
    shown(&mut killed(disk)).expect("reads").0.remove("log").flatten().expect("is there")
}

#[test]
fn files_of_a_later_format_are_refused() {
    let refused = Fs::mount(of_version(4)).map(|_| ()).expect_err("nobody knows it");
    assert_eq!(
        refused.to_string(),
        "the namespace cannot take a file system: its format is 4; this program knows 1 to 3"
    );
}
