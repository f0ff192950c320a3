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
/// [`enum@Error`] when it cannot be read at all.
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
pub fn check_image(
    path: &Path,
    progress: &mut dyn FnMut(image::Progress),
) -> Result<(image::Report, u64), Error> {
    let found = verify_image(path, progress)?;
    Ok((found.report, found.namespaces.iter().map(|n| n.store.pairs).sum()))
}
