// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Making a backup.

use super::format::{Begin, FrameKind};
use super::since::Since;
use super::writer::BackupWriter;
use super::{Backup, BackupError, BackupNamespace, Consistency, named};
use crate::block::Block;
use crate::create::new_uuid;
use crate::error::Error;
use crate::kv::Kv;
use crate::scrub::namespaces;
use crate::url::{Backing, DeviceUrl};
use saker_host::{KeyRange, ScanOptions, ScanOrder};
use saker_runtime::AnyDriver;
use std::path::{Path, PathBuf};

/// Bytes of blocks that are read at once.
const READ_BYTES: usize = 256 << 10;

/// How a backup is made.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let (full, file) = (dir.path().join("full.bak"), dir.path().join("changes.bak"));
/// use saker::BackupOptions;
/// let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
/// kv.put(b"old", b"value")?;
/// saker::back_up_kv(&mut kv, &full, &BackupOptions::default(), &mut |_| {})?;
/// kv.put(b"new", b"value")?;
/// let options = BackupOptions { since: vec![full], ..BackupOptions::default() };
/// assert_eq!(saker::back_up_kv(&mut kv, &file, &options, &mut |_| {})?.namespaces[0].pairs, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackupOptions {
    /// A full backup and those made since, in order: only what has changed is written. Empty: everything is.
    pub since: Vec<PathBuf>,
    /// Where a namespace cannot be read as of one moment while others write, each pair or block by itself will do.
    pub each: bool,
}

/// Writes what the namespaces of a device hold to a new file, or the one that the URL names (`?nsid=`). Each is as of one moment.
/// An image is only read, and is nobody else's meanwhile. `progress` hears of pairs and blocks looked at.
///
/// # Errors
/// [`BackupError::Moving`] where others may write and the device shows no moment, unless [`BackupOptions::each`] says that this
/// will do; [`BackupError::Exists`]; [`enum@Error`] else. Then no file is left.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let (path, file) = (dir.path().join("disk.img"), dir.path().join("disk.bak"));
/// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
/// let url = format!("file:{}", path.display());
/// let mut kv = saker::Kv::open(&url)?;
/// kv.put(b"key", b"value")?;
/// kv.close()?;
/// saker::back_up(&url, &file, &saker::BackupOptions::default(), &mut |_| {})?;
/// # assert_eq!(saker::read_backup(&file)?.namespaces[0].pairs, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn back_up(
    url: &str,
    file: &Path,
    options: &BackupOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<Backup, Error> {
    let mut url = DeviceUrl::parse(url)?;
    super::refuse_hybrid(&url)?;
    // A backup changes nothing.
    url.readonly |= matches!(url.place, Backing::File(_));
    let namespaces = namespaces(&url)?;
    let mut taking = Taking::begin(file, options, progress)?;
    for (nsid, is_kv) in namespaces {
        let url = DeviceUrl { nsid: Some(nsid), ..url.clone() };
        match is_kv {
            true => {
                let mut kv = Kv::open_url(&url)?;
                taking.pairs(&mut kv, nsid)?;
                kv.close()?;
            }
            false => {
                let mut disk = Block::open_url(&url)?;
                taking.blocks(&mut disk, nsid, is_alone(&url))?;
                disk.close()?;
            }
        }
    }
    taking.finish()
}

/// The same of a namespace of pairs that is open.
///
/// # Errors
/// As [`back_up`].
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let file = dir.path().join("pairs.bak");
/// let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=tree")?;
/// kv.put(b"key", b"value")?;
/// let made = saker::back_up_kv(&mut kv, &file, &saker::BackupOptions::default(), &mut |_| {})?;
/// assert_eq!(made.namespaces[0].pairs, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn back_up_kv(
    kv: &mut Kv,
    file: &Path,
    options: &BackupOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<Backup, Error> {
    kv.drain()?;
    let nsid = kv.nsid();
    let mut taking = Taking::begin(file, options, progress)?;
    taking.pairs(kv, nsid)?;
    taking.finish()
}

/// Whether nobody else can write the device of a URL while it is open.
const fn is_alone(url: &DeviceUrl) -> bool {
    matches!(url.place, Backing::File(_) | Backing::Memory { .. })
}

/// A backup that is being made.
struct Taking<'a> {
    writer: BackupWriter,
    since: Option<Since>,
    options: &'a BackupOptions,
    progress: &'a mut dyn FnMut(u64),
    seen: u64,
    made: Backup,
}

impl<'a> Taking<'a> {
    fn begin(
        file: &Path,
        options: &'a BackupOptions,
        progress: &'a mut dyn FnMut(u64),
    ) -> Result<Self, Error> {
        if file.symlink_metadata().is_ok() {
            return Err(BackupError::Exists { path: file.to_path_buf() }.into());
        }
        let since = if options.since.is_empty() { None } else { Some(Since::read(&options.since, seed()?)?) };
        let (id, base) = (new_uuid()?, since.as_ref().map_or_else(Default::default, |since| since.id));
        let writer = BackupWriter::create(file, id, base)?;
        let made = Backup { id, base: named(base), file_bytes: 0, namespaces: Vec::new() };
        Ok(Self { writer, since, options, progress, seen: 0, made })
    }

    fn finish(mut self) -> Result<Backup, Error> {
        self.made.file_bytes = self.writer.finish()?;
        Ok(self.made)
    }

    fn see(&mut self) {
        self.seen += 1;
        (self.progress)(self.seen);
    }

    /// Refuses what is not of one moment, unless that will do.
    fn ensure(
        &self,
        is_one_moment: bool,
        nsid: u32,
        what: &'static str,
        why: &'static str,
    ) -> Result<(), Error> {
        if is_one_moment || self.options.each {
            Ok(())
        } else {
            Err(BackupError::Moving { nsid, what, why }.into())
        }
    }

    fn pairs(&mut self, kv: &mut Kv, nsid: u32) -> Result<(), Error> {
        let consistency = consistency(kv)?;
        self.ensure(consistency != Consistency::Each, nsid, "pair", "its engine has no snapshots")?;
        let begin = BackupNamespace { nsid, kind: "kv", consistency, ..BackupNamespace::default() };
        self.writer.begin(&wire(&begin))?;
        let mut failed = None;
        kv.show_outcomes(true);
        let scanned = kv.scan(&ScanOptions::default(), &mut |key, value| {
            failed = self.pair(nsid, key, value).err();
            failed.is_none()
        });
        // The namespace may be lent.
        kv.show_outcomes(false);
        let order = scanned?;
        failed.map_or(Ok(()), Err)?;
        let moved = consistency == Consistency::Snapshot && order != ScanOrder::Bytes;
        self.ensure(!moved, nsid, "pair", "the connection was lost meanwhile: try again")?;
        self.no_more(nsid)?;
        self.ended(begin, FrameKind::Pairs)
    }

    fn pair(&mut self, nsid: u32, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.see();
        let is_other = self.since.as_mut().is_none_or(|since| since.has_other_pair(nsid, key, value));
        if is_other { self.writer.pair(key, Some(value)) } else { Ok(()) }
    }

    /// Writes which pairs of the earlier backups are no more.
    fn no_more(&mut self, nsid: u32) -> Result<(), Error> {
        let Self { since: Some(since), writer, .. } = self else { return Ok(()) };
        since.left(nsid, &mut |key| writer.pair(key, None))
    }

    fn blocks(&mut self, disk: &mut Block, nsid: u32, is_alone: bool) -> Result<(), Error> {
        self.ensure(is_alone, nsid, "block", "blocks have no snapshots")?;
        let consistency = if is_alone { Consistency::Alone } else { Consistency::Each };
        let (block_bytes, blocks) = (disk.block_bytes(), disk.blocks());
        let begin = BackupNamespace {
            nsid,
            kind: "block",
            consistency,
            block_bytes,
            blocks,
            ..BackupNamespace::default()
        };
        self.writer.begin(&wire(&begin))?;
        let at_once = (READ_BYTES / block_bytes as usize).max(1) as u64;
        let mut buffer = vec![0; at_once as usize * block_bytes as usize];
        for first in (0..blocks).step_by(at_once as usize) {
            buffer.truncate(at_once.min(blocks - first) as usize * block_bytes as usize);
            disk.read(first, &mut buffer)?;
            for (number, block) in (first..).zip(buffer.chunks_exact(block_bytes as usize)) {
                self.block(nsid, number, block)?;
            }
        }
        self.ended(begin, FrameKind::Blocks)
    }

    fn block(&mut self, nsid: u32, number: u64, block: &[u8]) -> Result<(), Error> {
        self.see();
        let is_other = match &mut self.since {
            Some(since) => since.has_other_block(nsid, number, block),
            None => !saker_segment_store::is_zero(block),
        };
        if is_other { self.writer.block(number, block) } else { Ok(()) }
    }

    fn ended(&mut self, begun: BackupNamespace, kind: FrameKind) -> Result<(), Error> {
        let end = self.writer.end(kind)?;
        self.made.namespaces.push(BackupNamespace {
            pairs: end.pairs.get(),
            deleted: end.deleted.get(),
            value_bytes: end.value_bytes.get(),
            blocks_written: end.blocks.get(),
            ..begun
        });
        Ok(())
    }
}

fn wire(namespace: &BackupNamespace) -> Begin {
    Begin {
        nsid: namespace.nsid.into(),
        kind: if namespace.kind == "kv" { 1 } else { 2 }.into(),
        block_bytes: namespace.block_bytes.into(),
        consistency: namespace.consistency.code().into(),
        blocks: namespace.blocks.into(),
    }
}

/// What a scan of all pairs will be.
fn consistency(kv: &mut Kv) -> Result<Consistency, Error> {
    let driver = kv.client().driver_mut();
    if matches!(driver, AnyDriver::Inline(_) | AnyDriver::Thread(_) | AnyDriver::Sharded(_)) {
        return Ok(Consistency::Alone);
    }
    let Some(iterator) = kv.open_iterator(&KeyRange::default())? else { return Ok(Consistency::Each) };
    kv.close_iterator(iterator)?;
    Ok(Consistency::Snapshot)
}

/// A seed that nobody knows beforehand.
fn seed() -> Result<u64, Error> {
    let [a, b, c, d, e, f, g, h, ..] = new_uuid()?;
    Ok(u64::from_le_bytes([a, b, c, d, e, f, g, h]))
}
