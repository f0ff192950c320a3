// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether a device's files are sound. It reads only.

use crate::disk::Disk;
use crate::error::FsError;
use crate::fs::Fs;
use crate::tree::Kind;

/// What a check has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Files.
    pub files: u64,
    /// Directories, the root included.
    pub directories: u64,
    /// Bytes in files.
    pub bytes: u64,
    /// Bytes of the device for files, and how many of them are free.
    pub space: (u64, u64),
    /// The checkpoint that the journal goes on from, and records behind it.
    pub journal: (u64, u64),
    /// What contradicts itself or cannot be read, a line each.
    pub problems: Vec<String>,
}

/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 20;

/// Reads all files of a device. What cannot be read is told in the report.
///
/// # Errors
/// Why the file system cannot be opened at all.
pub fn check<D: Disk>(disk: D) -> Result<Report, FsError> {
    let mut fs = Fs::mount(disk)?;
    let space = fs.space();
    let mut report = Report {
        directories: fs.tree().directories(),
        space: (space.total, space.free),
        journal: fs.journal_position(),
        ..Report::default()
    };
    let mut named = 0;
    walk(&mut fs, "/", &mut report, &mut named)?;
    let links: u64 =
        fs.tree().files().filter_map(|(inode, _)| fs.tree().stat(inode)).map(|s| u64::from(s.links)).sum();
    if links != named {
        report
            .problems
            .push(format!("files have {links} names by their own count, and {named} in directories"));
    }
    report.files = fs.tree().files().count() as u64;
    report.bytes = fs.tree().files().map(|(_, file)| file.bytes).sum();
    Ok(report)
}

fn walk<D: Disk>(
    fs: &mut Fs<D>,
    directory: &str,
    report: &mut Report,
    named: &mut u64,
) -> Result<(), FsError> {
    for (name, stat) in fs.list(directory)? {
        let path = format!("{}/{name}", directory.trim_end_matches('/'));
        match stat.kind {
            Kind::Directory => walk(fs, &path, report, named)?,
            Kind::File => {
                *named += 1;
                if let Err(error) = read_all(fs, &path) {
                    report.problems.push(format!("{path}: {error}"));
                }
            }
        }
    }
    Ok(())
}

fn read_all<D: Disk>(fs: &mut Fs<D>, path: &str) -> Result<(), FsError> {
    let file = fs.open(path)?;
    let (mut part, mut at) = (vec![0; READ_BYTES], 0);
    let read = loop {
        match fs.read_at(file, at, &mut part) {
            Ok(0) => break Ok(()),
            Ok(bytes) => at += bytes as u64,
            Err(error) => break Err(error),
        }
    };
    fs.close(file)?;
    read
}
