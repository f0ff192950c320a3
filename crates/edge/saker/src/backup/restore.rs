// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Restoring a backup.

use super::reader::Item;
use super::since::each;
use super::{Backup, BackupError, BackupNamespace, read_backup};
use crate::block::Block;
use crate::error::Error;
use crate::kv::Kv;
use crate::url::DeviceUrl;
use saker_host::HostError;
use std::path::PathBuf;

/// How a backup is restored.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let file = dir.path().join("pairs.bak");
/// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
/// # saker::back_up_kv(&mut kv, &file, &saker::BackupOptions::default(), &mut |_| {})?;
/// use saker::RestoreOptions;
/// kv.put(b"key", b"value")?;
/// assert!(saker::restore_kv(&[file.clone()], &mut kv, &RestoreOptions::default(), &mut |_| {}).is_err());
/// let options = RestoreOptions { replace: true, ..RestoreOptions::default() };
/// saker::restore_kv(&[file], &mut kv, &options, &mut |_| {})?;
/// assert!(!kv.exists(b"key")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreOptions {
    /// What a namespace holds is erased first. Otherwise one that is not empty is refused.
    pub replace: bool,
    /// Only this namespace of the backup; `None`: all that it has.
    pub namespace: Option<u32>,
}

/// Writes what a backup has to the namespaces of a device that have the same numbers, or to the one that the URL names
/// (`?nsid=`), if only one is restored. `files` are a full backup and, in order, those that were made since. All are verified, and
/// all namespaces looked at, before anything is written. `progress` hears of pairs and blocks written. What each namespace got.
///
/// # Errors
/// [`Error::Backup`]: a file is not sound, the target is not empty or not suited, or fails on the way; [`enum@Error`].
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let (path, file) = (dir.path().join("disk.img"), dir.path().join("pairs.bak"));
/// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
/// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
/// # kv.put(b"key", b"value")?;
/// # saker::back_up_kv(&mut kv, &file, &saker::BackupOptions::default(), &mut |_| {})?;
/// let url = format!("file:{}", path.display());
/// saker::restore(&[file], &url, &saker::RestoreOptions::default(), &mut |_| {})?;
/// assert_eq!(saker::Kv::open(&url)?.get(b"key")?, Some(b"value".to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn restore(
    files: &[PathBuf],
    url: &str,
    options: &RestoreOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<Vec<BackupNamespace>, Error> {
    let url = DeviceUrl::parse(url)?;
    super::refuse_hybrid(&url)?;
    let wanted = wanted(files, options)?;
    let targets = targets(&wanted, &url)?;
    for (namespace, nsid) in &targets {
        let mut target = Target::open(namespace, *nsid, &url)?;
        target.suits(namespace, *nsid, options.replace)?;
        target.close()?;
    }
    let mut done = 0;
    for (namespace, nsid) in &targets {
        let mut target = Target::open(namespace, *nsid, &url)?;
        if options.replace {
            target.format()?;
        }
        fill(files, namespace, *nsid, &mut target, &mut |step| progress(done + step))?;
        target.close()?;
        done += namespace.steps();
    }
    Ok(wanted)
}

/// The same to a namespace of pairs that is open. The backup, or what is asked of it, has one.
///
/// # Errors
/// As [`restore`].
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let file = dir.path().join("pairs.bak");
/// let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=tree")?;
/// kv.put(b"key", b"value")?;
/// saker::back_up_kv(&mut kv, &file, &saker::BackupOptions::default(), &mut |_| {})?;
/// let mut other = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=hash_plus")?;
/// saker::restore_kv(&[file], &mut other, &saker::RestoreOptions::default(), &mut |_| {})?;
/// assert_eq!(other.get(b"key")?, Some(b"value".to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn restore_kv(
    files: &[PathBuf],
    kv: &mut Kv,
    options: &RestoreOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<BackupNamespace, Error> {
    let wanted = wanted(files, options)?;
    let [namespace] = wanted.as_slice() else { return Err(several(&wanted).into()) };
    if namespace.kind != "kv" {
        let what =
            format!("namespace {} of the backup has blocks, and the target takes pairs", namespace.nsid);
        return Err(BackupError::Unsuited { what, todo: "name the target's block namespace" }.into());
    }
    let nsid = kv.nsid();
    let mut target = Target::Kv(Open::Lent(kv));
    target.suits(namespace, nsid, options.replace)?;
    if options.replace {
        target.format()?;
    }
    fill(files, namespace, nsid, &mut target, progress)?;
    target.close()?;
    Ok(namespace.clone())
}

/// What all files together have of each namespace asked for; all of them are read.
fn wanted(files: &[PathBuf], options: &RestoreOptions) -> Result<Vec<BackupNamespace>, Error> {
    // In order, before their contents.
    each(files, &mut |_, _, _| Ok(()))?;
    let mut all: Vec<BackupNamespace> = Vec::new();
    for file in files {
        let Backup { namespaces, .. } = read_backup(file)?;
        namespaces.into_iter().for_each(|namespace| join(&mut all, namespace));
    }
    all.retain(|namespace| options.namespace.is_none_or(|nsid| nsid == namespace.nsid));
    match options.namespace {
        Some(nsid) if all.is_empty() => {
            let what = format!("the backup has no namespace {nsid}");
            Err(BackupError::Unsuited { what, todo: "see what it has with `saker restore --check`" }.into())
        }
        _ => Ok(all),
    }
}

/// What the device keeps of transactions is among the pairs of a backup.
fn stored(kv: &mut Kv, key: &[u8], value: &[u8]) -> Result<(), HostError> {
    kv.show_outcomes(true);
    let stored = kv.put_queued(key, value);
    kv.show_outcomes(false);
    stored
}

fn join(all: &mut Vec<BackupNamespace>, next: BackupNamespace) {
    match all.iter_mut().find(|one| one.nsid == next.nsid) {
        Some(one) => {
            one.pairs += next.pairs;
            one.deleted += next.deleted;
            one.value_bytes += next.value_bytes;
            one.blocks_written += next.blocks_written;
        }
        None => all.push(next),
    }
}

/// Where each namespace goes.
fn targets<'n>(
    wanted: &'n [BackupNamespace],
    url: &DeviceUrl,
) -> Result<Vec<(&'n BackupNamespace, u32)>, Error> {
    match (wanted, url.nsid) {
        ([only], Some(nsid)) => Ok(vec![(only, nsid)]),
        (several_, Some(_)) => Err(several(several_).into()),
        (all, None) => Ok(all.iter().map(|namespace| (namespace, namespace.nsid)).collect()),
    }
}

fn several(wanted: &[BackupNamespace]) -> BackupError {
    let what = format!("the backup has {} namespaces, and the target is one", wanted.len());
    BackupError::Unsuited { what, todo: "choose one with --namespace N" }
}

/// A namespace of pairs, opened for this or the caller's.
enum Open<'a> {
    Own(Box<Kv>),
    Lent(&'a mut Kv),
}

impl Open<'_> {
    fn kv(&mut self) -> &mut Kv {
        match self {
            Self::Own(kv) => kv,
            Self::Lent(kv) => kv,
        }
    }
}

/// Where pairs or blocks go.
enum Target<'a> {
    Kv(Open<'a>),
    Block(Box<Block>),
}

impl Target<'_> {
    fn open(namespace: &BackupNamespace, nsid: u32, url: &DeviceUrl) -> Result<Self, Error> {
        let url = DeviceUrl { nsid: Some(nsid), ..url.clone() };
        Ok(match namespace.kind {
            "kv" => Self::Kv(Open::Own(Box::new(Kv::open_url(&url)?))),
            _ => Self::Block(Box::new(Block::open_url(&url)?)),
        })
    }

    fn suits(&mut self, namespace: &BackupNamespace, nsid: u32, replace: bool) -> Result<(), Error> {
        if let Self::Block(disk) = self {
            suits(disk, namespace, nsid)?;
        }
        if replace || self.is_empty()? { Ok(()) } else { Err(BackupError::NotEmpty { nsid }.into()) }
    }

    fn is_empty(&mut self) -> Result<bool, Error> {
        match self {
            Self::Kv(open) => match open.kv().list(None).next() {
                None => Ok(true),
                Some(key) => key.map(|_| false).map_err(Error::from),
            },
            Self::Block(disk) => is_zero(disk),
        }
    }

    fn format(&mut self) -> Result<(), Error> {
        match self {
            Self::Kv(open) => Ok(open.kv().format()?),
            Self::Block(disk) => disk.format(),
        }
    }

    fn take(&mut self, item: Item<'_>) -> Result<(), Error> {
        match (self, item) {
            (Self::Kv(open), Item::Pair(key, Some(value))) => Ok(stored(open.kv(), key, value)?),
            (Self::Kv(open), Item::Pair(key, None)) => Ok(open.kv().delete(key).map(drop)?),
            (Self::Block(disk), Item::Blocks(first, bytes)) => disk.write(first, bytes),
            _ => Ok(()),
        }
    }

    /// Everything that was taken is durable.
    fn settle(&mut self) -> Result<(), Error> {
        match self {
            Self::Kv(open) => {
                open.kv().drain()?;
                Ok(open.kv().flush()?)
            }
            Self::Block(disk) => disk.flush(),
        }
    }

    fn close(self) -> Result<(), Error> {
        match self {
            Self::Kv(Open::Own(kv)) => kv.close(),
            Self::Kv(Open::Lent(_)) => Ok(()),
            Self::Block(disk) => disk.close(),
        }
    }
}

fn suits(disk: &Block, namespace: &BackupNamespace, nsid: u32) -> Result<(), Error> {
    let there = (disk.block_bytes(), disk.blocks());
    if there.0 == namespace.block_bytes && there.1 >= namespace.blocks {
        return Ok(());
    }
    let what = format!(
        "namespace {nsid} has {} blocks of {} bytes, and the backup {} of {}",
        there.1, there.0, namespace.blocks, namespace.block_bytes
    );
    Err(BackupError::Unsuited { what, todo: "name a target with blocks of that size, and as many" }.into())
}

fn is_zero(disk: &mut Block) -> Result<bool, Error> {
    let block_bytes = disk.block_bytes() as usize;
    let at_once = ((256 << 10) / block_bytes).max(1) as u64;
    let mut buffer = vec![0; at_once as usize * block_bytes];
    for first in (0..disk.blocks()).step_by(at_once as usize) {
        buffer.truncate(at_once.min(disk.blocks() - first) as usize * block_bytes);
        disk.read(first, &mut buffer)?;
        if !saker_segment_store::is_zero(&buffer) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes what the files have of a namespace.
fn fill(
    files: &[PathBuf],
    namespace: &BackupNamespace,
    nsid: u32,
    target: &mut Target<'_>,
    progress: &mut dyn FnMut(u64),
) -> Result<(), Error> {
    let mut done = 0;
    let failed = |done: u64, error: Error| match error {
        // A file that has changed since it was verified says so itself.
        Error::Backup(error) => Error::Backup(error),
        other => Error::Backup(BackupError::Stopped {
            nsid,
            done,
            all: namespace.steps(),
            reason: other.to_string(),
        }),
    };
    each(files, &mut |of, block_bytes, item| {
        if of != namespace.nsid {
            return Ok(());
        }
        target.take(item).map_err(|error| failed(done, error))?;
        done += match item {
            Item::Begin(_) => 0,
            Item::Pair(..) => 1,
            Item::Blocks(_, bytes) => (bytes.len() / block_bytes.max(1) as usize) as u64,
        };
        progress(done);
        Ok(())
    })?;
    target.settle().map_err(|error| failed(done, error))
}
