// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What earlier backups have, told in digests, so that a pair or block that has not changed is not written again.
//!
//! Versions of pairs say nothing beyond one life of a device, and blocks have none; so contents are compared. A digest has 128 bits
//! and a seed that is drawn for each backup: nobody can choose values whose digests are equal. Of each pair and block of the
//! earlier backups there are 32 bytes in memory.

use super::BackupError;
use super::format::BackupId;
use super::reader::{BackupReader, Item};
use crate::error::Error;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::{Xxh3Builder, xxh3_128_with_seed};

/// Names a pair or a block of any namespace.
type Name = u128;

/// A full backup, and those that were made since, in order.
#[derive(Debug)]
pub(super) struct Since {
    files: Vec<PathBuf>,
    seed: u64,
    /// The newest of them.
    pub id: BackupId,
    state: HashMap<Name, u128>,
}

impl Since {
    /// Reads them all.
    pub fn read(files: &[PathBuf], seed: u64) -> Result<Self, Error> {
        let mut since = Self { files: files.to_vec(), seed, id: BackupId::default(), state: HashMap::new() };
        since.id = each(files, &mut |nsid, block_bytes, item| {
            since.enter(nsid, block_bytes, item);
            Ok(())
        })?;
        Ok(since)
    }

    fn enter(&mut self, nsid: u32, block_bytes: u32, item: Item<'_>) {
        match item {
            Item::Begin(_) => {}
            Item::Pair(key, Some(value)) => {
                self.state.insert(pair_name(self.seed, nsid, key), self.digest(value));
            }
            Item::Pair(key, None) => {
                self.state.remove(&pair_name(self.seed, nsid, key));
            }
            Item::Blocks(first, bytes) => {
                for (number, block) in (first..).zip(bytes.chunks_exact(block_bytes as usize)) {
                    let name = block_name(self.seed, nsid, number);
                    match saker_segment_store::is_zero(block) {
                        true => self.state.remove(&name),
                        false => self.state.insert(name, self.digest(block)),
                    };
                }
            }
        }
    }

    fn digest(&self, bytes: &[u8]) -> u128 {
        xxh3_128_with_seed(bytes, self.seed)
    }

    /// Whether a pair is another one than in the backups, which are asked about each only once.
    pub fn has_other_pair(&mut self, nsid: u32, key: &[u8], value: &[u8]) -> bool {
        let now = self.digest(value);
        self.state.remove(&pair_name(self.seed, nsid, key)) != Some(now)
    }

    /// Whether a block is another one than in the backups, which are asked about each only once.
    pub fn has_other_block(&mut self, nsid: u32, number: u64, block: &[u8]) -> bool {
        let now = (!saker_segment_store::is_zero(block)).then(|| self.digest(block));
        self.state.remove(&block_name(self.seed, nsid, number)) != now
    }

    /// Shows the keys of a namespace that were not asked about: they are no more.
    pub fn left(&mut self, nsid: u32, see: &mut dyn FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error> {
        let (files, seed) = (std::mem::take(&mut self.files), self.seed);
        let mut shown = HashSet::new();
        let read = each(&files, &mut |of, _, item| match item {
            Item::Pair(key, Some(_)) if of == nsid => {
                let name = pair_name(seed, nsid, key);
                if self.state.contains_key(&name) && shown.insert(name) { see(key) } else { Ok(()) }
            }
            _ => Ok(()),
        });
        self.files = files;
        read.map(drop)
    }
}

fn pair_name(seed: u64, nsid: u32, key: &[u8]) -> Name {
    name(seed, b'p', nsid, key)
}

fn block_name(seed: u64, nsid: u32, number: u64) -> Name {
    name(seed, b'b', nsid, &number.to_le_bytes())
}

fn name(seed: u64, kind: u8, nsid: u32, what: &[u8]) -> Name {
    let mut hasher = Xxh3Builder::new().with_seed(seed).build();
    hasher.update(&[kind]);
    hasher.update(&nsid.to_le_bytes());
    hasher.update(what);
    hasher.digest128()
}

/// Shows everything of a full backup and of those made since: number of the namespace, bytes of its blocks, item. The identifier
/// of the last one.
pub(super) fn each(
    files: &[PathBuf],
    see: &mut dyn FnMut(u32, u32, Item<'_>) -> Result<(), Error>,
) -> Result<BackupId, Error> {
    let mut last: Option<(BackupId, &PathBuf)> = None;
    for path in files {
        let reader = BackupReader::open(path)?;
        let (id, base) = reader.ids();
        follows(path, base, last)?;
        let (mut nsid, mut block_bytes) = (0, 0);
        reader.read(&mut |item| {
            if let Item::Begin(namespace) = item {
                (nsid, block_bytes) = (namespace.nsid, namespace.block_bytes);
            }
            see(nsid, block_bytes, item)
        })?;
        last = Some((id, path));
    }
    Ok(last.map_or_else(BackupId::default, |(id, _)| id))
}

fn follows(path: &Path, base: BackupId, last: Option<(BackupId, &PathBuf)>) -> Result<(), BackupError> {
    match last {
        None if base == BackupId::default() => Ok(()),
        None => Err(BackupError::NotFull { path: path.to_path_buf() }),
        Some((id, _)) if id == base => Ok(()),
        Some((_, before)) => Err(BackupError::Order { path: path.to_path_buf(), before: before.clone() }),
    }
}
