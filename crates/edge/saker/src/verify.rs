// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Verifying images: what the file says, then what recovery makes of it.

use crate::device::attach::attach;
use crate::device::records::config_of;
use crate::error::Error;
use crate::image::{self, Access};
use saker_device::Device;
use saker_device::stats::NamespaceSnapshot;
use saker_flash::{FaultPlan, Flash};
use saker_segment_store::PageBuffer;
use std::path::Path;

/// What a verification found.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("disk.img");
/// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
/// # saker::Kv::open(&format!("file:{}", path.display()))?.close()?;
/// let found: saker::Verified = saker::verify_image(&path, &mut |_| {})?;
/// assert!(found.report.is_sound());
/// assert_eq!(found.namespaces[0].store.pairs, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Verified {
    /// Pages, headers, ring.
    pub report: image::Report,
    /// What recovery made of each namespace; empty when the report says that the image is damaged.
    pub namespaces: Vec<NamespaceSnapshot>,
}

/// Verifies an image: every page, then what recovery makes of it, without changing the file.
///
/// # Errors
/// [`Error::Damaged`] if every page is sound and recovery finds a namespace that is not; otherwise [`enum@Error`] when the image
/// cannot be read at all. Damaged pages are no error: the report has them.
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
/// match saker::verify_image(&path, &mut |at| println!("{} of {}", at.segments_done, at.segments)) {
///     Ok(found) if found.report.is_sound() => panic!("a pair is spoilt"),
///     Ok(found) => found.report.findings.iter().for_each(|one| println!("{}", one.what)),
///     Err(saker::Error::Damaged { nsid, what }) => println!("namespace {nsid}: {what}"),
///     Err(unreadable) => return Err(unreadable.into()),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify_image(path: &Path, progress: &mut dyn FnMut(image::Progress)) -> Result<Verified, Error> {
    let report = image::check(path, progress)?;
    if !report.is_sound() {
        return Ok(Verified { report, namespaces: Vec::new() });
    }
    Ok(Verified { report, namespaces: image_namespaces(path)? })
}

/// What recovery makes of the namespaces of an image, without changing the file.
///
/// # Errors
/// As [`verify_image`]; [`Error::Damaged`] if a namespace is.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("disk.img");
/// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
/// let mut kv = saker::Kv::open(&format!("file:{}", path.display()))?;
/// kv.put(b"key", b"value")?;
/// kv.close()?;
/// assert_eq!(saker::image_namespaces(&path)?[0].store.pairs, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn image_namespaces(path: &Path) -> Result<Vec<NamespaceSnapshot>, Error> {
    let opened = image::open(path, Access::Read)?;
    let config = config_of(path, &opened.config)?;
    let g = opened.config.geometry;
    let ring = PageBuffer::new(opened.ring, opened.config.ring_slots, g.page_bytes, g.oob_bytes);
    let flash = Flash::power_on(Box::new(opened.media), ring, None, FaultPlan::default());
    let mut device = Device::new(flash, config, attach(1, 1));
    if let Some((nsid, what)) = device.damage().into_iter().next() {
        return Err(Error::Damaged { nsid, what });
    }
    Ok(device.stats().namespaces)
}

/// [`verify_image`], with the number of pairs instead of the namespaces.
///
/// # Errors
/// As [`verify_image`].
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("disk.img");
/// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
/// let (report, pairs) = saker::check_image(&path, &mut |_| {})?;
/// assert_eq!((report.is_sound(), pairs), (true, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_image(
    path: &Path,
    progress: &mut dyn FnMut(image::Progress),
) -> Result<(image::Report, u64), Error> {
    let found = verify_image(path, progress)?;
    Ok((found.report, found.namespaces.iter().map(|n| n.store.pairs).sum()))
}
