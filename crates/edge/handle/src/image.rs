// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Images.

use crate::{Class, Fault};
use saker::{EngineKind, ImagePlan, parse_size};
use std::path::Path;

/// Makes an image with one namespace of pairs; the bytes of its flash.
///
/// # Errors
/// [`Fault`].
///
/// ```
/// let dir = tempfile::tempdir().unwrap();
/// let path = dir.path().join("disk.img");
/// saker_handle::create(&path, "16MiB", "tiny", "lsm", 1)?;
/// assert!(saker_handle::create(&path, "16MiB", "tiny", "lsm", 1).is_err(), "it is there");
/// # Ok::<(), saker_handle::Fault>(())
/// ```
pub fn create(path: &Path, size: &str, profile: &str, engine: &str, seed: u64) -> Result<u64, Fault> {
    Ok(plan(size, profile, engine, seed)?.create(path)?.flash_bytes)
}

/// An image as texts ask for it.
pub(crate) fn plan(size: &str, profile: &str, engine: &str, seed: u64) -> Result<ImagePlan, Fault> {
    let wrong = |what: String| Fault::new(Class::Argument, what);
    let bytes = parse_size(size).ok_or_else(|| wrong(format!("size `{size}`; write such as 1GiB")))?;
    let kind = EngineKind::named(engine);
    let engine =
        kind.ok_or_else(|| wrong(format!("engine `{engine}`; write one of {}", EngineKind::names())))?;
    let uuid = Some(saker::new_uuid()?);
    Ok(ImagePlan { engine, uuid, ..ImagePlan::kv(bytes, profile, seed) })
}
