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

mod repair;
mod walk;

pub use repair::{Repaired, repair_image};
pub use walk::{Lost, Piece};

use crate::block::Block;
use crate::device::damaged::{self, Findings, Wishes};
use crate::error::Error;
use crate::kv::Kv;
use crate::url::{DeviceUrl, Salvage};
use saker_device::NamespaceConfig;
use std::path::{Path, PathBuf};

/// A namespace of an image that is salvaged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Its number.
    pub nsid: u32,
    /// `kv` or `block`.
    pub kind: &'static str,
    /// Pairs that are sound; for blocks, blocks that are not all zero.
    pub sound: u64,
    /// What is lost.
    pub lost: Vec<Lost>,
    /// What was lost of which nobody knows what it said. If there is any, pairs and blocks that are found may be older than
    /// ones that were lost with it, and they are not given out.
    pub unknown: Vec<String>,
}

impl Losses {
    /// Whether all of it is sound.
    pub fn is_none(&self) -> bool {
        self.lost.is_empty() && self.unknown.is_empty()
    }
}

/// A damaged image that was looked through.
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
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::open_as(path, Salvage::Certain)
    }

    /// The same, giving out also what may be older than something that was lost.
    ///
    /// # Errors
    /// As [`Salvaged::open`].
    pub fn open_as(path: &Path, salvage: Salvage) -> Result<Self, Error> {
        let wishes = Wishes { depth: 1, url: None, with_uncertain: salvage == Salvage::Uncertain };
        let opened = damaged::open(path, wishes)?;
        let namespaces = opened.device.config().namespaces;
        Ok(Self { path: path.to_path_buf(), salvage, namespaces, findings: opened.findings })
    }

    /// What was put right without loss: places.
    pub fn mends(&self) -> &[String] {
        &self.findings.mends
    }

    /// Its namespaces.
    pub fn namespaces(&self) -> &[NamespaceConfig] {
        &self.namespaces
    }

    /// The namespace asked for, or the first of pairs.
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
    pub fn losses(&self) -> Result<Vec<Losses>, Error> {
        self.namespaces.iter().map(|ns| self.walk(ns.nsid, &mut |_| Ok::<_, Error>(()))).collect()
    }
}
