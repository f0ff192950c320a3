// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An image that is there, whether it was or not.

use crate::create::ImagePlan;
use crate::error::{Error, PlanError};
use crate::grow::grow_image;
use crate::image::ImageError;
use std::path::Path;

/// What [`ImagePlan::ensure`] has done.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("disk.img");
/// let ensured: saker::Ensured = saker::ImagePlan::kv(4 << 20, "tiny", 1).ensure(&path)?;
/// assert_eq!(ensured, saker::Ensured::Created);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ensured {
    /// There was none.
    Created,
    /// It was smaller than the plan, and has grown.
    Grown,
    /// It was there, as large as the plan or larger.
    AsItWas,
}

impl ImagePlan {
    /// Makes the image if there is none, or makes it grow if it is smaller: see [`grow_image`]. What is there keeps its profile, its
    /// engine and its namespaces, and never shrinks.
    ///
    /// # Errors
    /// As [`ImagePlan::create`] and [`grow_image`]: then the image, if there was one, is as it was.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// use saker::{Ensured, ImagePlan};
    /// ImagePlan::kv(4 << 20, "tiny", 1).ensure(&path)?;
    /// assert_eq!(ImagePlan::kv(8 << 20, "tiny", 1).ensure(&path)?, Ensured::Grown);
    /// assert_eq!(ImagePlan::kv(4 << 20, "tiny", 1).ensure(&path)?, Ensured::AsItWas);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ensure(&self, path: &Path) -> Result<Ensured, Error> {
        match self.create(path) {
            Ok(_) => return Ok(Ensured::Created),
            Err(Error::Image(ImageError::Exists { .. })) => {}
            Err(error) => return Err(error),
        }
        let Some(bytes) = self.bytes.or_else(|| self.asked()) else { return Ok(Ensured::AsItWas) };
        match grow_image(path, bytes, None, &mut |_| {}) {
            Ok(_) => Ok(Ensured::Grown),
            Err(Error::Plan(PlanError::NotLarger { .. })) => Ok(Ensured::AsItWas),
            Err(error) => Err(error),
        }
    }
}
