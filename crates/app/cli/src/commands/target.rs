// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files that a command writes. A file under its final name is complete.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use saker::part_name;

use crate::error::CliError;

/// A file being written under another name, `NAME.part`, so that a failure or an interrupt leaves an earlier file
/// of that name as it was. What is no plain file, such as a pipe, is written in place.
pub struct Target {
    file: File,
    path: PathBuf,
    part: Option<PathBuf>,
}

impl Target {
    /// Begins to write `path`.
    ///
    /// # Errors
    /// `File`; `Failed` if an image stands there.
    pub fn create(path: &Path) -> Result<Self, CliError> {
        // Through a symbolic link, the file that it names is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let plain = fs::metadata(&path).map_or(true, |m| m.is_file());
        let part = plain.then(|| part_name(&path));
        let opened = part.as_ref().unwrap_or(&path);
        keep_images(&path)?;
        keep_images(opened)?;
        let file = File::create(opened).map_err(CliError::file("create", opened))?;
        Ok(Self { file, path, part })
    }

    /// Where the data go.
    pub const fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Makes the file durable and gives it its name.
    ///
    /// # Errors
    /// `File`.
    pub fn commit(mut self) -> Result<(), CliError> {
        let Some(part) = &self.part else { return Ok(()) };
        self.file.sync_all().map_err(CliError::file("write", part))?;
        fs::rename(part, &self.path).map_err(CliError::file("create", &self.path))?;
        self.part = None;
        Ok(())
    }

    /// Writes all of `bytes` as the file `path`.
    ///
    /// # Errors
    /// As [`Target::create`].
    pub fn write(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
        let mut target = Self::create(path)?;
        target.file.write_all(bytes).map_err(CliError::file("write", path))?;
        target.commit()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            let _ = fs::remove_file(part);
        }
    }
}

/// How images begin.
const IMAGE_MAGIC: &[u8; 8] = b"SAKERIMG";

/// Whether a file can be made under that name, for commands that have long work before they write it.
///
/// # Errors
/// `File` for a directory, or where there is none to make it in; `Failed` for an image.
pub fn can_be_made(path: &Path) -> Result<(), CliError> {
    let fault = |kind: ErrorKind| Err(CliError::file("create", path)(kind.into()));
    if path.is_dir() {
        return fault(ErrorKind::IsADirectory);
    }
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) if !parent.exists() => fault(ErrorKind::NotFound),
        Some(parent) if !parent.is_dir() => fault(ErrorKind::NotADirectory),
        _ => keep_images(path),
    }
}

/// Refuses to write over an image: it may be the one that is read, under whatever name.
///
/// # Errors
/// `Failed`.
pub fn keep_images(path: &Path) -> Result<(), CliError> {
    let mut head = [0; IMAGE_MAGIC.len()];
    let is_file = fs::metadata(path).is_ok_and(|m| m.is_file());
    let read = is_file && File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok();
    if read && head == *IMAGE_MAGIC {
        let what = format!("`{}` is a Saker image and would be lost", path.display());
        return Err(CliError::failed(what, "name another file, or remove the image first"));
    }
    Ok(())
}
