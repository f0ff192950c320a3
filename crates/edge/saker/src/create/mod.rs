// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Making images.

pub use crate::device::identity::new_uuid;
pub use crate::divide::NamespacePlan;

mod hybrid;

use crate::device::dual;
use crate::device::records::{records, seeded_uuid};
use crate::device::refuse_idle;
use crate::divide::divide;
use crate::error::{Error, PlanError};
use crate::image::{self, Access, ImageConfig, ImageError};
use crate::part::Part;
use crate::profiles::profile_for_image;
use saker_assembly::Build;
use saker_device::{EngineKind, NamespaceConfig, Settings};
use saker_flash::nand::Shape;
use saker_profile::Profile;
use std::path::Path;

/// Attempts at a size that holds all namespaces: more flash may mean larger superblocks.
const FITS_MAX: u32 = 8;

/// An image as it is asked for.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("disk.img");
/// use saker::{EngineKind, ImagePlan, new_uuid};
/// let plan = ImagePlan {
///     engine: EngineKind::named("lsm").expect("there is one"),
///     uuid: Some(new_uuid()?), // no other image has its identity
///     ..ImagePlan::kv(4 << 20, "tiny", 1)
/// };
/// plan.create(&path)?;
/// # let mut kv = saker::Kv::open(&format!("file:{}", path.display()))?;
/// # assert!(kv.open_iterator(&saker::KeyRange::default())?.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePlan {
    /// Bytes of flash, rounded down to whole superblocks; `None`: as many as the namespaces need.
    pub bytes: Option<u64>,
    /// A built-in profile, or a file of one (see [`profile_named`](crate::profile_named)).
    pub profile: String,
    /// Seed of the device's own random choices.
    pub seed: u64,
    /// Names the image among all, and gives its device an identity; `None`: both follow from the seed.
    pub uuid: Option<[u8; 16]>,
    /// The engine of namespaces of pairs.
    pub engine: EngineKind,
    /// What is asked of it; what belongs to an image is kept there.
    ///
    /// ```
    /// use saker::{EngineKind, ImagePlan, Packing, Setting, Settings, Typed};
    /// let engine = EngineKind::named("lsm").expect("there is one");
    /// let known: &[Setting] = engine.settings();
    /// assert!(known.iter().any(|setting| setting.name == "packing"));
    ///
    /// let mut typed = Typed::default();
    /// typed.push("packing", Packing::Auto.name());
    /// let settings: Settings = typed.of(engine.settings(), saker::url::parse_size).expect("it takes that");
    /// let plan = ImagePlan { engine, settings, ..ImagePlan::kv(16 << 20, "tiny", 1) };
    /// # let dir = tempfile::tempdir()?;
    /// # plan.create(&dir.path().join("disk.img"))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub settings: Settings,
    /// Namespaces 1, 2, ...
    pub namespaces: Vec<NamespacePlan>,
}

/// An image as it was made.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("disk.img");
/// let made: saker::CreatedImage = saker::ImagePlan::kv(10_000_000, "tiny", 1).create(&path)?;
/// assert!(made.flash_bytes <= 10_000_000, "whole superblocks");
/// assert_eq!(made.flash_bytes % made.segment_bytes, 0);
/// let namespace: &saker::NamespaceConfig = &made.namespaces[0];
/// assert!(matches!(namespace.kind, saker::NamespaceKind::Kv { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedImage {
    /// Bytes of flash.
    pub flash_bytes: u64,
    /// Bytes of a superblock, the unit in which namespaces hold flash.
    pub segment_bytes: u64,
    /// The namespaces.
    pub namespaces: Vec<NamespaceConfig>,
}

impl ImagePlan {
    /// One KV namespace over all of the flash.
    ///
    /// ```
    /// let plan = saker::ImagePlan::kv(4 << 20, "tiny", 1);
    /// assert_eq!((plan.bytes, plan.namespaces.len()), (Some(4 << 20), 1));
    /// ```
    pub fn kv(bytes: u64, profile: &str, seed: u64) -> Self {
        let namespaces = vec![NamespacePlan::Kv { flash_bytes: None }];
        Self {
            bytes: Some(bytes),
            profile: profile.into(),
            seed,
            uuid: None,
            engine: EngineKind::default(),
            settings: Settings::NONE,
            namespaces,
        }
    }

    /// Makes the image. It has its name when it is whole and durable, until then that of [`part_name`](crate::part_name): a file of the
    /// name is an image, whenever the process or the machine ends. What a process that was killed left there goes.
    ///
    /// # Errors
    /// [`enum@Error`]: no such profile, too small, namespaces that do not fit, or the file cannot be made.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// let plan = saker::ImagePlan::kv(4 << 20, "tiny", 1);
    /// plan.create(&path)?;
    /// let error = plan.create(&path).unwrap_err(); // what is there is never overwritten
    /// assert!(matches!(error, saker::Error::Image(saker::image::ImageError::Exists { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create(&self, path: &Path) -> Result<CreatedImage, Error> {
        let (config, made) = self.planned()?;
        if path.symlink_metadata().is_ok() {
            return Err(ImageError::Exists { path: path.to_path_buf() }.into());
        }
        let (part, _held) = Part::image_held(path, &config)?;
        part.name()?;
        Ok(made)
    }

    /// Makes the image in the place of the file that has its name, which is there until the new one is whole and durable. There may be
    /// none. An image that another process writes to is left alone.
    ///
    /// # Errors
    /// As [`ImagePlan::create`], and [`ImageError::InUse`]. Then what is there is as it was.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// let plan = saker::ImagePlan::kv(4 << 20, "tiny", 1);
    /// plan.replace(&path)?;
    /// let url = format!("file:{}", path.display());
    /// let mut kv = saker::Kv::open(&url)?;
    /// kv.put(b"key", b"value")?;
    /// assert!(plan.replace(&path).is_err(), "it is in use");
    /// kv.close()?;
    /// plan.replace(&path)?;
    /// assert!(!saker::Kv::open(&url)?.exists(b"key")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replace(&self, path: &Path) -> Result<CreatedImage, Error> {
        // From now on no writer comes. What is no image, or cannot be read, is nobody's.
        let _old = match image::hold(path, Access::Read) {
            Err(in_use @ ImageError::InUse { .. }) => return Err(in_use.into()),
            held => held.ok(),
        };
        let (config, made) = self.planned()?;
        let (part, _held) = Part::image_held(path, &config)?;
        part.replace()?;
        Ok(made)
    }

    /// The image as it will be.
    fn planned(&self) -> Result<(ImageConfig, CreatedImage), Error> {
        let profile = profile_for_image(&self.profile)?;
        refuse_idle(self.engine, &self.settings, &self.settings)?;
        let has_blocks = self.namespaces.iter().any(|n| matches!(n, NamespacePlan::Block { .. }));
        dual::refuse_alone(&self.settings, has_blocks)?;
        let (shape, namespaces) = self.divide(&profile)?;
        let build = Build::with(&profile, shape, namespaces, self.seed).with_engine(self.engine);
        let build = build.asked([&self.settings])?;
        let config = header(&build, self.seed, self.uuid);
        let segment_bytes = shape.geometry.segment_bytes();
        let made = CreatedImage {
            flash_bytes: segment_bytes * u64::from(shape.geometry.segments),
            segment_bytes,
            namespaces: build.config.namespaces,
        };
        Ok((config, made))
    }
}

impl ImagePlan {
    fn divide(&self, profile: &Profile) -> Result<(Shape, Vec<NamespaceConfig>), Error> {
        if let Some(bytes) = self.bytes {
            return divide(profile, bytes, self.seed, &self.namespaces);
        }
        let mut bytes = self.asked().ok_or(PlanError::NoSize)?;
        for _ in 0..FITS_MAX {
            match divide(profile, bytes, self.seed, &self.namespaces) {
                Err(Error::Plan(PlanError::TooLarge { needed, .. })) => bytes = needed,
                outcome => return outcome,
            }
        }
        divide(profile, bytes, self.seed, &self.namespaces)
    }

    /// Bytes of all namespaces, if each has a size.
    pub(crate) fn asked(&self) -> Option<u64> {
        self.namespaces
            .iter()
            .map(NamespacePlan::bytes)
            .try_fold(0, |sum: u64, n| Some(sum.saturating_add(n?)))
    }
}

fn header(build: &Build, seed: u64, uuid: Option<[u8; 16]>) -> ImageConfig {
    ImageConfig {
        geometry: build.shape.geometry,
        channels: build.shape.channels,
        luns: build.shape.luns,
        ring_slots: build.ring_slots(),
        capacitor: build.config.capacitor,
        seed,
        shards: 1,
        profile: build.profile.name.clone(),
        namespaces: records(&build.device_config()),
        uuid: uuid.unwrap_or_else(|| seeded_uuid(seed)),
    }
}

/// Makes an image with one KV namespace over all of its flash. Returns its bytes of flash.
///
/// # Errors
/// As [`ImagePlan::create`].
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("disk.img");
/// let flash_bytes = saker::create_image(&path, 4 << 20, "tiny", 1)?;
/// assert!(flash_bytes <= 4 << 20);
/// saker::Kv::open(&format!("file:{}", path.display()))?.put(b"key", b"value")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn create_image(path: &Path, bytes: u64, profile: &str, seed: u64) -> Result<u64, Error> {
    ImagePlan::kv(bytes, profile, seed).create(path).map(|made| made.flash_bytes)
}
