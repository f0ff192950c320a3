// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Making an image.

use super::header::{self, Header};
use super::layout::Layout;
use super::lock::{Access, Held, Locked};
use super::open::map_regions;
use super::{ImageConfig, ImageError, epochs, host};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Makes an image with erased flash and an empty ring. It takes header, epoch table and ring of disk space;
/// the rest is taken as it is written. The header is written last, so an interrupted creation leaves a file
/// that no program takes for an image. This process can map it.
///
/// # Errors
/// [`ImageError::Exists`], [`ImageError::Config`], [`ImageError::HostFull`], [`ImageError::AddressSpace`] and
/// [`ImageError::Io`]; a file that could not be finished is removed.
pub fn create(path: &Path, config: &ImageConfig) -> Result<(), ImageError> {
    create_held(path, config).map(drop)
}

/// [`create`], and the image is nobody else's until what this returns is dropped.
///
/// # Errors
/// As [`create`].
pub fn create_held(path: &Path, config: &ImageConfig) -> Result<Held, ImageError> {
    let layout = Layout::of(config)?;
    let file = new_file(path)?;
    make(file, path, config, &layout).map(Held).inspect_err(|_| {
        // The reason why it failed matters more than a left-over.
        let _ = std::fs::remove_file(path);
    })
}

fn make(file: File, path: &Path, config: &ImageConfig, layout: &Layout) -> Result<Locked, ImageError> {
    let file = Locked::new(file).map_err(|error| explain(path, layout, error))?;
    fill(&file, path, config, layout).map_err(|error| explain(path, layout, error))?;
    map_regions(&file, layout, Access::Write).map_err(ImageError::map(path, layout.file_bytes))?;
    Ok(file)
}

/// Its owner alone may read it: whoever reads it has all pairs, and whoever opens it can keep others from doing so.
const OWNER_ALONE: u32 = 0o600;

fn new_file(path: &Path) -> Result<File, ImageError> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(OWNER_ALONE).open(path).map_err(
        |source| match source.kind() {
            io::ErrorKind::AlreadyExists => ImageError::Exists { path: path.to_path_buf() },
            _ => ImageError::io(path, "create")(source),
        },
    )
}

fn explain(path: &Path, layout: &Layout, error: io::Error) -> ImageError {
    if host::is_full(&error) {
        return ImageError::HostFull { path: path.to_path_buf(), bytes: layout.oob_at };
    }
    ImageError::io(path, "create")(error)
}

fn fill(file: &File, path: &Path, config: &ImageConfig, layout: &Layout) -> io::Result<()> {
    host::set_len(file, layout.file_bytes)?;
    host::preallocate(file, layout.oob_at)?;
    epochs::write_all(file, layout)?;
    host::sync_all(file)?;
    header::write_copies(file, &Header::new(config, layout), 0)?;
    host::sync_parent(path)
}
