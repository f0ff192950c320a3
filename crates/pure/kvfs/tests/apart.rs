// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bytes that are moved without the file system, while it is used: histories against the model, with power cut at every event, and single cases.

use crate::cuts::{Run, Went, everything_removed_is_free, what_was_cut};
use crate::disk::{BLOCK_BYTES, Cached, bytes};
use saker_kvfs::{FileId, Format, Fs, FsError, Writing, check};
use saker_sim::{Rng, Seed};
use saker_testing::tier;

/// Steps of a history that is cut.
const STEPS: u64 = 120;

/// What is moved apart.
pub struct Apart {
    disk: Cached,
    rng: Rng,
    /// The file, its number in the model, its blocks, and whether they are on the device.
    writings: Vec<(FileId, u64, Writing, bool)>,
    pub begun: u64,
    pub failed: u64,
    pub read: u64,
}

impl Apart {
    pub fn new(disk: Cached, seed: Seed) -> Self {
        let rng = seed.child("apart").rng();
        Self { disk, rng, writings: Vec::new(), begun: 0, failed: 0, read: 0 }
    }

    /// Ends the write of a file, if there is one: what comes next wants the file for itself.
    pub fn finish(&mut self, fs: &mut Fs<Cached>, id: u64) -> Went {
        let Some(at) = self.writings.iter().position(|(_, other, ..)| *other == id) else { return Ok(()) };
        let (_, _, writing, is_done) = self.writings.swap_remove(at);
        let done = if is_done { Ok(()) } else { writing.write(&mut self.disk) };
        fs.written(writing, done.is_ok())?;
        Ok(done?)
    }

    pub fn finish_all(&mut self, fs: &mut Fs<Cached>) -> Went {
        while let Some((_, id, ..)) = self.writings.first() {
            let id = *id;
            self.finish(fs, id)?;
        }
        Ok(())
    }

    /// One that is begun goes on, or fails.
    fn go_on(&mut self, fs: &mut Fs<Cached>) -> Went {
        if self.writings.is_empty() {
            return Ok(());
        }
        let at = self.rng.below(self.writings.len() as u64) as usize;
        let (_, id, writing, is_done) = &mut self.writings[at];
        if *is_done {
            let id = *id;
            return self.finish(fs, id);
        }
        if self.rng.below(6) == 0 {
            // A command that does nothing: the bytes are in the file all the same, and go to the device later.
            self.disk.fail(1);
            let failed = writing.write(&mut self.disk).is_err();
            self.disk.fail(0);
            assert!(failed);
            self.failed += 1;
            let (_, _, writing, _) = self.writings.swap_remove(at);
            return fs.written(writing, false);
        }
        writing.write(&mut self.disk)?;
        *is_done = true;
        Ok(())
    }
}

impl Run {
    /// Something of the sort, beside the steps of a history.
    pub fn apart_step(&mut self) -> Went {
        let Some(mut apart) = self.apart.take() else { return Ok(()) };
        let went = match apart.rng.below(4) {
            0 => apart.go_on(&mut self.fs),
            1 => self.begin(&mut apart),
            2 => self.read_apart(&mut apart),
            _ => Ok(()),
        };
        self.apart = Some(apart);
        went
    }

    fn begin(&mut self, apart: &mut Apart) -> Went {
        if self.open.is_empty() {
            return Ok(());
        }
        let (file, id) = self.open[apart.rng.below(self.open.len() as u64) as usize];
        let data = bytes(&mut apart.rng, 3000);
        match self.fs.append_apart(file, &data, 5) {
            Err(FsError::NoSpace(_)) => self.full += 1,
            done => {
                done?;
                self.model.append(id, &data);
            }
        }
        if apart.writings.iter().any(|(_, other, ..)| *other == id) {
            assert_eq!(self.fs.writing(file, 1).map(|_| ()), Err(FsError::Busy));
            assert_eq!(self.fs.truncate(file, 0, 5), Err(FsError::Busy));
            return Ok(());
        }
        let least = apart.rng.below(3) as usize * BLOCK_BYTES as usize;
        if let Some(writing) = self.fs.writing(file, least)? {
            apart.begun += 1;
            apart.writings.push((file, id, writing, false));
        }
        Ok(())
    }

    /// What is read apart is what was there when it was asked for, unless the file was cut.
    fn read_apart(&mut self, apart: &mut Apart) -> Went {
        if self.open.is_empty() {
            return Ok(());
        }
        let (file, id) = self.open[apart.rng.below(self.open.len() as u64) as usize];
        let seen = self.model.bytes(id).to_vec();
        let from = apart.rng.below(seen.len() as u64 + 2);
        let mut out = vec![0; 1 + apart.rng.below(4000) as usize];
        let reading = self.fs.reading(file, from, &mut out)?;
        if apart.rng.below(2) == 0 {
            apart.go_on(&mut self.fs)?;
        }
        let read = reading.read(&mut apart.disk, &mut out)?;
        let wanted = seen.get(from as usize..).unwrap_or_default();
        assert!(out[..read] == wanted[..wanted.len().min(out.len())], "{from} of {}", seen.len());
        apart.read += u64::from(read > 0);
        Ok(())
    }
}

#[test]
fn users_see_what_they_did() {
    let (mut begun, mut failed, mut read) = (0, 0, 0);
    for seed in saker_testing::seeds(tier(20, 400)) {
        let mut run = Run::with_apart(Cached::new(8000), Seed(seed), seed % 2 * 6).expect("makes");
        run.steps(1200).expect("the device works");
        let mut apart = run.apart.take().expect("it is there");
        apart.finish_all(&mut run.fs).expect("the device works");
        (begun, failed, read) = (begun + apart.begun, failed + apart.failed, read + apart.read);
        let seen = run.model.seen();
        assert!(run.shown() == seen, "seed {seed}");
        let disk = run.fs.unmount().expect("unmounts");
        assert_eq!(check(disk.clone()).expect("is sound").problems, [""; 0], "seed {seed}");
        let mut fs = Fs::mount(disk).expect("mounts");
        assert!(crate::model::shown(&mut fs).expect("reads").0 == seen, "seed {seed}: mounted again");
        everything_removed_is_free(fs);
    }
    assert!(begun > 500 && failed > 50 && read > 1000, "{begun} writes, {failed} failed, {read} reads");
}

#[test]
fn a_cut_at_every_event_leaves_a_prefix() {
    let (mut cuts, mut begun) = (0, 0);
    for seed in saker_testing::seeds(tier(2, 200)) {
        for event in 0.. {
            let disk = Cached::new(700);
            let mut run = Run::with_apart(disk.clone(), Seed(seed), seed % 2 * 8).expect("makes");
            disk.cut_at(disk.events() + event);
            match run.steps(STEPS) {
                Ok(()) => {
                    begun += run.apart.map_or(0, |apart| apart.begun);
                    break;
                }
                Err(FsError::Disk(_) | FsError::Stopped(_)) => cuts += what_was_cut(&run, &disk, seed, event),
                Err(error) => panic!("seed {seed}, event {event}: {error}"),
            }
        }
    }
    assert!(cuts > 1000 && begun > 10, "{cuts} cuts, {begun} writes");
}

fn made(disk: &Cached) -> (Fs<Cached>, FileId) {
    let mut fs = Fs::format(disk.clone(), Format { identity: 1, area_bytes: None }).expect("makes");
    let file = fs.create("/table", 1).expect("made");
    (fs, file)
}

fn all(fs: &mut Fs<Cached>, file: FileId) -> Vec<u8> {
    let mut out = vec![0; fs.bytes(file).expect("open") as usize];
    assert_eq!(fs.read_at(file, 0, &mut out).expect("reads"), out.len());
    out
}

#[test]
fn a_file_that_is_being_written_is_neither_cut_nor_closed_nor_written_again() {
    let mut disk = Cached::new(600);
    let (mut fs, file) = made(&disk);
    let data: Vec<u8> = (0..2000).map(|n| n as u8).collect();
    fs.append_apart(file, &data, 1).expect("room");
    assert!(fs.writing(file, 2001).expect("open").is_none(), "it has fewer bytes");
    let writing = fs.writing(file, 1).expect("open").expect("three full blocks");
    assert_eq!(fs.truncate(file, 3, 1), Err(FsError::Busy));
    assert_eq!(fs.create("/table", 1), Err(FsError::Busy));
    assert_eq!(fs.writing(file, 1).map(|_| ()), Err(FsError::Busy));
    assert_eq!(fs.close(file), Err(FsError::Busy));
    assert_eq!(all(&mut fs, file), data, "it can be read");
    fs.append_apart(file, b"more", 1).expect("it can grow");
    // Removed, it keeps its blocks.
    fs.remove("/table").expect("removed");
    fs.sync().expect("synced");
    writing.write(&mut disk).expect("written");
    fs.written(writing, true).expect("it is open");
    assert_eq!(all(&mut fs, file), [data.as_slice(), b"more"].concat());
    fs.close(file).expect("closes");
    fs.sync().expect("synced");
    assert_eq!(fs.space().free, fs.space().total);
}

/// A flush of the device that came before the bytes did covers nothing of them: the next sync flushes them before its record names them.
#[test]
fn a_sync_of_another_file_meanwhile_does_not_count_for_this_one() {
    let data = vec![7; 4 * BLOCK_BYTES as usize];
    for event in 0.. {
        let mut disk = Cached::new(600);
        let (mut fs, file) = made(&disk);
        fs.sync().expect("synced");
        let other = fs.create("/other", 1).expect("made");
        fs.append_apart(file, &data, 1).expect("room");
        let writing = fs.writing(file, 1).expect("open").expect("full blocks");
        fs.append(other, b"other", 1).expect("room");
        fs.sync_file(other).expect("synced");
        writing.write(&mut disk).expect("written");
        fs.written(writing, true).expect("it is open");
        disk.cut_at(disk.events() + event);
        let synced = fs.sync_file(file).is_ok();
        for loss in crate::disk::Loss::ALL {
            let mut fs = Fs::mount(disk.after_cut(loss, Seed(event))).expect("mounts");
            let file = fs.open("/table").expect("there");
            let left = all(&mut fs, file);
            assert!(
                left == data || left.is_empty() && !synced,
                "event {event}, {loss:?}: {} bytes",
                left.len()
            );
        }
        if synced {
            assert!(event > 2, "{event} events");
            break;
        }
    }
}
