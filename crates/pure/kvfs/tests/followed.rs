// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flushes of a log, one after the other: each writes one block, and nothing that is done besides loses what they said.

use crate::disk::{BLOCK_BYTES, Cached, Loss};
use crate::model::shown;
use saker_kvfs::{FileId, Format, Fs, FsError, check};
use saker_sim::Seed;

fn fs(blocks: u64) -> (Cached, Fs<Cached>) {
    let disk = Cached::new(blocks);
    let fs = Fs::format(disk.clone(), Format { identity: 1, area_bytes: Some(1) }).expect("makes");
    (disk, fs)
}

fn left(disk: &Cached, loss: Loss) -> Vec<u8> {
    let left = disk.after_cut(loss, Seed(1));
    assert_eq!(check(left.clone()).expect("is sound").problems, [""; 0]);
    let mut fs = Fs::mount(left.clone()).expect("mounts");
    let bytes = shown(&mut fs).expect("reads").0.remove("log").flatten().unwrap_or_default();
    assert_eq!(left.events(), 2, "who reads writes nothing: both mounts send a Flush");
    bytes
}

fn byte(n: usize) -> u8 {
    (n * 7 + n / 256) as u8
}

/// Appends bytes that go on, and flushes them.
fn log(fs: &mut Fs<Cached>, file: FileId, bytes: usize) -> Result<(), FsError> {
    let has = fs.bytes(file)? as usize;
    let data: Vec<u8> = (has..has + bytes).map(byte).collect();
    fs.append(file, &data, 1)?;
    fs.flush_file(file)
}

fn is_prefix(bytes: &[u8]) -> bool {
    bytes.iter().enumerate().all(|(n, b)| *b == byte(n))
}

/// Bytes of such a log.
const BEGUN: usize = 2600 + 500 + 10;

/// A log with a few blocks ahead, followed.
fn begun(fs: &mut Fs<Cached>) -> FileId {
    let file = fs.create("log", 1).expect("makes");
    [2600, 500, 10].iter().for_each(|bytes| log(fs, file, *bytes).expect("flushes"));
    file
}

#[test]
fn a_flush_of_a_log_writes_one_block() {
    let (disk, mut fs) = fs(2000);
    let file = begun(&mut fs);
    let (before, mut most) = (disk.events(), 0);
    for n in 0..600 {
        let events = disk.events();
        log(&mut fs, file, 20).expect("flushes");
        most = most.max(disk.events() - events);
        assert_eq!(left(&disk, Loss::Nothing).len(), BEGUN + 20 * (n + 1));
    }
    // Every 25th has a new block besides, and where those ahead end the journal hears of it.
    let events = disk.events() - before;
    assert!(events < 600 + 600 / 9 && most <= 4, "{events} blocks, {most} at most");
    assert!(is_prefix(&left(&disk, Loss::Nothing)));
}

/// What is done between two flushes may take the blocks ahead, write the last block again, or say something in the journal.
#[test]
fn what_is_done_besides_loses_nothing_that_was_flushed() {
    type Act = fn(&mut Fs<Cached>, FileId) -> Result<(), FsError>;
    let acts: [(&str, Act); 10] = [
        ("nothing", |_, _| Ok(())),
        ("a name", |fs, _| fs.make_directory("d", 1)),
        ("names that are synced", |fs, _| fs.make_directory("d", 1).and_then(|()| fs.sync_names())),
        ("a close", |fs, file| fs.close(file)),
        ("an append that is sent", |fs, file| fs.append(file, b"?", 1).and_then(|()| fs.send_file(file))),
        ("an append that is large", |fs, file| fs.append(file, &vec![1; 1 << 20], 1)),
        ("a sync", |fs, file| fs.sync_file(file)),
        ("another log", |fs, _| {
            let other = fs.create("other", 1)?;
            fs.append(other, b"other", 1)?;
            fs.flush_file(other)
        }),
        ("another name", |fs, _| fs.link("log", "same")),
        ("zeros", |fs, file| fs.truncate(file, fs.bytes(file)? + 300, 1)),
    ];
    for (what, act) in acts {
        for bytes in [1, 20, 440, 455, 474, 512, 1100] {
            for event in (0..9).chain([1 << 40]) {
                let (disk, mut fs) = fs(4000);
                let file = begun(&mut fs);
                log(&mut fs, file, bytes).expect("flushes");
                disk.cut_at(disk.events() + event);
                let done = act(&mut fs, file).is_ok();
                // Others take all that is free, and write it.
                if done && let Ok(other) = fs.create("much", 1) {
                    let blocks = fs.space().free / u64::from(BLOCK_BYTES);
                    let all = vec![b'x'; (blocks * u64::from(BLOCK_BYTES)) as usize];
                    let _ = fs.append(other, &all, 1).and_then(|()| fs.send_file(other));
                }
                let seen = left(&disk, Loss::Nothing);
                let flushed = BEGUN + bytes;
                assert!(
                    seen.len() >= flushed && is_prefix(&seen[..flushed]),
                    "{what}, {bytes}, {event}: {}",
                    seen.len()
                );
            }
        }
    }
}

#[test]
fn a_file_that_is_cut_and_grows_again_has_no_bytes_of_before() {
    let (disk, mut fs) = fs(4000);
    let file = begun(&mut fs);
    for to in [3105_u64, 3100, 3090, 600, 0] {
        log(&mut fs, file, 700).expect("flushes");
        fs.truncate(file, to, 1).expect("cuts");
        fs.append(file, b"new", 1).expect("fits");
        fs.flush_file(file).expect("flushes");
        fs.append(file, b" more", 1).expect("fits");
        fs.flush_file(file).expect("flushes");
        let seen = left(&disk, Loss::Nothing);
        assert!(is_prefix(&seen[..to as usize]) && seen.ends_with(b"new more"), "{to}");
        assert_eq!(seen.len() as u64, to + 8);
        for loss in Loss::ALL {
            let seen = left(&disk, loss);
            let same = seen.iter().enumerate().take_while(|(n, b)| **b == byte(*n)).count();
            let rest = &seen[same..];
            assert!(
                b"new more".starts_with(rest) || rest.len() > 8,
                "{to}, {loss:?}: {same} of {}",
                seen.len()
            );
        }
        fs.truncate(file, 0, 1).expect("cuts");
        log(&mut fs, file, BEGUN).expect("flushes");
    }
}

/// A write that fails may have reached the device. What was flushed before it stays, whatever is tried again.
#[test]
fn a_flush_of_a_log_that_has_failed_may_have_been_done() {
    for (first, second, third) in [(300, 160, 30), (20, 485, 30), (440, 10, 600)] {
        for (lies, event) in (0..3).flat_map(|lies| (0..6).map(move |event| (lies, event))) {
            let (disk, mut fs) = fs(2000);
            let file = begun(&mut fs);
            log(&mut fs, file, first).expect("flushes");
            disk.lie_behind(lies);
            let done = log(&mut fs, file, second).is_ok();
            disk.lie_behind(u32::MAX - 1);
            disk.cut_at(disk.events() + event);
            let _ = log(&mut fs, file, third);
            let flushed = BEGUN + first + if done { second } else { 0 };
            let seen = left(&disk, Loss::Nothing);
            assert!(
                seen.len() >= flushed && is_prefix(&seen),
                "{first} {second} {third}, {lies}, {event}: {}",
                seen.len()
            );
        }
    }
}

/// The same of one that has not, or in part.
#[test]
fn a_failed_flush_of_a_log_can_be_tried_again() {
    for (first, second, third) in [(440, 15, 10), (40, 415, 5), (455, 10, 12), (20, 900, 40), (440, 12, 600)]
    {
        for fails in 0..4 {
            for event in 0..12 {
                let (disk, mut fs) = fs(2000);
                let file = begun(&mut fs);
                log(&mut fs, file, first).expect("flushes");
                disk.cut_at(disk.events() + fails);
                let done = log(&mut fs, file, second).is_ok();
                disk.cut_at(disk.events() + event);
                let _ = log(&mut fs, file, third);
                let flushed = BEGUN + first + if done { second } else { 0 };
                let seen = left(&disk, Loss::Nothing);
                assert!(
                    seen.len() >= flushed && is_prefix(&seen),
                    "{first} {second} {third}, {fails}, {event}: {}",
                    seen.len()
                );
            }
        }
    }
}

#[test]
fn no_flipped_bit_of_a_log_makes_other_bytes() {
    let (disk, mut fs) = fs(300);
    let file = begun(&mut fs);
    (0..9).for_each(|_| log(&mut fs, file, 90).expect("flushes"));
    let data = fs.layout().data();
    for block in data.start..data.start + 10 {
        for bit in 0..BLOCK_BYTES as usize * 8 {
            let changed = disk.after_cut(Loss::Nothing, Seed(1));
            changed.forge(block, |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
            let mut fs = Fs::mount(changed).expect("mounts");
            let seen = shown(&mut fs).expect("reads").0.remove("log").flatten().expect("is named");
            // Bytes that the journal names are the device's to keep.
            let other = seen.iter().enumerate().filter(|(n, b)| **b != byte(*n)).count();
            assert!(other == 0 || [2600, 3100].contains(&seen.len()), "{block}, {bit}: {} bytes", seen.len());
        }
    }
}

/// A log that is cut and begins anew in the same blocks: what an earlier follow left behind the new end is right in all but its number, as the
/// bytes between are zeros.
#[test]
fn a_trailer_of_an_earlier_follow_says_nothing() {
    for (zeros, is_synced) in
        [480, 490, 500, 510, 900, 1000].into_iter().flat_map(|n| [(n, false), (n, true)])
    {
        let (disk, mut fs) = fs(2000);
        let file = fs.create("log", 1).expect("makes");
        let begin = |fs: &mut Fs<Cached>| {
            fs.append(file, b"x", 1).expect("fits");
            fs.flush_file(file).expect("flushes");
        };
        log(&mut fs, file, 3072).expect("flushes");
        begin(&mut fs);
        fs.append(file, &vec![0; zeros], 1).expect("fits");
        fs.flush_file(file).expect("flushes");
        assert_eq!(left(&disk, Loss::Nothing).len(), 3073 + zeros);
        fs.truncate(file, 3072, 1).expect("cuts");
        if is_synced {
            fs.sync_file(file).expect("syncs");
        }
        begin(&mut fs);
        let seen = left(&disk, Loss::Nothing);
        assert!(seen.len() == 3073 && seen.ends_with(b"x"), "{zeros}, {is_synced}: {} bytes", seen.len());
    }
}
