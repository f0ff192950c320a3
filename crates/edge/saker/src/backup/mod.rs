// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Backups: the pairs and blocks of a device in one file, as of one moment where the device can tell that, or what changed since
//! an earlier one. `docs/backup.md` has the commands, what is promised, and every byte of the file.

mod format;
mod reader;
mod restore;
mod since;
mod take;
mod writer;

pub use crate::backup_error::BackupError;
pub use restore::{RestoreOptions, restore, restore_kv};
pub use take::{BackupOptions, back_up, back_up_kv};

use crate::error::Error;
use crate::url::DeviceUrl;
use format::{BackupId, End};
use reader::BackupReader;
use std::path::Path;

/// What is the same moment in a backup of a namespace.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let file = dir.path().join("pairs.bak");
/// use saker::{BackupOptions, Consistency};
/// let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
/// let made = saker::back_up_kv(&mut kv, &file, &BackupOptions::default(), &mut |_| {})?;
/// assert_eq!(made.namespaces[0].consistency, Consistency::Alone);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consistency {
    /// All of it: the device has shown it as of one moment, whatever was written meanwhile.
    #[default]
    Snapshot,
    /// All of it: the device was this program's alone, and nothing was written.
    Alone,
    /// Each pair or block by itself: one that it had at some moment while it was copied. What was written meanwhile may be in it.
    Each,
}

impl Consistency {
    const ALL: [(Self, u32, &'static str); 3] =
        [(Self::Snapshot, 1, "snapshot"), (Self::Alone, 2, "alone"), (Self::Each, 3, "each")];

    /// Its name in documents.
    ///
    /// ```
    /// assert_eq!(saker::Consistency::Each.name(), "each");
    /// ```
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(one, ..)| *one == self).map_or("", |(.., name)| name)
    }

    fn code(self) -> u32 {
        Self::ALL.into_iter().find(|(one, ..)| *one == self).map_or(0, |(_, code, _)| code)
    }

    fn of_code(code: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, of, _)| *of == code).map(|(one, ..)| one)
    }
}

/// A backup as it was made or read.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let file = dir.path().join("pairs.bak");
/// let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
/// kv.put(b"key", b"value")?;
/// let made: saker::Backup = saker::back_up_kv(&mut kv, &file, &saker::BackupOptions::default(), &mut |_| {})?;
/// assert_eq!((made.base, made.file_bytes), (None, std::fs::metadata(&file)?.len()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// Names it among all.
    pub id: [u8; 16],
    /// The one from which it goes on; `None`: it is a full one.
    pub base: Option<[u8; 16]>,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// What it has of each namespace.
    pub namespaces: Vec<BackupNamespace>,
}

/// What a backup has of a namespace.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let file = dir.path().join("pairs.bak");
/// let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
/// kv.put(b"key", b"value")?;
/// let made = saker::back_up_kv(&mut kv, &file, &saker::BackupOptions::default(), &mut |_| {})?;
/// let namespace: &saker::BackupNamespace = &made.namespaces[0];
/// assert_eq!((namespace.kind, namespace.pairs, namespace.value_bytes), ("kv", 1, 5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackupNamespace {
    /// Its number.
    pub nsid: u32,
    /// `kv` or `block`.
    pub kind: &'static str,
    /// What is of the same moment in it.
    pub consistency: Consistency,
    /// Bytes of a block; 0 for pairs.
    pub block_bytes: u32,
    /// Blocks of the namespace; 0 for pairs.
    pub blocks: u64,
    /// Pairs in the file.
    pub pairs: u64,
    /// Of what changed since another backup: pairs that are no more.
    pub deleted: u64,
    /// Bytes of the values in the file.
    pub value_bytes: u64,
    /// Blocks in the file: of a full backup those that are not zero.
    pub blocks_written: u64,
}

impl BackupNamespace {
    fn count(&mut self, value: Option<&[u8]>) {
        match value {
            Some(value) => {
                self.pairs += 1;
                self.value_bytes += value.len() as u64;
            }
            None => self.deleted += 1,
        }
    }

    /// What a file has at its end.
    fn end(&self) -> End {
        End {
            pairs: self.pairs.into(),
            deleted: self.deleted.into(),
            value_bytes: self.value_bytes.into(),
            blocks: self.blocks_written.into(),
        }
    }

    /// Pairs, deletions and blocks.
    fn steps(&self) -> u64 {
        self.pairs + self.deleted + self.blocks_written
    }
}

/// Reads a backup from its beginning to its end, with all checksums.
///
/// # Errors
/// [`Error::Backup`] names the place of what is not sound.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let file = dir.path().join("pairs.bak");
/// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
/// # kv.put(b"key", b"value")?;
/// let made = saker::back_up_kv(&mut kv, &file, &saker::BackupOptions::default(), &mut |_| {})?;
/// assert_eq!(saker::read_backup(&file)?, made);
/// let mut bytes = std::fs::read(&file)?;
/// bytes[100] ^= 1;
/// std::fs::write(&file, bytes)?;
/// assert!(saker::read_backup(&file).unwrap_err().to_string().contains("is damaged at byte 64"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_backup(file: &Path) -> Result<Backup, Error> {
    let reader = BackupReader::open(file)?;
    let (id, base) = reader.ids();
    let namespaces = reader.read(&mut |_| Ok(()))?;
    let file_bytes = std::fs::metadata(file).map_err(BackupError::io(file, "examine"))?.len();
    Ok(Backup { id, base: named(base), file_bytes, namespaces })
}

/// A backup has the namespaces themselves, from which the store over them opens again.
fn refuse_hybrid(url: &DeviceUrl) -> Result<(), Error> {
    if url.hybrid.is_none() {
        return Ok(());
    }
    let what = "option `hybrid`: a backup has namespaces, not the store over them".to_owned();
    Err(Error::Setting { what, todo: "leave it out".into() })
}

/// A backup's identifier, unless it is that of none.
fn named(id: BackupId) -> Option<BackupId> {
    (id != BackupId::default()).then_some(id)
}
