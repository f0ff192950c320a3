// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The flash of a profile, cut to a size.

use saker_flash::nand::Shape;
use saker_profile::Profile;
use saker_segment_store::Geometry;
use thiserror::Error;

/// Why a device cannot be built.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BuildError {
    /// The flash would be too small to work.
    #[error("{asked} bytes are too few for profile {profile}: it needs at least {}", written(*.least))]
    TooSmall {
        /// Bytes asked for.
        asked: u64,
        /// The profile.
        profile: String,
        /// Bytes needed.
        least: u64,
        /// Built-in profiles that need no more than was asked for.
        fitting: Vec<&'static str>,
    },
    /// More superblocks than a device keeps account of.
    #[error("{asked} bytes are too many for profile {profile}: it takes at most {most}")]
    TooLarge {
        /// Bytes asked for.
        asked: u64,
        /// The profile.
        profile: String,
        /// Bytes possible.
        most: u64,
    },
    /// Flash of this profile cannot be written with what is asked of the engine.
    #[error("engine {engine} and profile {profile}: {what}")]
    Setting {
        /// The engine.
        engine: &'static str,
        /// The profile.
        profile: String,
        /// What does not fit.
        what: String,
    },
}

impl BuildError {
    /// What to do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::TooSmall { fitting, .. } => format!("give a larger size{}", or_profile(fitting)),
            Self::TooLarge { .. } => "give a smaller size".to_owned(),
            Self::Setting { .. } => "give another value, or another profile".to_owned(),
        }
    }
}

/// The other way out: a profile of smaller devices, or none where even the smallest is larger.
pub fn or_profile(fitting: &[&str]) -> String {
    if !fitting.is_empty() {
        return format!(", or a profile that fits: {}", fitting.join(", "));
    }
    let all = Profile::builtin_names().filter_map(|name| Profile::builtin(name).ok());
    let smallest = all.map(|profile| (least_bytes(&profile), profile.name)).min();
    smallest.map_or(String::new(), |(least, name)| {
        format!("; the smallest device has {}, of profile {name}", written(least))
    })
}

/// Bytes as sizes are written: `192MiB`.
pub fn written(bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let exact = units.into_iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    exact.map_or_else(|| format!("{bytes}B"), |(unit, name)| format!("{}{name}", bytes / unit))
}

/// The smallest device of a profile, in bytes of flash.
pub fn least_bytes(profile: &Profile) -> u64 {
    match cut(profile, 0, 0) {
        Err(BuildError::TooSmall { least, .. }) => least,
        _ => 0,
    }
}

/// Superblocks below which a device has no room to collect garbage.
pub const SEGMENTS_MIN: u32 = 24;
/// Most superblocks, as in an image.
pub const SEGMENTS_MAX: u32 = 1 << 24;
/// Smallest superblock that still holds a 2-MiB value with its record twice.
const SEGMENT_BYTES_MIN: u64 = 8 << 20;

/// The flash of a profile, cut to `bytes`. Superblocks shrink (fewer pages a block, then fewer LUNs) until there
/// are enough of them.
///
/// # Errors
/// [`BuildError`].
pub fn shape_of(profile: &Profile, bytes: u64) -> Result<Shape, BuildError> {
    shape_for(profile, bytes, bytes)
}

/// As [`shape_of`], with enough superblocks in any `smallest` bytes of it.
///
/// # Errors
/// [`BuildError`].
pub fn shape_for(profile: &Profile, bytes: u64, smallest: u64) -> Result<Shape, BuildError> {
    cut(profile, bytes, smallest).map_err(|mut error| {
        if let BuildError::TooSmall { fitting, .. } = &mut error {
            *fitting = profiles_where(|profile| cut(profile, bytes, smallest).is_ok());
        }
        error
    })
}

/// The built-in profiles of which that is true.
pub fn profiles_where(mut fits: impl FnMut(&Profile) -> bool) -> Vec<&'static str> {
    Profile::builtin_names()
        .filter(|name| Profile::builtin(name).is_ok_and(|profile| fits(&profile)))
        .collect()
}

fn cut(profile: &Profile, bytes: u64, smallest: u64) -> Result<Shape, BuildError> {
    let g = &profile.geometry;
    let page_bytes = g.page_bytes.get();
    let oob_bytes = g
        .oob_bytes
        .get()
        .max(64 + 16 * page_bytes.div_ceil(4096).max(page_bytes / 512 * u32::from(page_bytes < 4096)));
    let page = u64::from(page_bytes);
    let (mut luns, mut pages) = (g.luns(), g.pages_per_block.get());
    let least = (SEGMENT_BYTES_MIN).min(u64::from(luns * pages) * page);
    let segments = |bytes: u64, luns: u32, pages: u32| bytes / (u64::from(luns * pages) * page);
    while segments(smallest, luns, pages) < u64::from(SEGMENTS_MIN)
        && u64::from(luns * pages) * page >= 2 * least
    {
        if pages > 8 { pages /= 2 } else { luns /= 2 }
    }
    let count = segments(bytes, luns, pages);
    if count < u64::from(SEGMENTS_MIN) {
        let least = u64::from(SEGMENTS_MIN) * u64::from(luns * pages) * page;
        let (profile, fitting) = (profile.name.clone(), Vec::new());
        return Err(BuildError::TooSmall { asked: bytes, profile, least, fitting });
    }
    let segments = u32::try_from(count).ok().filter(|count| *count <= SEGMENTS_MAX).ok_or_else(|| {
        let most = u64::from(SEGMENTS_MAX) * u64::from(luns * pages) * page;
        BuildError::TooLarge { asked: bytes, profile: profile.name.clone(), most }
    })?;
    let geometry = Geometry {
        page_bytes,
        oob_bytes: oob_bytes.next_multiple_of(8),
        segment_pages: luns * pages,
        segments,
    };
    Ok(Shape { geometry, channels: g.channels.get().min(luns), luns })
}
