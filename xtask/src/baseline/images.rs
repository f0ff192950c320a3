// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Image files: made with a seed, loaded, deleted from, closed and opened again.

use std::fs;
use std::ops::Range;
use std::path::Path;

use super::program::Program;
use super::record::Record;
use crate::Fault;
use crate::workspace::Workspace;

/// The records that are loaded.
const RECORDS: &str = "data/UnicodeData.txt";
/// Every so many-th key is deleted.
const DELETED_EVERY: usize = 1777;
const SIZE: &str = "48MiB";

/// Bytes of a header copy, of which an image begins with two (docs/image-format.md).
const HEADER_BYTES: usize = 4096;
/// What in a header follows from the machine and not from the program: the identifier of the kernel's boot, how often numbers of the
/// device's life were written and how long it was open, and the checksum over them.
const BLANKED: [Range<usize>; 4] = [48..56, 1312..1320, 1416..1424, 4092..4096];

/// Makes an image of each engine with each seed: digests of the file when it is loaded and when pairs are gone, and of all pairs.
///
/// # Errors
/// When the binary fails, or a file cannot be read.
pub fn take(workspace: &Workspace, program: &Program, seeds: u64, record: &mut Record) -> Result<(), Fault> {
    let folder = workspace.metadata.target_directory.join(format!("baseline-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let records = workspace.root.join(RECORDS);
    let taken = take_in(&folder, &records, program, seeds, record);
    fs::remove_dir_all(&folder)?;
    taken
}

fn take_in(
    folder: &Path,
    records: &Path,
    program: &Program,
    seeds: u64,
    record: &mut Record,
) -> Result<(), Fault> {
    let text = fs::read_to_string(records)?;
    let keys = text.lines().filter_map(|line| line.split(';').next()).step_by(DELETED_EVERY);
    let keys: Vec<&str> = keys.collect();
    for engine in program.engines() {
        eprintln!("images of {engine}");
        for seed in 1..=seeds {
            let name = format!("images/{engine}/seed{seed}");
            let image = folder.join("disk.img");
            let (image, records) = (text_of(&image)?, text_of(records)?);
            let (url, seed) = (format!("file:{image}"), seed.to_string());
            let made = ["create", image, "--size", SIZE, "--profile", "tiny", "--engine", engine];
            program.bytes(&[&made[..], &["--seed", &seed, "--force", "--quiet"]].concat())?;
            program.bytes(&["load", records, "--device", &url, "--quiet"])?;
            record.add_bytes(&format!("{name}/loaded"), &file(image)?);
            for key in &keys {
                program.bytes(&["delete", key, "--device", &url, "--quiet"])?;
            }
            let pairs = program.bytes(&["list", "--device", &url, "--quiet"])?;
            record.add_bytes(&format!("{name}/keys"), &pairs);
            record.add_bytes(&format!("{name}/reopened"), &file(image)?);
        }
    }
    Ok(())
}

fn text_of(path: &Path) -> Result<&str, Fault> {
    path.to_str().ok_or_else(|| format!("{} is no text", path.display()).into())
}

/// A closed image without what follows from the machine.
fn file(image: &str) -> Result<Vec<u8>, Fault> {
    let mut bytes = fs::read(image)?;
    blank(&mut bytes);
    Ok(bytes)
}

fn blank(image: &mut [u8]) {
    for header in image.chunks_mut(HEADER_BYTES).take(2) {
        for range in BLANKED {
            if let Some(part) = header.get_mut(range) {
                part.fill(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_boot_the_time_and_the_checksum_over_them_are_blank() {
        let mut image = vec![7; 3 * HEADER_BYTES];
        blank(&mut image);
        let blanked: Vec<usize> = (0..image.len()).filter(|n| image[*n] == 0).collect();
        let in_a_copy = [48..56, 1312..1320, 1416..1424, 4092..4096].into_iter().flatten();
        let in_a_copy: Vec<usize> = in_a_copy.collect();
        let expected: Vec<usize> =
            [0, HEADER_BYTES].iter().flat_map(|at| in_a_copy.iter().map(move |n| at + n)).collect();
        assert_eq!(blanked, expected);
        blank(&mut [0; 10]);
    }
}
