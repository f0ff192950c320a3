// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Images whose process was killed inside a Format: the header names a namespace whose erasure has begun. Whoever opens them, to
//! read, to salvage, to check or to repair, finds nothing of it, and all of the other namespaces; one changed byte more brings
//! no old value back.

use crate::salvage::rig::{Image, Model, Recipe, Saved, TINY, answers, directory, text, url, walk};
use crate::support::{is_soak, key, value};
use saker::image::faults::{self, HostFault, HostPlan};
use saker::{Block, EngineKind, Kv, Piece, Salvage, Salvaged, check_image, repair_image, verify_image};
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
    let recipe = Recipe { engine, image_bytes: 16 << 20, writes: 600, life_writes: 250, ..TINY };
    let image = Image::with_two_others(&recipe, 1 << 20, 5 << 20);
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
    fn look(&self, is_gone: bool, options: &[&str]) {
        let path = &self.image.path;
        let (bytes, is_named) = (std::fs::read(path).expect("reads"), moment_of(&self.image).is_named);
        for options in options {
            self.open_and_look(path, options, is_gone);
        }
        let found = verify_image(path, &mut |_| {}).expect("is read");
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
            Ok::<_, saker::Error>(())
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
        let (report, _) = check_image(&new, &mut |_| {}).expect("is read");
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

/// Those that differ in more than in how many erases are done, and one in the midst of them.
fn looked_at(found: &BTreeMap<Moment, End>, first: u64) -> Vec<(Moment, End)> {
    let last = found.keys().map(|moment| moment.erases).max().expect("there are some");
    let is_middle = |moment: &Moment| moment.erases > first && moment.erases < last;
    let middles: Vec<_> = found.keys().filter(|moment| is_middle(moment)).collect();
    let middle = **middles.get(middles.len() / 2).expect("a Format of several segments");
    let is_wanted = |moment: &Moment| is_soak() || *moment == middle || !is_middle(moment);
    let wanted: Vec<_> = found.iter().map(|(at, end)| (*at, *end)).filter(|(at, _)| is_wanted(at)).collect();
    assert!(wanted.len() >= 7, "{found:?}");
    wanted
}

fn every_moment(engine: EngineKind) {
    let (mut before, dir) = (before(engine), directory());
    let template = dir.path().join("template.img");
    std::fs::copy(&before.image.path, &template).expect("copies");
    let first = moment_of(&before.image).erases;
    let found = moments(&mut before, &template);
    for (moment, end) in looked_at(&found, first) {
        println!("{}: {end:?}: {moment:?}", engine.name());
        before.end(&template, end);
        let is_gone = moment.is_named || moment.erases > first;
        let is_begun = moment.naming == 2 && moment.erases == first;
        let more: &[&str] = if is_begun { &["&readonly&threads=1", "&readonly&timing=real"] } else { &[] };
        before.look(is_gone, &[&["&readonly", "&readonly&salvage"], more].concat());
        finish(&before, is_gone);
    }
}

/// Whoever opens it to write ends the erasure.
fn finish(before: &Before, is_gone: bool) {
    before.open_and_look(&before.image.path, "", is_gone);
    let found = verify_image(&before.image.path, &mut |_| {}).expect("is read");
    assert!(found.report.is_sound() && found.report.findings.is_empty(), "{:?}", found.report.findings);
}

#[test]
fn killed_at_any_moment_of_it() {
    EngineKind::ALL.iter().for_each(|engine| every_moment(*engine));
}

/// Power goes at each operation of the media: the ring is what lasts. The image says so, and not that its process was killed.
#[test]
fn cut_at_any_moment_of_it() {
    for engine in EngineKind::ALL {
        let (mut before, dir) = (before(*engine), directory());
        let template = dir.path().join("template.img");
        std::fs::copy(&before.image.path, &template).expect("copies");
        let (mut named, mut at) = (0, 0);
        loop {
            at += 1;
            before.end(&template, End::CutAt(at));
            let moment = moment_of(&before.image);
            if moment.is_named && (is_soak() || named % 3 == 0) {
                println!("{}: cut at operation {at}: {moment:?}", engine.name());
                before.look(true, &["&readonly", "&readonly&salvage"]);
                finish(&before, true);
            }
            named += u32::from(moment.is_named);
            if named > 0 && !moment.is_named {
                break;
            }
        }
        assert!(named >= 3, "{}: {named} cuts within it", engine.name());
    }
}

/// What an opening shows of the formatted namespace: errors, or nothing of it, unless all of it may be there.
fn shows_formatted(before: &Before, url: &str, may_be_there: bool) -> Result<(), String> {
    let Ok(mut kv) = Kv::open(url) else { return Ok(()) };
    let listed = kv.list(None).filter(Result::is_ok).count();
    let gone = answers(&mut kv, &before.formatted(true));
    if may_be_there && gone.is_err() {
        return answers(&mut kv, &before.formatted(false)).map(drop);
    }
    gone?;
    if listed > 0 { Err(format!("{listed} keys are listed")) } else { Ok(()) }
}

/// What an opening shows of the others: errors, or what is right.
fn shows_others(before: &Before, path: &Path, options: &str) -> Result<(), String> {
    if let Ok(mut kv) = Kv::open(&url(path, &format!("{options}&nsid={PAIRS}"))) {
        answers(&mut kv, &before.pairs)?;
    }
    if let Ok(mut disk) = Block::open(&url(path, &format!("{options}&nsid={BLOCKS}"))) {
        let mut found = vec![1; before.blocks.len()];
        if disk.read(0, &mut found).is_ok() && found != before.blocks {
            return Err("blocks are wrong".into());
        }
    }
    Ok(())
}

/// Everything that reads an image with a changed byte. True: nothing is lost, and all is certain.
fn read_all(before: &Before, may_be_there: bool) -> Result<bool, String> {
    let path = &before.image.path;
    for options in ["&readonly", "&readonly&salvage", "&readonly&salvage=uncertain"] {
        let shown = shows_formatted(before, &url(path, options), may_be_there);
        // What is uncertain may be older.
        let is_certain = !options.ends_with("uncertain");
        let others = if is_certain { shows_others(before, path, options) } else { Ok(()) };
        shown.and(others).map_err(|e| format!("{options}: {e}"))?;
    }
    if let Ok(found) = verify_image(path, &mut |_| {})
        && !may_be_there
        && found.namespaces.first().is_some_and(|namespace| namespace.store.pairs > 0)
    {
        return Err("a check finds pairs".into());
    }
    let salvaged = Salvaged::open(path).map_err(|e| format!("does not open: {e}"))?;
    let gone = walk(&salvaged, FORMATTED, &before.formatted(true));
    let there = |e| if may_be_there { walk(&salvaged, FORMATTED, &before.formatted(false)) } else { Err(e) };
    let saved = [gone.or_else(there)?, walk(&salvaged, PAIRS, &before.pairs)?];
    let is_whole = saved.iter().all(|saved| !saved.is_uncertain && saved.lost == 0);
    Ok(!before.walk_blocks(&salvaged)? && is_whole)
}

/// What is made of an image with a changed byte, and what becomes of it when it is opened to write.
fn write_all(before: &Before, may_be_there: bool, is_whole: bool) -> Result<(), String> {
    let (path, dir) = (&before.image.path, directory());
    let (new, written) = (dir.path().join("new.img"), dir.path().join("written.img"));
    repair_image(path, &new, &mut |_| {}).map_err(|e| format!("repair: {e}"))?;
    let (report, _) = check_image(&new, &mut |_| {}).map_err(|e| format!("repaired: {e}"))?;
    if !report.is_sound() || !report.findings.is_empty() {
        return Err(format!("repaired: {:?}", report.findings));
    }
    shows_formatted(before, &url(&new, ""), may_be_there).map_err(|e| format!("repaired: {e}"))?;
    if is_whole {
        shows_others(before, &new, "").map_err(|e| format!("repaired: {e}"))?;
    }
    std::fs::copy(path, &written).map_err(|e| e.to_string())?;
    let shown = shows_formatted(before, &url(&written, ""), may_be_there);
    shown.and(shows_others(before, &written, "")).map_err(|e| format!("opened to write: {e}"))
}

/// Where to flip: often in the header.
fn aim(image: &Image, rng: &mut Rng) -> u64 {
    match rng.below(8) {
        0 => rng.below(2) * 4096 + [16, 32, 40, 56, 1280, 4092][rng.below(6) as usize] + rng.below(4),
        1 => rng.below(image.regions()[0]),
        _ => image.aim(rng),
    }
}

/// Changes a byte, tries everything, and changes it back.
fn flip(
    before: &Before,
    (at, mask): (u64, u8),
    may_be_there: bool,
    is_written: bool,
) -> Result<bool, String> {
    before.image.put_byte(at, before.image.byte(at) ^ mask);
    let bytes = std::fs::read(&before.image.path).expect("reads");
    let tried = catch_unwind(AssertUnwindSafe(|| {
        let is_whole = read_all(before, may_be_there)?;
        if is_written {
            write_all(before, may_be_there, is_whole)?;
        }
        Ok(is_whole)
    }));
    assert!(bytes == std::fs::read(&before.image.path).expect("reads"), "who reads has written");
    before.image.put_byte(at, before.image.byte(at));
    tried.unwrap_or_else(|panic| Err(format!("panic: {}", text(&*panic))))
}

fn flips(engine: EngineKind, rng: &mut Rng, count: u32) -> Vec<String> {
    let (mut before, dir) = (before(engine), directory());
    let template = dir.path().join("template.img");
    std::fs::copy(&before.image.path, &template).expect("copies");
    let first = moment_of(&before.image).erases;
    let found = moments(&mut before, &template);
    let (mut wrong, mut whole, mut all) = (Vec::new(), 0, 0);
    for (moment, end) in looked_at(&found, first).into_iter().filter(|(moment, _)| moment.naming > 0) {
        before.end(&template, end);
        // The first copy of the header is written: the other alone does not know of the Format.
        let may_be_there = moment.naming == 1 && moment.erases == first;
        for _ in 0..count {
            let change = (aim(&before.image, rng), rng.below(255) as u8 + 1);
            all += 1;
            match flip(&before, change, may_be_there, all % 4 == 1) {
                Ok(is_whole) => whole += u32::from(is_whole),
                Err(what) => wrong.push(format!("{}, {end:?}, {change:#x?}: {what}", engine.name())),
            }
        }
    }
    println!("{}: of {all} flips {} are wrong, {whole} harmless", engine.name(), wrong.len());
    assert!(whole * 2 > all || !wrong.is_empty(), "most are in what is erased, or explained");
    wrong
}

#[test]
fn a_changed_byte_brings_nothing_back() {
    let replay = saker_testing::Replay::campaign();
    let seed = replay.seed();
    let mut rng = Seed(seed).rng();
    let count = if is_soak() { 40 } else { 2 };
    let wrong: Vec<_> = EngineKind::ALL.iter().flat_map(|engine| flips(*engine, &mut rng, count)).collect();
    assert!(
        wrong.is_empty(),
        "SAKER_SEED={seed} cargo test -p saker --test doors salvage::erasure: {wrong:#?}"
    );
}
