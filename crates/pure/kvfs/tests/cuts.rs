// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random histories against the model, with power cut at every event, and again in what follows.

use crate::apart::Apart;
use crate::disk::{Cached, Loss, bytes};
use crate::model::{Model, shown};
use saker_kvfs::{FileId, Format, Fs, FsError, check};
use saker_sim::{Rng, Seed};
use saker_testing::tier;
use std::collections::BTreeMap;

/// Blocks of the device.
const BLOCKS: u64 = 420;
/// Operations of a history that is cut.
const STEPS: u64 = 500;
/// Bytes of an area of the journal: 24 blocks, so that checkpoints are frequent.
const AREA_BYTES: u64 = 24 * 512;
/// Names of files and directories: few, so that they meet, and long, so that a checkpoint has several blocks.
const NAMES: [&str; 4] = [
    "a-name-that-takes-a-part-of-a-block-of-a-checkpoint-",
    "b-name-that-takes-a-part-of-a-block-of-a-checkpoint-",
    "c-name-that-takes-a-part-of-a-block-of-a-checkpoint-",
    "d-name-that-takes-a-part-of-a-block-of-a-checkpoint-",
];

pub struct Run {
    pub fs: Fs<Cached>,
    pub model: Model,
    rng: Rng,
    pub open: Vec<(FileId, u64)>,
    pub full: u64,
    /// Of so many steps all but one append to a file that is a log, and flush it.
    logs: u64,
    /// What is moved without the file system.
    pub apart: Option<Apart>,
}

/// What a history comes to: an error of the device ends it.
pub type Went = Result<(), FsError>;

impl Run {
    fn new(disk: Cached, seed: Seed, logs: u64) -> Result<Self, FsError> {
        let fs = Fs::format(disk, Format { identity: seed.0, area_bytes: Some(AREA_BYTES) })?;
        let rng = seed.child("history").rng();
        Ok(Self { fs, model: Model::new(), rng, open: Vec::new(), full: 0, logs, apart: None })
    }

    /// The same, and bytes are moved without the file system, too.
    pub fn with_apart(disk: Cached, seed: Seed, logs: u64) -> Result<Self, FsError> {
        let apart = Some(Apart::new(disk.clone(), seed));
        Ok(Self { apart, ..Self::new(disk, seed, logs)? })
    }

    /// What is done to a file next wants it alone.
    fn alone(&mut self, id: u64) -> Went {
        self.apart.as_mut().map_or(Ok(()), |apart| apart.finish(&mut self.fs, id))
    }

    /// What users see.
    pub fn shown(&mut self) -> crate::model::Shown {
        shown(&mut self.fs).expect("reads").0
    }

    /// A few bytes for the last file that was opened, and a flush of it.
    fn log(&mut self) -> Went {
        let Some((file, id)) = self.open.last().copied() else { return Ok(()) };
        self.alone(id)?;
        let most = [3, 40, 200, 1200][self.rng.below(4) as usize];
        let data = bytes(&mut self.rng, most);
        match self.fs.append(file, &data, 4) {
            Err(FsError::NoSpace(_)) => self.full += 1,
            done => {
                done?;
                self.model.append(id, &data);
            }
        }
        if self.model.paths().iter().any(|path| self.model.file(path) == Some(id)) {
            self.model.record(id);
        }
        self.fs.flush_file(file)?;
        self.model.is_flushed();
        Ok(())
    }

    /// A name in a directory that is there, or anywhere.
    fn path(&mut self) -> String {
        let directories = self.model.directories();
        let mut path = String::new();
        if self.rng.below(4) > 0 {
            path.clone_from(&directories[self.rng.below(directories.len() as u64) as usize]);
        }
        let more = if self.rng.below(8) == 0 { 2 } else { 1 };
        for _ in 0..more {
            let slash = if path.is_empty() { "" } else { "/" };
            path = format!("{path}{slash}{}", NAMES[self.rng.below(4) as usize]);
        }
        path
    }

    /// One that is there, more often than not.
    fn known(&mut self) -> String {
        let paths = self.model.paths();
        if paths.is_empty() || self.rng.below(5) == 0 {
            return self.path();
        }
        paths[self.rng.below(paths.len() as u64) as usize].clone()
    }

    fn agrees<T>(
        &mut self,
        done: Result<T, FsError>,
        wanted: bool,
        what: &str,
    ) -> Result<Option<T>, FsError> {
        match done {
            Err(error @ (FsError::Disk(_) | FsError::Stopped(_) | FsError::Damaged(_))) => Err(error),
            Err(FsError::NoSpace(_)) => panic!("{what}: there is space"),
            Ok(value) => {
                assert!(wanted, "{what} is done");
                Ok(Some(value))
            }
            Err(error) => {
                assert!(!wanted, "{what}: {error}");
                Ok(None)
            }
        }
    }

    fn step(&mut self) -> Went {
        if self.logs > 0 && self.rng.below(self.logs) > 0 {
            return self.log();
        }
        match self.rng.below(29) {
            0..3 => {
                let path = self.path();
                if let Some(id) = self.model.file(&path) {
                    self.alone(id)?;
                }
                let wanted = self.model.create(&path);
                let file = self.fs.create(&path, 1);
                if let Some(file) = self.agrees(file, wanted, &format!("create {path}"))? {
                    self.open.push((file, self.model.file(&path).expect("it was made")));
                }
            }
            3 => {
                let path = self.path();
                let wanted = self.model.make_directory(&path);
                let done = self.fs.make_directory(&path, 1);
                self.agrees(done, wanted, &format!("make {path}"))?;
            }
            4 | 5 => {
                let (path, directory) = (self.known(), self.rng.below(3) == 0);
                let wanted = self.model.remove(&path, directory);
                let done = if directory { self.fs.remove_directory(&path) } else { self.fs.remove(&path) };
                self.agrees(done, wanted, &format!("remove {path}"))?;
            }
            6 | 7 => {
                let (path, new) = (self.known(), self.path());
                let wanted = self.model.rename(&path, &new);
                let done = self.fs.rename(&path, &new);
                self.agrees(done, wanted, &format!("rename {path} {new}"))?;
            }
            8 => {
                let (path, new) = (self.known(), self.path());
                let wanted = self.model.link(&path, &new);
                let done = self.fs.link(&path, &new);
                self.agrees(done, wanted, &format!("link {path} {new}"))?;
            }
            9 => {
                let path = self.known();
                let id = self.model.file(&path);
                let file = self.fs.open(&path);
                if let Some(file) = self.agrees(file, id.is_some(), &format!("open {path}"))? {
                    self.open.push((file, id.expect("it is there")));
                }
            }
            19..22 => {
                self.model.record_all();
                self.fs.sync()?;
                self.model.is_durable();
            }
            18 | 22..26 => {
                self.fs.sync_names()?;
                self.model.is_durable();
            }
            n if !self.open.is_empty() => self.use_file(n)?,
            _ => {}
        }
        Ok(())
    }

    fn use_file(&mut self, n: u64) -> Went {
        let at = self.rng.below(self.open.len() as u64) as usize;
        let (file, id) = self.open[at];
        self.alone(id)?;
        match n {
            10..14 => {
                let data = bytes(&mut self.rng, 1800);
                match self.fs.append(file, &data, 2) {
                    Err(FsError::NoSpace(_)) => self.full += 1,
                    done => {
                        done?;
                        self.model.append(id, &data);
                    }
                }
            }
            14 => {
                let most = self.model.bytes(id).len() as u64 + 300;
                let to = self.rng.below(most) as usize;
                self.model.truncate(id, to);
                self.fs.truncate(file, to as u64, 3)?;
            }
            15 | 16 | 26.. => {
                if self.model.paths().iter().any(|path| self.model.file(path) == Some(id)) {
                    self.model.record(id);
                }
                if n < 26 {
                    self.fs.sync_file(file)?;
                    self.model.is_durable();
                } else {
                    self.fs.flush_file(file)?;
                    self.model.is_flushed();
                }
            }
            _ => {
                self.open.swap_remove(at);
                self.fs.close(file)?;
            }
        }
        let (file, id) = self.open.get(at).copied().unwrap_or((file, id));
        if self.open.iter().any(|(open, _)| *open == file) {
            let seen = self.model.bytes(id).to_vec();
            let from = self.rng.below(seen.len() as u64 + 2);
            let mut out = vec![0; 700];
            let read = self.fs.read_at(file, from, &mut out)?;
            let wanted = seen.get(from as usize..).unwrap_or_default();
            assert!(out[..read] == wanted[..wanted.len().min(700)], "{from} of {}", seen.len());
        }
        Ok(())
    }

    pub fn steps(&mut self, steps: u64) -> Went {
        (0..steps).try_for_each(|n| {
            self.step()?;
            self.apart_step()?;
            assert_eq!(self.fs.check(), Ok(()), "step {n}");
            Ok(())
        })
    }
}

#[test]
fn users_see_what_they_did() {
    for seed in saker_testing::seeds(tier(20, 400)) {
        let mut run = Run::new(Cached::new(6000), Seed(seed), seed % 2 * 6).expect("makes");
        for part in 0..30 {
            run.steps(40).expect("the device works");
            assert!(shown(&mut run.fs).expect("reads").0 == run.model.seen(), "seed {seed}, part {part}");
        }
        assert_eq!(run.full, 0, "seed {seed}");
        let seen = run.model.seen();
        let disk = run.fs.unmount().expect("unmounts");
        let report = check(disk.clone()).expect("is sound");
        assert_eq!(report.problems, [""; 0], "seed {seed}");
        let mut fs = Fs::mount(disk).expect("mounts");
        assert!(shown(&mut fs).expect("reads").0 == seen, "seed {seed}: mounted again");
        let is_log = seed % 2 > 0;
        assert!(is_log || fs.journal_position().0 > 3, "seed {seed}: checkpoints are made");
        everything_removed_is_free(fs);
    }
}

/// Nothing is lost of the space, whatever was done.
pub fn everything_removed_is_free(mut fs: Fs<Cached>) {
    let (all, _) = shown(&mut fs).expect("reads");
    for (path, bytes) in all.iter().rev() {
        let done = if bytes.is_some() { fs.remove(path) } else { fs.remove_directory(path) };
        done.expect("removes");
    }
    fs.sync().expect("syncs");
    let space = fs.space();
    assert_eq!(space.free, space.total);
}

/// A history that is cut at an event, with the device that it was on; whole, if it ends before that.
fn cut(seed: Seed, (steps, logs): (u64, u64), event: u64) -> Result<Run, Box<(Run, Cached)>> {
    let disk = Cached::new(BLOCKS);
    let mut run = Run::new(disk.clone(), seed, logs).expect("makes");
    disk.cut_at(disk.events() + event);
    match run.steps(steps) {
        Ok(()) => Ok(run),
        Err(FsError::Disk(_) | FsError::Stopped(_)) => Err(Box::new((run, disk))),
        Err(error) => panic!("{error}"),
    }
}

/// The device after a cut is one of the model's states; the run goes on from it.
fn recovers(run: &Run, disk: &Cached, loss: Loss, what: &str) -> (Fs<Cached>, Model) {
    let report = check(disk.clone()).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(report.problems, [""; 0], "{what}");
    let mut fs = Fs::mount(disk.clone()).expect("mounts");
    let (left, links) = shown(&mut fs).expect("reads");
    // Nothing that the device has taken is lost when only the program dies.
    let from = if matches!(loss, Loss::Nothing) { run.model.flushed } else { run.model.durable };
    let states = &run.model.history[from..];
    assert!(states.contains(&left), "{what}: no state since the last sync or flush is {:?}", left.keys());
    let mut model = run.model.clone();
    model.restart(&left, &links);
    (fs, model)
}

/// Whatever a cut at that event leaves. How many cuts.
pub fn what_was_cut(run: &Run, disk: &Cached, seed: u64, event: u64) -> u64 {
    for (n, loss) in Loss::ALL.into_iter().enumerate() {
        let what = format!("seed {seed}, event {event}, {loss:?}");
        let after = disk.after_cut(loss, Seed(seed).index(event));
        let (fs, model) = recovers(run, &after, loss, &what);
        if (event + n as u64).is_multiple_of(4) {
            again(fs, model, after, &what);
        }
    }
    Loss::ALL.len() as u64
}

#[test]
fn a_cut_at_every_event_leaves_a_prefix() {
    let mut cuts = 0;
    for seed in saker_testing::seeds(tier(4, 200)) {
        let whole = (0..).find_map(|event| match cut(Seed(seed), (STEPS, 0), event) {
            Ok(whole) => Some(whole),
            Err(ended) => {
                cuts += what_was_cut(&ended.0, &ended.1, seed, event);
                None
            }
        });
        let generation = whole.map(|run| run.fs.journal_position().0);
        assert!(generation > Some(2), "seed {seed}: checkpoints are made, {generation:?}");
    }
    assert!(cuts > 2000, "{cuts}");
}

/// The same where most steps append to a log and flush it, so that trailers have its length.
#[test]
fn a_cut_at_every_event_of_a_log_leaves_a_prefix() {
    let (mut cuts, mut trailers) = (0, 0);
    for seed in saker_testing::seeds(tier(3, 300)) {
        let whole = (0..).find_map(|event| match cut(Seed(seed), (STEPS, 8), event) {
            Ok(whole) => Some(whole),
            Err(ended) => {
                cuts += what_was_cut(&ended.0, &ended.1, seed, event);
                None
            }
        });
        trailers += u64::from(whole.is_some_and(|run| run.fs.journal_position().1 < STEPS / 8));
    }
    assert!(cuts > 2000 && trailers > 0, "{cuts} cuts, {trailers} journals are short");
}

/// What was recovered is used, and power goes once more.
fn again(fs: Fs<Cached>, model: Model, disk: Cached, what: &str) {
    let seed = Seed(what.len() as u64).child(what);
    let mut run = Run {
        fs,
        model,
        rng: seed.rng(),
        open: Vec::new(),
        full: 0,
        logs: what.len() as u64 % 2 * 5,
        apart: None,
    };
    let mut rng = seed.child("events").rng();
    disk.cut_at(disk.events() + rng.below(40));
    if let Err(error) = run.steps(40) {
        assert!(matches!(error, FsError::Disk(_) | FsError::Stopped(_)), "{what}: {error}");
    }
    for loss in Loss::ALL {
        let after = disk.after_cut(loss, seed);
        let (mut fs, model) = recovers(&run, &after, loss, &format!("{what}, again, {loss:?}"));
        assert!(shown(&mut fs).expect("reads").0 == model.seen());
        everything_removed_is_free(fs);
    }
}

/// A file system that is made has been made, or not.
#[test]
fn a_cut_while_a_file_system_is_made_leaves_none_or_an_empty_one() {
    let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
    for event in 0..BLOCKS + 40 {
        let disk = Cached::new(BLOCKS);
        let mut old = Run::new(disk.clone(), Seed(7), 0).expect("makes");
        old.steps(80).expect("goes on");
        let old = old.fs.unmount().expect("unmounts");
        disk.cut_at(disk.events() + event);
        let made = Fs::format(old, Format { identity: 8, area_bytes: Some(AREA_BYTES) }).is_ok();
        for loss in Loss::ALL {
            let mounted = Fs::mount(disk.after_cut(loss, Seed(event)));
            let end = match mounted {
                Ok(mut fs) if fs.layout().identity == 8 => {
                    assert!(shown(&mut fs).expect("reads").0.is_empty());
                    "new"
                }
                Ok(_) => "old",
                Err(FsError::NoFileSystem) => "none",
                Err(error) => panic!("event {event}, {loss:?}: {error}"),
            };
            assert!(!made || end == "new", "event {event}: {end}");
            *ends.entry(end).or_default() += 1;
        }
    }
    assert!(["new", "old", "none"].iter().all(|end| ends.get(end) > Some(&0)), "{ends:?}");
}
