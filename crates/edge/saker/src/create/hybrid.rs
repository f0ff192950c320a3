// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Images of a store over both namespaces.

use super::ImagePlan;
use crate::device::dual;
use crate::error::Error;
use crate::profiles::profile_for_image;
use saker_device::{EngineKind, Settings};

impl ImagePlan {
    /// A namespace of pairs on two fifths of the flash, and one of blocks on the rest: for a store over both (option `hybrid` of
    /// [URLs](crate::url)).
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// saker::ImagePlan::hybrid(24 << 20, "tiny", 1).create(&path)?;
    /// let mut kv = saker::Kv::open(&format!("file:{}?hybrid", path.display()))?;
    /// kv.put(b"key", b"value")?;
    /// assert_eq!(kv.get(b"key")?, Some(b"value".to_vec()));
    /// kv.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hybrid(bytes: u64, profile: &str, seed: u64) -> Self {
        // Making the image says what is wrong with the profile's name.
        let known = profile_for_image(profile).ok();
        let namespaces = dual::plans(bytes, known.as_ref());
        let (engine, settings) = (EngineKind::LSM, dual::settings_of_pairs(0));
        Self { engine, settings, namespaces, ..Self::kv(bytes, profile, seed) }
    }

    /// The same with what the main tree, the one over the blocks, is asked for when it is made: `min_blob_size`. The image keeps it.
    ///
    /// # Errors
    /// [`Error::Setting`] for any other setting: those of the main tree that an image does not keep are for the URL that opens it.
    ///
    /// ```
    /// use saker::{EngineKind, ImagePlan, Typed};
    /// let mut typed = Typed::default();
    /// typed.push("min_blob_size", "unlimited"); // values in the tree, as RocksDB's
    /// let main = typed.of(EngineKind::LSM.settings(), saker::url::parse_size).expect("it takes that");
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// ImagePlan::hybrid_with(24 << 20, "tiny", 1, &main)?.create(&path)?;
    /// let mut kv = saker::Kv::open(&format!("file:{}?hybrid", path.display()))?;
    /// kv.put(b"key", b"value")?;
    /// kv.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hybrid_with(bytes: u64, profile: &str, seed: u64, main: &Settings) -> Result<Self, Error> {
        let settings = dual::settings_of_pairs(dual::kept_of_main(main)?);
        Ok(Self { settings, ..Self::hybrid(bytes, profile, seed) })
    }
}
