// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files on the block namespace of a URL (`mem:`, `file:`, `tcp://`): [`saker_kvfs`] over [`saker::Block`].
//!
//! ```
//! let dir = tempfile::tempdir()?;
//! let url = format!("file:{}", dir.path().join("disk.img").display());
//! # let namespaces = vec![saker::NamespacePlan::Block { bytes: Some(4 << 20), block_bytes: 512 }];
//! # saker::ImagePlan { namespaces, ..saker::ImagePlan::kv(16 << 20, "tiny", 1) }.create(&dir.path().join("disk.img"))?;
//! saker_files::make(&url, None)?; // of an image with a block namespace
//! let mut files = saker_files::open(&url)?;
//! let log = files.create("000001.log", saker_files::now())?;
//! files.append(log, b"a record", saker_files::now())?;
//! files.sync_file(log)?; // it survives a power cut now
//! saker_files::close(files)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod disk;

pub use disk::BlockDisk;
pub use saker_kvfs::{
    Disk, DiskError, FileId, Format, Fs, FsError, Kind, Reading, Report, Space, Stat, WRITE_BYTES, Writing,
};

use rustix::rand::{GetRandomFlags, getrandom};
use std::time::{SystemTime, UNIX_EPOCH};

/// The files of a device.
pub type Files = Fs<BlockDisk>;

/// Why a device's files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The device.
    #[error(transparent)]
    Device(#[from] saker::Error),
    /// Its files.
    #[error(transparent)]
    Files(#[from] FsError),
    /// The system has no random numbers.
    #[error("the system gives no random number: {0}; try again")]
    Random(std::io::Error),
}

/// Microseconds since 1970, as times of files are.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

/// A number for a new file system, which no other has had.
///
/// # Errors
/// [`Error::Random`].
pub fn identity() -> Result<u64, Error> {
    let mut bytes = [0; 8];
    let got = getrandom(&mut bytes, GetRandomFlags::empty()).map_err(|e| Error::Random(e.into()))?;
    assert_eq!(got, bytes.len(), "so few bytes come at once (getrandom(2))");
    Ok(u64::from_le_bytes(bytes))
}

/// Makes an empty file system on a block namespace; what was there is gone. `area_bytes`: of each of the two areas of its journal.
///
/// # Errors
/// [`enum@Error`].
pub fn make(url: &str, area_bytes: Option<u64>) -> Result<Space, Error> {
    let files = create(url, area_bytes)?;
    let space = files.space();
    close(files)?;
    Ok(space)
}

/// As [`make`], and leaves it open: what is in memory is gone with its device.
///
/// # Errors
/// [`enum@Error`].
pub fn create(url: &str, area_bytes: Option<u64>) -> Result<Files, Error> {
    Ok(Fs::format(BlockDisk::open(url)?, Format { identity: identity()?, area_bytes })?)
}

/// Opens the file system of a block namespace.
///
/// # Errors
/// [`enum@Error`].
pub fn open(url: &str) -> Result<Files, Error> {
    Ok(Fs::mount(BlockDisk::open(url)?)?)
}

/// Makes everything durable and closes the device in order.
///
/// # Errors
/// [`enum@Error`].
pub fn close(files: Files) -> Result<(), Error> {
    Ok(files.unmount()?.close()?)
}

/// Whether the files of a block namespace are sound. Reads all of them, changes nothing.
///
/// # Errors
/// [`enum@Error`]: why it cannot be opened at all.
pub fn check(url: &str) -> Result<Report, Error> {
    Ok(saker_kvfs::check(BlockDisk::open(url)?)?)
}
