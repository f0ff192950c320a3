// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Growing an image: the pairs and blocks go to a larger image, which then takes the name of the old one in one step. Until that
//! step the old image is as it was, and after it the new one is complete: whenever this ends, there is one whole image.
//!
//! The parts of an image lie behind each other in the order of its shape, and some engines lay their tables out by the number of
//! segments; so nothing of an image could stay where it is.

use crate::block::Block;
use crate::error::{Error, PlanError};
use crate::image::{self, Access, ImageConfig, ImageError, NamespaceKind, NamespaceRecord};
use crate::kv::Kv;
use crate::part::Part;
use crate::url::DeviceUrl;
use saker_device::NamespaceConfig;
use saker_host::ScanOptions;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes of blocks that are copied at once.
const COPY_BYTES: usize = 256 << 10;

/// An image that has grown.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("disk.img");
/// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
/// let grown: saker::Grown = saker::grow_image(&path, 8 << 20, None, &mut |_| {})?;
/// assert_eq!((grown.flash_bytes_before, grown.flash_bytes), (4 << 20, 8 << 20));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grown {
    /// Bytes of flash that it had.
    pub flash_bytes_before: u64,
    /// Bytes of flash that it has.
    pub flash_bytes: u64,
    /// The namespace that has got them.
    pub nsid: u32,
    /// Pairs and blocks that were copied.
    pub copied: u64,
}

/// Makes an image larger, to `bytes` of flash rounded down to whole superblocks. What is new belongs to namespace `nsid`, or to
/// the only one. The image has to be nobody else's; it needs as much room again on the file system until the old one goes. Identity,
/// engine, settings and seeds stay. `progress` hears of pairs and blocks copied.
///
/// # Errors
/// [`PlanError::NotLarger`]; [`ImageError::InUse`]; [`PlanError::Whose`] without a number where there are several namespaces;
/// [`enum@Error`] when something cannot be read or there is no room. Then the image is as it was.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("disk.img");
/// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
/// let url = format!("file:{}", path.display());
/// let mut kv = saker::Kv::open(&url)?;
/// kv.put(b"key", b"value")?;
/// kv.close()?;
/// saker::grow_image(&path, 16 << 20, None, &mut |_| {})?;
/// assert_eq!(saker::Kv::open(&url)?.get(b"key")?, Some(b"value".to_vec()));
/// assert!(saker::grow_image(&path, 8 << 20, None, &mut |_| {}).is_err(), "it does not shrink");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn grow_image(
    path: &Path,
    bytes: u64,
    nsid: Option<u32>,
    progress: &mut dyn FnMut(u64),
) -> Result<Grown, Error> {
    // Through a link, the image that it names grows.
    let path = &std::fs::canonicalize(path).map_err(|source| io(path, "open", source))?;
    // Nobody else has it now; from then on no writer comes, and readers keep what they have opened.
    drop(image::hold(path, Access::Write)?);
    let held = image::hold(path, Access::Read)?;
    let old = image::open_mended(path, &image::Patches::default())?.opened.config;
    let (new, nsid) = larger(&old, bytes, nsid)?;
    let part = Part::image(path, &new)?;
    let as_the_old_one = same_owner(path, part.place());
    as_the_old_one.map_err(|source| io(path, "keep owner and mode of", source))?;
    let copied = copy_all(&old, path, part.place(), progress)?;
    let held = held.still_at(path)?;
    part.replace()?;
    drop(held);
    Ok(Grown { flash_bytes_before: flash_bytes(&old), flash_bytes: flash_bytes(&new), nsid, copied })
}

/// Owner, group and mode of the larger image are the old one's before anything is in it.
fn same_owner(old: &Path, new: &Path) -> std::io::Result<()> {
    let (old, made) = (old.metadata()?, new.metadata()?);
    if (old.uid(), old.gid()) != (made.uid(), made.gid()) {
        std::os::unix::fs::chown(new, Some(old.uid()), Some(old.gid()))?;
    }
    std::fs::set_permissions(new, old.permissions())
}

fn io(path: &Path, doing: &'static str, source: std::io::Error) -> ImageError {
    ImageError::Io { path: path.to_path_buf(), doing, source }
}

fn flash_bytes(config: &ImageConfig) -> u64 {
    config.geometry.segment_bytes() * u64::from(config.geometry.segments)
}

/// The same image with more segments, all of which are for one namespace.
fn larger(old: &ImageConfig, bytes: u64, asked: Option<u32>) -> Result<(ImageConfig, u32), Error> {
    let segments = u32::try_from(bytes / old.geometry.segment_bytes()).unwrap_or(u32::MAX);
    let added = segments.checked_sub(old.geometry.segments).filter(|added| *added > 0);
    let added =
        added.ok_or(PlanError::NotLarger { there: flash_bytes(old), step: old.geometry.segment_bytes() })?;
    let mut new = old.clone();
    new.geometry.segments = segments;
    let there = || old.namespaces.iter().map(|ns| ns.nsid.to_string()).collect::<Vec<_>>().join(", ");
    let nsid = match (asked, old.namespaces.as_slice()) {
        (Some(nsid), _) => nsid,
        (None, [only]) => only.nsid,
        (None, _) => return Err(PlanError::Whose { there: there() }.into()),
    };
    let grown = new.namespaces.iter_mut().find(|record| record.nsid == nsid);
    let record = grown.ok_or_else(|| Error::Missing { nsid, there: there() })?;
    record.quota_segments += added;
    if record.kind == NamespaceKind::Block {
        record.blocks = record.blocks.max(blocks(old, record, &new.geometry));
    }
    new.validate()?;
    new.check_fit().map_err(ImageError::Config)?;
    Ok((new, nsid))
}

/// Blocks that fit the segments of a namespace.
fn blocks(old: &ImageConfig, record: &NamespaceRecord, geometry: &saker_segment_store::Geometry) -> u64 {
    let quota = record.quota_segments;
    let largest = NamespaceConfig::block(record.nsid, geometry, quota, old.capacitor, record.block_bytes);
    match largest.with_map_cache(geometry, old.capacitor, record.map_cache_bytes()).kind {
        saker_device::NamespaceKind::Block { blocks, .. } => blocks,
        saker_device::NamespaceKind::Kv { .. } => 0,
    }
}

fn copy_all(old: &ImageConfig, from: &Path, to: &Path, progress: &mut dyn FnMut(u64)) -> Result<u64, Error> {
    let mut copied = 0;
    let mut count = || {
        copied += 1;
        progress(copied);
    };
    for record in &old.namespaces {
        let nsid = Some(record.nsid);
        let from = DeviceUrl { nsid, readonly: true, ..DeviceUrl::file(from) };
        let to = DeviceUrl { nsid, ..DeviceUrl::file(to) };
        match record.kind {
            NamespaceKind::Kv => copy_pairs(Kv::open_url(&from)?, Kv::open_url(&to)?, &mut count)?,
            NamespaceKind::Block => copy_blocks(Block::open_url(&from)?, Block::open_url(&to)?, &mut count)?,
        }
    }
    Ok(copied)
}

fn copy_pairs(mut from: Kv, mut to: Kv, count: &mut dyn FnMut()) -> Result<(), Error> {
    let mut failed = None;
    from.show_outcomes(true);
    to.show_outcomes(true);
    from.scan(&ScanOptions::default(), &mut |key, value| {
        failed = to.put_queued(key, value).err();
        count();
        failed.is_none()
    })?;
    failed.map_or(Ok(()), Err)?;
    to.close()?;
    from.close()
}

fn copy_blocks(mut from: Block, mut to: Block, count: &mut dyn FnMut()) -> Result<(), Error> {
    let block_bytes = from.block_bytes() as usize;
    let at_once = (COPY_BYTES / block_bytes).max(1) as u64;
    let mut buffer = vec![0; at_once as usize * block_bytes];
    for first in (0..from.blocks()).step_by(at_once as usize) {
        buffer.truncate(at_once.min(from.blocks() - first) as usize * block_bytes);
        from.read(first, &mut buffer)?;
        for (number, block) in (first..).zip(buffer.chunks_exact(block_bytes)) {
            if !saker_segment_store::is_zero(block) {
                to.write(number, block)?;
                count();
            }
        }
    }
    to.close()?;
    from.close()
}
