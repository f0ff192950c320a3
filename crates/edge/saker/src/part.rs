// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files that get their name when they are complete. Until then `NAME.part` has what is there, so that nobody takes a part for
//! the whole, whenever the process or the machine ends.

use crate::error::Error;
use crate::image::{self, Access, Held, ImageConfig, ImageError};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// Longest name of a file, in bytes: NAME_MAX of Linux, and of the files on a block namespace.
const NAME_BYTES_MAX: usize = 255;
/// What stands behind the name of a file that is not complete.
const SUFFIX: &str = ".part";

/// The name of a file until it is complete: `NAME.part`, beside it. Where that would be longer than a name can be, NAME is cut, and a
/// digest of all of it stands behind.
///
/// ```
/// use std::path::Path;
/// assert_eq!(saker::part_name(Path::new("some/disk.img")), Path::new("some/disk.img.part"));
/// let long = Path::new("some").join("n".repeat(255));
/// let part = saker::part_name(&long);
/// assert_eq!(part.file_name().map(|name| name.len()), Some(255));
/// assert_ne!(part, saker::part_name(&long.with_file_name("n".repeat(254))));
/// ```
pub fn part_name(path: &Path) -> PathBuf {
    let Some(name) = path.file_name().map(OsStrExt::as_bytes) else {
        let mut whole = path.as_os_str().to_owned();
        whole.push(SUFFIX);
        return whole.into();
    };
    let mut part = name.to_vec();
    if name.len() + SUFFIX.len() > NAME_BYTES_MAX {
        let digest = format!("-{:016x}", xxh3_64(name));
        part.truncate(NAME_BYTES_MAX - SUFFIX.len() - digest.len());
        cut_whole_characters(&mut part);
        part.extend_from_slice(digest.as_bytes());
    }
    part.extend_from_slice(SUFFIX.as_bytes());
    path.with_file_name(OsString::from_vec(part))
}

/// Leaves the character out that the end of a text has cut.
fn cut_whole_characters(text: &mut Vec<u8>) {
    if let Err(cut) = std::str::from_utf8(text)
        && cut.error_len().is_none()
    {
        text.truncate(cut.valid_up_to());
    }
}

/// A file that is being made.
#[derive(Debug)]
pub(crate) struct Part {
    part: PathBuf,
    path: PathBuf,
    /// The file that whoever has this made, while it is without its name: it goes when this is dropped.
    made: Option<Place>,
}

/// A file whatever its name: device and inode.
type Place = (u64, u64);

impl Part {
    /// That of a path.
    pub fn of(path: &Path) -> Self {
        Self { part: part_name(path), path: path.to_path_buf(), made: None }
    }

    /// It was made: from now on it is removed if it does not get its name.
    pub fn made(&mut self) {
        self.made = self.found();
    }

    /// An empty image that is made for a path. What a killed process has left there goes; an image that somebody is making is left
    /// alone, and so is what is no image.
    ///
    /// # Errors
    /// [`ImageError::InUse`], [`ImageError::Exists`] of what is no left-over, and as [`image::create`].
    pub fn image(path: &Path, config: &ImageConfig) -> Result<Self, Error> {
        Self::image_held(path, config).map(|(part, _)| part)
    }

    /// The same, and nobody else can open it until the lock is dropped.
    ///
    /// # Errors
    /// As [`Part::image`].
    pub fn image_held(path: &Path, config: &ImageConfig) -> Result<(Self, Held), Error> {
        let mut part = Self::of(path);
        let place = part.place();
        if place.symlink_metadata().is_ok() {
            let left = image::hold(place, Access::Write)?;
            if !left.is_image_or_begun(place)? {
                return Err(ImageError::Exists { path: place.to_path_buf() }.into());
            }
            std::fs::remove_file(place).map_err(|source| {
                let path = place.to_path_buf();
                ImageError::Io { path, doing: "remove", source }
            })?;
            drop(left);
        }
        let held = image::create_held(place, config)?;
        part.made();
        Ok((part, held))
    }

    fn found(&self) -> Option<Place> {
        self.part.symlink_metadata().ok().map(|found| (found.dev(), found.ino()))
    }

    /// Somebody else who makes the same file may have taken this one for a left-over: theirs gets no name from here.
    fn check_ours(&self) -> Result<(), Error> {
        let is_ours = self.made.is_some() && self.made == self.found();
        if is_ours { Ok(()) } else { Err(ImageError::InUse { path: self.part.clone() }.into()) }
    }

    /// Where it is until it has its name.
    pub fn place(&self) -> &Path {
        &self.part
    }

    /// Gives it its name, which no file may have. What came there meanwhile is not overwritten where the file system has links.
    ///
    /// # Errors
    /// [`ImageError::Exists`] and [`ImageError::Io`].
    pub fn name(mut self) -> Result<(), Error> {
        self.check_ours()?;
        self.sync(&self.part, "sync")?;
        match std::fs::hard_link(&self.part, &self.path) {
            Ok(()) => std::fs::remove_file(&self.part).map_err(|error| self.failed(error))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(self.failed(error)),
            Err(_) => std::fs::rename(&self.part, &self.path).map_err(|error| self.failed(error))?,
        }
        self.made = None;
        self.sync_folder()
    }

    /// Gives it its name instead of the file that has it.
    ///
    /// # Errors
    /// [`ImageError::Io`].
    pub fn replace(mut self) -> Result<(), Error> {
        self.check_ours()?;
        self.sync(&self.part, "sync")?;
        std::fs::rename(&self.part, &self.path).map_err(|error| self.failed(error))?;
        self.made = None;
        self.sync_folder()
    }

    fn sync(&self, path: &Path, doing: &'static str) -> Result<(), Error> {
        let synced = File::open(path).and_then(|file| file.sync_all());
        synced.map_err(|source| ImageError::Io { path: path.to_path_buf(), doing, source }.into())
    }

    /// The name is durable, too.
    fn sync_folder(&self) -> Result<(), Error> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        self.sync(folder.unwrap_or(Path::new(".")), "sync the folder")
    }

    fn failed(&self, source: io::Error) -> Error {
        let path = self.path.clone();
        match source.kind() {
            io::ErrorKind::AlreadyExists => ImageError::Exists { path }.into(),
            _ => ImageError::Io { path, doing: "rename what was made to", source }.into(),
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.made.is_some() && self.made == self.found() {
            // Why it failed matters more than a left-over.
            let _ = std::fs::remove_file(&self.part);
        }
    }
}
