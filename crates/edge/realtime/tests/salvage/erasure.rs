//! Images whose process was killed inside a Format: the header names a namespace whose erasure has begun. Whoever opens them, to
//! read, to salvage, to check or to repair, finds nothing of it, and all of the other namespaces; one changed byte more brings
//! no old value back.

use crate::rig::{Image, Model, Recipe, Saved, TINY, answers, directory, text, url, walk};
use crate::support::{is_soak, key, value};
use saker_realtime::image::faults::{self, HostFault, HostPlan};
use saker_realtime::{
    Block, EngineKind, Kv, Piece, Salvage, Salvaged, check_image, repair_image, verify_image,
};
use saker_sim::{Rng, Seed};
use std::collections::BTreeMap;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Namespace 1 is formatted, 2 is of blocks, 3 of pairs.
const FORMATTED: u32 = 1;
const BLOCKS: u32 = 2;
const PAIRS: u32 = 3;
const BLOCK_BYTES: usize = 512;
const BLOCKS_WRITTEN: usize = 100;

/// An image as it is before the Format, and what is in it.
struct Before {
    image: Image,
    /// Of the namespace that is formatted.
    old: Model,
    pairs: Model,
    blocks: Vec<u8>,
}

fn before(engine: EngineKind) -> Before {
    let recipe = Recipe { engine, image_bytes: 24 << 20, writes: 600, life_writes: 250, ..TINY };
    let image = Image::with_two_others(&recipe, 1 << 20, 6 << 20);
    let mut disk = Block::open(&url(&image.path, "&nsid=2")).expect("opens");
    let blocks = value(0, 77, (BLOCKS_WRITTEN * BLOCK_BYTES) as u32);
    disk.write(0, &value(0, 76, blocks.len() as u32)).expect("writes");
    disk.write(0, &blocks).expect("writes");
    disk.close().expect("closes");
    let mut kv = Kv::open(&url(&image.path, "&nsid=3")).expect("opens");
    let mut pairs = Model::new();
    for n in 0..150 {
        let stored = value(n % 90, u64::from(n) + 5000, 100 + n * 7);
        kv.put(&key(n % 90), &stored).expect("puts");
        pairs.insert(key(n % 90), Some(stored));
    }
    kv.close().expect("closes");
    Before { old: image.model.clone(), image, pairs, blocks }
}

/// How the process ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// From this call of the file system on none does anything, and the process is gone.
    KilledAt(u64),
    /// Power goes at this operation of the media, which the image's own process notes.
    CutAt(u64),
}

/// Stores a pair more, which waits in the ring, formats, and ends so. Returns the calls of the Format.
fn format(path: &Path, end: End) -> u64 {
    let cut = if let End::CutAt(at) = end { format!("&fault.cut={at}") } else { String::new() };
    let Ok(mut kv) = Kv::open(&url(path, &cut)) else { return 0 };
    let _ = kv.put(&key(0), &value(0, 1, 100));
    let at = if let End::KilledAt(at) = end { at } else { u64::MAX };
    faults::plan(Some(HostPlan { fault: HostFault::Io, at, calls: u64::MAX }));
    let _ = kv.format();
    let calls = faults::calls();
    match end {
        End::KilledAt(_) => drop(kv),
        End::CutAt(_) => drop(kv.close()),
    }
    faults::plan(None);
    calls
}

/// What an image says of the Format that its process was in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    /// Copies of the header that name the namespace (`docs/image-format.md`, feature bit 0).
    naming: usize,
    /// Whether the copy that counts does.
    is_named: bool,
    /// Erases of the image's whole life, by its epoch table.
    erases: u64,
}

fn moment_of(image: &Image) -> Moment {
    let number = |at: u64, bytes: u64| {
        (0..bytes).rev().fold(0, |number, n| number << 8 | u64::from(image.byte(at + n)))
    };
    let names = |copy: u64| number(copy + 16, 8) & 1 != 0;
    let newer = if number(4096 + 32, 8) > number(32, 8) { 4096 } else { 0 };
    let naming = [0, 4096].into_iter().filter(|copy| names(*copy)).count();
    let [epochs_at, ring_at, ..] = image.regions();
    let erases = (epochs_at..ring_at).step_by(8).map(|at| number(at, 4)).sum();
    Moment { naming, is_named: names(newer), erases }
}

impl Before {
    /// What the formatted namespace holds: nothing, or everything with the pair stored last.
    fn formatted(&self, is_gone: bool) -> Model {
        if is_gone {
            return self.old.keys().map(|key| (key.clone(), None)).collect();
        }
        let mut model = self.old.clone();
        model.insert(key(0), Some(value(0, 1, 100)));
        model
    }

    /// The image that such an end leaves.
    fn end(&mut self, template: &Path, end: End) {
        std::fs::copy(template, &self.image.path).expect("copies");
        format(&self.image.path, end);
        self.image.file = File::options().write(true).open(&self.image.path).expect("opens");
        self.image.learn();
    }

    /// Everything that reads agrees, finds nothing of the one and all of the others, and changes no byte.
    fn look(&self, is_gone: bool) {
        let path = &self.image.path;
        let (bytes, is_named) = (std::fs::read(path).expect("reads"), moment_of(&self.image).is_named);
        for options in ["&readonly", "&readonly&threads=1&timing=real", "&readonly&salvage"] {
            self.open_and_look(path, options, is_gone);
        }
        let found = verify_image(path, |_| {}).expect("is read");
        assert!(found.report.is_sound(), "{:?}", found.report.findings);
        let names = found.report.findings.iter().any(|f| f.what.contains("erasure was interrupted"));
        assert_eq!(names, is_named, "{:?}", found.report.findings);
        assert_eq!(found.namespaces[0].store.pairs == 0, is_gone);
        for salvage in [Salvage::Certain, Salvage::Uncertain] {
            let salvaged = Salvaged::open_as(path, salvage).expect("opens");
            let formatted = self.formatted(is_gone);
            for (nsid, model) in [(FORMATTED, &formatted), (PAIRS, &self.pairs)] {
                let right = model.values().filter(|v| v.is_some()).count();
                let whole = Saved { right, ..Saved::default() };
                assert_eq!(walk(&salvaged, nsid, model), Ok(whole), "namespace {nsid}, {salvage:?}");
            }
            assert_eq!(self.walk_blocks(&salvaged), Ok(false), "{salvage:?}");
        }
        self.repair(is_gone);
        assert!(bytes == std::fs::read(path).expect("reads"), "who reads has written");
    }

    fn open_and_look(&self, path: &Path, options: &str, is_gone: bool) {
        let model = self.formatted(is_gone);
        let mut kv = Kv::open(&url(path, options)).unwrap_or_else(|e| panic!("{options}: {e}"));
        let live = model.values().filter(|v| v.is_some()).count();
        assert_eq!(answers(&mut kv, &model), Ok(live), "{options}");
        assert_eq!(kv.list(None).filter(Result::is_ok).count(), live, "{options}");
        assert_eq!(kv.list(None).count(), live, "{options}");
        kv.close().unwrap_or_else(|e| panic!("{options}: {e}"));
        let mut kv = Kv::open(&url(path, &format!("{options}&nsid={PAIRS}"))).expect("opens");
        assert_eq!(answers(&mut kv, &self.pairs), Ok(self.pairs.len()), "{options}");
        assert_eq!(kv.list(None).count(), self.pairs.len(), "{options}");
        kv.close().expect("closes");
        let mut disk = Block::open(&url(path, &format!("{options}&nsid={BLOCKS}"))).expect("opens");
        let mut found = vec![1; self.blocks.len()];
        disk.read(0, &mut found).expect("reads");
        assert!(found == self.blocks, "{options}");
        disk.close().expect("closes");
    }

    /// Whether something of the blocks is lost.
    fn walk_blocks(&self, salvaged: &Salvaged) -> Result<bool, String> {
        let (mut wrong, mut sound) = (None, 0);
        let losses = salvaged.walk(BLOCKS, &mut |piece| {
            if let Piece::Blocks(lba, bytes) = piece {
                let at = lba as usize * BLOCK_BYTES;
                if self.blocks.get(at..at + bytes.len()) != Some(bytes) {
                    wrong = Some(lba);
                }
                sound += bytes.len() / BLOCK_BYTES;
            }
            Ok::<_, saker_realtime::Error>(())
        });
        let losses = losses.map_err(|e| e.to_string())?;
        match wrong {
            Some(lba) => Err(format!("block {lba} is wrong")),
            None if losses.is_none() && sound != BLOCKS_WRITTEN => {
                Err(format!("{sound} blocks, and none is said to be lost"))
            }
            None => Ok(!losses.is_none()),
        }
    }

    /// The repaired image is sound and can be used, and has what the old one has.
    fn repair(&self, is_gone: bool) {
        let dir = directory();
        let new = dir.path().join("new.img");
        repair_image(&self.image.path, &new, &mut |_| {}).expect("repairs");
        let (report, _) = check_image(&new, |_| {}).expect("is read");
        assert!(report.is_sound() && report.findings.is_empty(), "{:?}", report.findings);
        self.open_and_look(&new, "", is_gone);
        let mut kv = Kv::open(&url(&new, "")).expect("opens");
        kv.put(b"new", b"pair").expect("puts");
        kv.close().expect("closes");
        let mut kv = Kv::open(&url(&new, "&readonly")).expect("opens");
        assert_eq!(kv.get(b"new"), Ok(Some(b"pair".to_vec())));
    }
}

/// Every end of a Format, one for each thing that an image can say of it: not all numbers of erases if there is no time.
fn moments(before: &mut Before, template: &Path) -> BTreeMap<Moment, End> {
    std::fs::copy(template, &before.image.path).expect("copies");
    let calls = format(&before.image.path, End::KilledAt(u64::MAX));
    let mut found = BTreeMap::new();
    for end in (1..=calls + 1).map(End::KilledAt) {
        before.end(template, end);
        found.entry(moment_of(&before.image)).or_insert(end);
    }
    found
}

fn every_moment(engine: EngineKind) {
    let mut before = before(engine);
    let dir = directory();
    let template = dir.path().join("template.img");
    std::fs::copy(&before.image.path, &template).expect("copies");
    let first = moment_of(&before.image).erases;
    let begun = std::time::Instant::now();
    let found = moments(&mut before, &template);
    println!("{}: {found:?} {:?}", engine.name(), begun.elapsed());
    let last = found.keys().map(|moment| moment.erases).max().expect("there are some");
    let is_middle = |moment: &Moment| moment.erases > first && moment.erases < last;
    assert!(found.keys().any(is_middle), "a Format of several segments");
    let mut middles = 0;
    for (moment, end) in &found {
        middles += u32::from(is_middle(moment));
        if is_middle(moment) && middles != 2 && !is_soak() {
            continue;
        }
        before.end(&template, *end);
        let is_gone = moment.is_named || moment.erases > first;
        before.look(is_gone);
        finish(&before, is_gone);
        println!("{:?} {:?}", moment, begun.elapsed());
    }
}

/// Whoever opens it to write ends the erasure.
fn finish(before: &Before, is_gone: bool) {
    before.open_and_look(&before.image.path, "", is_gone);
    let found = verify_image(&before.image.path, |_| {}).expect("is read");
    assert!(found.report.is_sound() && found.report.findings.is_empty(), "{:?}", found.report.findings);
}

#[test]
fn killed_at_any_moment_of_it() {
    EngineKind::ALL.iter().for_each(|engine| every_moment(*engine));
}
