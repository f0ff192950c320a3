// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bytes that nobody wrote: flipped, or forged with checksums that match.

use crate::disk::{BLOCK_BYTES, Cached};
use crate::model::shown;
use saker_kvfs::InodeId;
use saker_kvfs::extent::Extent;
use saker_kvfs::journal::HEAD_BYTES;
use saker_kvfs::op::Op;
use saker_kvfs::trailer::{self, Follow, Length};
use saker_kvfs::{Disk, Format, Fs, check};
use saker_sim::{Rng, Seed};
use saker_testing::tier;

fn with_files() -> Cached {
    let mut fs = Fs::format(Cached::new(300), Format { identity: 3, area_bytes: Some(1) }).expect("makes");
    fs.make_directory("d", 1).expect("makes");
    for n in 0..5 {
        let file = fs.create(&format!("d/{n}"), 1).expect("makes");
        fs.append(file, &[n; 1500], 1).expect("fits");
        fs.sync_file(file).expect("syncs");
        fs.close(file).expect("closes");
    }
    fs.unmount().expect("unmounts")
}

/// Of what nobody wrote everything may be told but a file with other bytes.
fn is_told(disk: &Cached) {
    let _ = check(disk.clone());
    let Ok(mut fs) = Fs::mount(disk.clone()) else { return };
    let _ = shown(&mut fs);
    let _ = fs.create("new", 1).and_then(|file| fs.append(file, &[1; 3000], 1));
    let _ = fs.sync();
    let _ = check(disk.clone());
}

#[test]
fn any_flipped_bit_of_the_journal_and_superblock_is_no_panic_and_no_other_bytes() {
    let wanted = shown(&mut Fs::mount(with_files()).expect("mounts")).expect("reads").0;
    for block in (0..33).chain([299]) {
        for bit in (0..BLOCK_BYTES as usize * 8).step_by(tier(13, 1) as usize) {
            let disk = with_files();
            disk.forge(block, |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
            if let Ok(mut fs) = Fs::mount(disk) {
                let (left, _) = shown(&mut fs).expect("reads");
                let same = left
                    .iter()
                    .all(|(path, bytes)| bytes == &wanted[path] || bytes.as_ref().is_some_and(Vec::is_empty));
                assert!(same, "block {block} bit {bit}");
            }
        }
    }
}

fn operation(rng: &mut Rng) -> Op {
    let inode =
        |rng: &mut Rng| InodeId([rng.next_u64(), u64::MAX, rng.below(12)][rng.below(30).min(2) as usize]);
    let name = |rng: &mut Rng| ["d", "0", "1", "x", "y"][rng.below(5) as usize].to_owned();
    let number =
        |rng: &mut Rng| [rng.below(9), rng.below(3000), rng.next_u64(), u64::MAX][rng.below(4) as usize];
    let (parent, other, time) = (inode(rng), inode(rng), number(rng));
    match rng.below(9) {
        8 => {
            let run = |rng: &mut Rng| Extent { start: 34 + rng.below(270), blocks: 1 + rng.below(9) };
            let follow = Follow { inode: InodeId(3 + rng.below(2)), from: 1500, generation: 9, number: 1 };
            Op::Follow { follow, runs: (0..rng.below(3)).map(|_| run(rng)).collect() }
        }
        0 => Op::Create { parent, inode: other, time, name: name(rng) },
        1 => Op::MakeDirectory { parent, inode: other, time, name: name(rng) },
        2 => Op::Link { parent, inode: other, name: name(rng) },
        3 => Op::Remove { parent, name: name(rng) },
        4 => Op::Rename { parent, name: name(rng), new_parent: other, new_name: name(rng) },
        n @ (5 | 7) => {
            let run = |rng: &mut Rng| Extent { start: number(rng), blocks: number(rng).max(1) };
            let runs = (0..rng.below(4)).map(|_| run(rng)).collect();
            let (bytes, kept) = (number(rng), number(rng));
            if n == 5 {
                return Op::Set { inode: other, bytes, time, kept, runs };
            }
            let (from, crc) = (bytes - rng.below(bytes.min(3000) + 1), crc_fast::crc32_iscsi(&[]));
            Op::Grow { inode: other, bytes, time, kept, from, crc, runs }
        }
        _ => Op::Truncate { inode: other, bytes: number(rng), time },
    }
}

/// Puts a record with a checksum that matches behind those of a journal.
fn forge_record(
    disk: &Cached,
    magic: &[u8; 4],
    operations: &[u8],
    (generation, number): (u64, u64),
    at: u64,
) {
    let mut record = vec![0; HEAD_BYTES];
    record[..4].copy_from_slice(magic);
    [3, generation, number].iter().enumerate().for_each(|(n, value)| {
        record[8 + 8 * n..16 + 8 * n].copy_from_slice(&value.to_le_bytes());
    });
    record[32..36].copy_from_slice(&(operations.len() as u32).to_le_bytes());
    record.extend_from_slice(operations);
    let crc = crc_fast::crc32_iscsi(&record[8..]);
    record[4..8].copy_from_slice(&crc.to_le_bytes());
    record.resize(record.len().next_multiple_of(BLOCK_BYTES as usize), 0);
    disk.clone().write(at, &record).expect("it is on");
}

#[test]
fn forged_operations_are_told_or_carried_out() {
    let mut rng = Seed(1).child("forged").rng();
    let mut mounted = 0;
    let rounds = tier(3000, 300_000);
    for _ in 0..rounds {
        let disk = with_files();
        let fs = Fs::mount(disk.clone()).expect("mounts");
        let (generation, records) = fs.journal_position();
        let mut operations = Vec::new();
        (0..1 + rng.below(2)).for_each(|_| operation(&mut rng).encode(&mut operations));
        if rng.below(4) == 0 && !operations.is_empty() {
            let at = rng.below(operations.len() as u64) as usize;
            operations[at] = rng.next_u64() as u8;
        }
        let (area, blocks) = (1 - generation % 2, fs.layout().area_blocks);
        let at = 1 + area * blocks + records + 1;
        if at + 2 < 1 + (area + 1) * blocks {
            let magic = [b"SKJR", b"SKJP"][rng.below(2) as usize];
            forge_record(&disk, magic, &operations, (generation, records + 1), at);
        }
        let follow = Follow { inode: InodeId(3 + rng.below(2)), from: 1500, generation: 9, number: 1 };
        let bytes = [1500 + rng.below(40), rng.below(9000), u64::MAX - rng.below(30)][rng.below(3) as usize];
        let trailer =
            trailer::encode(fs.layout(), &follow, Length { bytes, time: 1 }, crc_fast::crc32_iscsi(&[]));
        disk.forge(33 + rng.below(60), |block| {
            let at = block.len() - trailer.len();
            block[at..].copy_from_slice(&trailer);
        });
        mounted += u64::from(Fs::mount(disk.clone()).is_ok_and(|fs| fs.journal_position().1 > records));
        is_told(&disk);
    }
    assert!(mounted > rounds / 100, "{mounted} of {rounds} were taken");
}

#[test]
fn random_blocks_are_no_file_system_and_no_panic() {
    let mut rng = Seed(2).child("random").rng();
    for _ in 0..tier(300, 30_000) {
        let disk = with_files();
        for _ in 0..1 + rng.below(3) {
            let mut bytes = vec![0; BLOCK_BYTES as usize];
            rng.fill(&mut bytes);
            disk.forge(rng.below(300), |block| block.copy_from_slice(&bytes));
        }
        is_told(&disk);
    }
}
