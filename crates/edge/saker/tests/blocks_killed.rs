// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A process that writes and trims blocks of an image is killed (SIGKILL) at a random moment, again and again, with the map in memory and
//! with the map on flash: what was acknowledged is there, and of the operation after it each block is as before or as after.

use saker::{Block, ImagePlan, NamespacePlan, verify_image};
use saker_sim::{Rng, Seed};
use saker_testing::tier;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const IMAGE: &str = "SAKER_TEST_KILLED_BLOCKS";
const BLOCK: usize = 512;
const BLOCKS: u64 = 4096;
/// Blocks of a run at most.
const RUN: u64 = 40;

/// Operation `n` of all lives together.
enum Op {
    Write(u64, u64),
    Trim(u64, u64),
    Flush,
}

fn op(n: u64) -> Op {
    let mut rng = Seed(n).child("block operations").rng();
    let first = rng.below(BLOCKS);
    let run = |rng: &mut Rng| (1 + rng.below(RUN)).min(BLOCKS - first);
    match rng.below(100) {
        0..=1 => Op::Flush,
        2..=9 => Op::Trim(first, run(&mut rng)),
        10..=19 => Op::Write(first, run(&mut rng)),
        _ => Op::Write(first, 1),
    }
}

/// What operation `n` writes to each of its blocks; nothing that is all zeros.
fn content(n: u64) -> [u8; BLOCK] {
    let mut block = [0xb1; BLOCK];
    block[..8].copy_from_slice(&(n + 1).to_le_bytes());
    block
}

/// Who wrote a block last, plus one; 0: it is all zeros.
fn written_by(block: &[u8]) -> Option<u64> {
    let stamp = u64::from_le_bytes(*block.first_chunk()?);
    let whole = if stamp == 0 { [0; BLOCK] } else { content(stamp - 1) };
    (block == whole).then_some(stamp)
}

fn url(path: &Path) -> String {
    format!("file:{}", path.display())
}

/// The file beside the image in which the child notes how many operations have returned.
fn notes(path: &Path) -> File {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path.with_extension("acks")).expect("opens")
}

fn noted(notes: &File) -> u64 {
    let mut bytes = [0; 8];
    if notes.read_at(&mut bytes, 0).expect("reads") == 8 { u64::from_le_bytes(bytes) } else { 0 }
}

#[test]
fn child() {
    let Some(path) = std::env::var_os(IMAGE).map(PathBuf::from) else { return };
    let acks = notes(&path);
    let mut disk = Block::open(&url(&path)).expect("opens");
    for n in noted(&acks).. {
        match op(n) {
            Op::Write(first, blocks) => {
                disk.write(first, &content(n).repeat(blocks as usize)).expect("writes");
            }
            Op::Trim(first, blocks) => disk.trim(first, blocks).expect("trims"),
            Op::Flush => disk.flush().expect("flushes"),
        }
        acks.write_all_at(&(n + 1).to_le_bytes(), 0).expect("notes");
    }
}

/// A life of the child, and its end.
fn live_and_die(path: &Path, rng: &mut Rng) {
    let acks = notes(path);
    let before = noted(&acks);
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["blocks_killed::child", "--exact"]).env(IMAGE, path);
    let mut child = command.stdout(Stdio::null()).spawn().expect("starts");
    // On a slow machine it may not have written anything by then.
    let begun = Instant::now();
    while noted(&acks) == before && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_micros(200));
    }
    std::thread::sleep(Duration::from_micros(rng.below(40_000)));
    child.kill().expect("kills");
    child.wait().expect("ends");
    assert!(noted(&acks) > before, "it has done something");
}

/// Applies operations to who wrote each block last.
fn replay(model: &mut [u64], operations: std::ops::Range<u64>) {
    for n in operations {
        let (stamp, first, blocks) = match op(n) {
            Op::Write(first, blocks) => (n + 1, first, blocks),
            Op::Trim(first, blocks) => (0, first, blocks),
            Op::Flush => continue,
        };
        model[first as usize..(first + blocks) as usize].fill(stamp);
    }
}

/// Compares the image with the model, which takes over what the last operation has done of its blocks.
fn compare(path: &Path, model: &mut [u64], done: u64) {
    let mut after = model.to_vec();
    replay(&mut after, done..done + 1);
    let mut disk = Block::open(&url(path)).expect("opens");
    let mut seen = vec![1; BLOCK * model.len()];
    disk.read(0, &mut seen).expect("reads");
    for (lba, block) in seen.chunks(BLOCK).enumerate() {
        let stamp = written_by(block).unwrap_or_else(|| panic!("block {lba} is torn"));
        assert!(
            [model[lba], after[lba]].contains(&stamp),
            "block {lba}: {stamp}, not {} or {}",
            model[lba],
            after[lba]
        );
        model[lba] = stamp;
    }
    disk.close().expect("closes");
}

fn kills(blocks: NamespacePlan, lives: u32) {
    let dir =
        tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary directory");
    let path = dir.path().join("disk.img");
    let plan = ImagePlan { namespaces: vec![blocks], ..ImagePlan::kv(16 << 20, "tiny", 1) };
    plan.create(&path).expect("creates");
    let (mut model, mut done) = (vec![0; BLOCKS as usize], 0);
    let mut rng = Seed(7).child("kills").rng();
    for _ in 0..lives {
        live_and_die(&path, &mut rng);
        let now = noted(&notes(&path));
        replay(&mut model, done..now);
        compare(&path, &mut model, now);
        // The next life does operation `now` again, with the same bytes.
        done = now;
    }
    let verified = verify_image(&path, &mut |_| {}).expect("checks");
    assert!(verified.report.is_sound(), "nothing is wrong");
    println!("{blocks:?}: {lives} lives, {done} operations");
}

#[test]
fn a_map_in_memory_survives() {
    let bytes = Some(BLOCKS * BLOCK as u64);
    kills(NamespacePlan::Block { bytes, block_bytes: BLOCK as u32 }, tier(15, 200));
}

#[test]
fn a_map_on_flash_survives() {
    let bytes = Some(BLOCKS * BLOCK as u64);
    kills(
        NamespacePlan::BlockOnFlash { bytes, block_bytes: BLOCK as u32, map_cache_bytes: 2 << 10 },
        tier(15, 200),
    );
}
