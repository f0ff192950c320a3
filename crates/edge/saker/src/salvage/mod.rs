// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What can be saved of a damaged image: all that is sound is read, what is lost is named, and a sound image is made of it.
//! `docs/damage.md` tells what can be known and what cannot.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

mod losses;
mod repair;
mod walk;

pub use losses::Losses;
pub use repair::{Repaired, repair_image};
pub use walk::{Lost, Piece};
pub(crate) use walk::{blocks as read_blocks, pairs as read_pairs};

use crate::block::Block;
use crate::device::damaged::{self, Findings, Wishes};
use crate::error::Error;
use crate::kv::Kv;
use crate::url::{DeviceUrl, Salvage};
use saker_device::NamespaceConfig;
use std::path::{Path, PathBuf};

/// A damaged image that was looked through.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("disk.img");
/// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
/// # let mut kv = saker::Kv::open(&format!("file:{}", path.display()))?;
/// # kv.put(b"sound", &[1; 1000])?;
/// # kv.put(b"spoilt", b"Here a bit will tip.")?;
/// # kv.close()?;
/// # let mut bytes = std::fs::read(&path)?;
/// # while let Some(at) = bytes.windows(20).position(|part| part == b"Here a bit will tip.") {
/// #     bytes[at] ^= 1;
/// # }
/// # std::fs::write(&path, bytes)?;
/// use saker::{Piece, Salvaged};
/// let salvaged = Salvaged::open(&path)?;
/// let mut saved = Vec::new();
/// let losses = salvaged.walk(1, &mut |piece| {
///     if let Piece::Pair(key, _value) = piece {
///         saved.push(key.to_vec());
///     }
///     Ok::<_, saker::Error>(())
/// })?;
/// assert_eq!((saved, losses.lost.len()), (vec![b"sound".to_vec()], 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Salvaged {
    path: PathBuf,
    salvage: Salvage,
    namespaces: Vec<NamespaceConfig>,
    findings: Findings,
}

impl Salvaged {
    /// Looks an image through. The file is only read, under a shared lock.
    ///
    /// # Errors
    /// [`Error::Image`] when it cannot be read or has no sound header; [`Error::Damaged`] when nothing can be saved.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
    /// # let mut kv = saker::Kv::open(&format!("file:{}", path.display()))?;
    /// # kv.put(b"sound", &[1; 1000])?;
    /// # kv.put(b"spoilt", b"Here a bit will tip.")?;
    /// # kv.close()?;
    /// # let mut bytes = std::fs::read(&path)?;
    /// # while let Some(at) = bytes.windows(20).position(|part| part == b"Here a bit will tip.") {
    /// #     bytes[at] ^= 1;
    /// # }
    /// # std::fs::write(&path, bytes)?;
    /// let salvaged = saker::Salvaged::open(&path)?; // the file stays as it is
    /// assert_eq!(salvaged.namespaces().len(), 1);
    /// assert!(saker::Salvaged::open(std::path::Path::new("no/such/disk.img")).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::open_as(path, Salvage::Certain)
    }

    /// The same, giving out also what may be older than something that was lost.
    ///
    /// # Errors
    /// As [`Salvaged::open`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
    /// # let mut kv = saker::Kv::open(&format!("file:{}", path.display()))?;
    /// # kv.put(b"sound", &[1; 1000])?;
    /// # kv.put(b"spoilt", b"Here a bit will tip.")?;
    /// # kv.close()?;
    /// # let mut bytes = std::fs::read(&path)?;
    /// # while let Some(at) = bytes.windows(20).position(|part| part == b"Here a bit will tip.") {
    /// #     bytes[at] ^= 1;
    /// # }
    /// # std::fs::write(&path, bytes)?;
    /// use saker::{Salvage, Salvaged};
    /// let salvaged = Salvaged::open_as(&path, Salvage::Uncertain)?;
    /// assert_eq!(salvaged.losses()?[0].sound, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_as(path: &Path, salvage: Salvage) -> Result<Self, Error> {
        let wishes = Wishes { depth: 1, url: None, with_uncertain: salvage == Salvage::Uncertain };
        let opened = damaged::open(path, wishes)?;
        let namespaces = opened.device.config().namespaces;
        Ok(Self { path: path.to_path_buf(), salvage, namespaces, findings: opened.findings })
    }

    /// What was put right without loss: places.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
    /// assert!(saker::Salvaged::open(&path)?.mends().is_empty(), "there was nothing to put right");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mends(&self) -> &[String] {
        &self.findings.mends
    }

    /// Its namespaces.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
    /// let salvaged = saker::Salvaged::open(&path)?;
    /// let numbers: Vec<u32> = salvaged.namespaces().iter().map(|namespace| namespace.nsid).collect();
    /// assert_eq!(numbers, [1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn namespaces(&self) -> &[NamespaceConfig] {
        &self.namespaces
    }

    /// The namespace asked for, or the first of pairs.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
    /// let salvaged = saker::Salvaged::open(&path)?;
    /// assert_eq!((salvaged.kv_namespace(None), salvaged.kv_namespace(Some(2))), (Some(1), None));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn kv_namespace(&self, asked: Option<u32>) -> Option<u32> {
        let is_wanted = |ns: &&NamespaceConfig| {
            damaged::kind_of(&ns.kind) == "kv" && asked.is_none_or(|asked| asked == ns.nsid)
        };
        self.namespaces.iter().find(is_wanted).map(|ns| ns.nsid)
    }

    /// Shows what is sound of a namespace, and tells what is lost. `see` says whether to go on.
    ///
    /// # Errors
    /// [`enum@Error`] when the device stops answering, or what `see` fails with.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
    /// # let mut kv = saker::Kv::open(&format!("file:{}", path.display()))?;
    /// # kv.put(b"sound", &[1; 1000])?;
    /// # kv.put(b"spoilt", b"Here a bit will tip.")?;
    /// # kv.close()?;
    /// # let mut bytes = std::fs::read(&path)?;
    /// # while let Some(at) = bytes.windows(20).position(|part| part == b"Here a bit will tip.") {
    /// #     bytes[at] ^= 1;
    /// # }
    /// # std::fs::write(&path, bytes)?;
    /// let mut bytes = 0;
    /// saker::Salvaged::open(&path)?.walk(1, &mut |piece| {
    ///     if let saker::Piece::Pair(key, value) = piece {
    ///         bytes += key.len() + value.len();
    ///     }
    ///     Ok::<_, saker::Error>(()) // an error of your own would end it
    /// })?;
    /// assert_eq!(bytes, 5 + 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn walk<E: From<Error>>(
        &self,
        nsid: u32,
        see: &mut dyn FnMut(Piece<'_>) -> Result<(), E>,
    ) -> Result<Losses, E> {
        let unknown = self.findings.unknown.get(&nsid).cloned().unwrap_or_default();
        let kind =
            self.namespaces.iter().find(|ns| ns.nsid == nsid).map_or("kv", |ns| damaged::kind_of(&ns.kind));
        let mut losses = Losses { nsid, kind, unknown, ..Losses::default() };
        if !losses.unknown.is_empty() && self.salvage == Salvage::Certain {
            return Ok(losses);
        }
        let url = DeviceUrl { nsid: Some(nsid), ..DeviceUrl::salvage(&self.path, self.salvage) };
        match kind {
            "kv" => walk::pairs(&mut Kv::open_url(&url)?, &mut losses, see)?,
            _ => walk::blocks(&mut Block::open_url(&url)?, &mut losses, see)?,
        }
        Ok(losses)
    }

    /// What is lost of every namespace.
    ///
    /// # Errors
    /// [`enum@Error`] when the device stops answering.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
    /// # let mut kv = saker::Kv::open(&format!("file:{}", path.display()))?;
    /// # kv.put(b"sound", &[1; 1000])?;
    /// # kv.put(b"spoilt", b"Here a bit will tip.")?;
    /// # kv.close()?;
    /// # let mut bytes = std::fs::read(&path)?;
    /// # while let Some(at) = bytes.windows(20).position(|part| part == b"Here a bit will tip.") {
    /// #     bytes[at] ^= 1;
    /// # }
    /// # std::fs::write(&path, bytes)?;
    /// let lost: usize = saker::Salvaged::open(&path)?.losses()?.iter().map(|one| one.lost.len()).sum();
    /// assert_eq!(lost, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn losses(&self) -> Result<Vec<Losses>, Error> {
        self.namespaces.iter().map(|ns| self.walk(ns.nsid, &mut |_| Ok::<_, Error>(()))).collect()
    }
}
