// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Making a sound image of what can be saved of a damaged one.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use super::{Losses, Piece, Salvaged};
use crate::block::Block;
use crate::error::Error;
use crate::image::{self, ImageError};
use crate::kv::Kv;
use crate::part::Part;
use crate::url::{DeviceUrl, Salvage};
use std::path::Path;

/// A repaired image.
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
/// # let new = dir.path().join("repaired.img");
/// let repaired: saker::Repaired = saker::repair_image(&path, &new, &mut |_| {})?;
/// for namespace in &repaired.namespaces {
///     println!("{}: {} came over, {} lost", namespace.nsid, namespace.sound, namespace.lost.len());
/// }
/// # assert_eq!((repaired.namespaces[0].sound, repaired.namespaces[0].lost.len()), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Repaired {
    /// What was put right without loss.
    pub mends: Vec<String>,
    /// What came over of each namespace, and what is lost.
    pub namespaces: Vec<Losses>,
}

/// Makes image `new` of what is sound in `old`, which is only read. It has the identity, the shape and all settings of the
/// old one, whose place it is to take: the two must not be served at once. `progress` hears of pairs and blocks copied.
///
/// # Errors
/// [`ImageError::Exists`] if there is a `new`; otherwise as [`Salvaged::open`], or when `new` cannot be written. Then no
/// file is left.
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
/// let new = dir.path().join("repaired.img");
/// saker::repair_image(&path, &new, &mut |copied| println!("{copied} pairs and blocks"))?;
/// let mut kv = saker::Kv::open(&format!("file:{}", new.display()))?;
/// assert!(kv.exists(b"sound")? && !kv.exists(b"spoilt")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn repair_image(old: &Path, new: &Path, progress: &mut dyn FnMut(u64)) -> Result<Repaired, Error> {
    if new.symlink_metadata().is_ok() {
        return Err(ImageError::Exists { path: new.to_path_buf() }.into());
    }
    let salvaged = Salvaged::open(old)?;
    let config = config_of(old)?;
    // Until all is copied the image has another name, so that nobody takes a part for the whole.
    let part = Part::image(new, &config)?;
    let namespaces = copy_all(&salvaged, part.place(), progress)?;
    part.name()?;
    Ok(Repaired { mends: salvaged.mends().to_vec(), namespaces })
}

fn config_of(old: &Path) -> Result<image::ImageConfig, Error> {
    Ok(image::open_mended(old, &image::Patches::default())?.opened.config)
}

fn copy_all(salvaged: &Salvaged, to: &Path, progress: &mut dyn FnMut(u64)) -> Result<Vec<Losses>, Error> {
    let (mut losses, mut copied) = (Vec::new(), 0);
    for namespace in salvaged.namespaces() {
        let url = DeviceUrl { nsid: Some(namespace.nsid), ..DeviceUrl::file(to) };
        let mut count = || {
            copied += 1;
            progress(copied);
        };
        losses.push(match crate::device::damaged::kind_of(&namespace.kind) {
            "kv" => copy_pairs(salvaged, namespace.nsid, Kv::open_url(&url)?, &mut count)?,
            _ => copy_blocks(salvaged, namespace.nsid, Block::open_url(&url)?, &mut count)?,
        });
    }
    Ok(losses)
}

fn copy_pairs(salvaged: &Salvaged, nsid: u32, mut to: Kv, count: &mut dyn FnMut()) -> Result<Losses, Error> {
    to.show_outcomes(true);
    let losses = salvaged.walk(nsid, &mut |piece| {
        if let Piece::Pair(key, value) = piece {
            to.put(key, value)?;
            count();
        }
        Ok::<_, Error>(())
    })?;
    to.close()?;
    Ok(losses)
}

fn copy_blocks(
    salvaged: &Salvaged,
    nsid: u32,
    mut to: Block,
    count: &mut dyn FnMut(),
) -> Result<Losses, Error> {
    let losses = salvaged.walk(nsid, &mut |piece| {
        if let Piece::Blocks(first, bytes) = piece {
            to.write(first, bytes)?;
            count();
        }
        Ok::<_, Error>(())
    })?;
    to.close()?;
    Ok(losses)
}

/// For whoever reads: what a URL of a salvaged image says.
impl DeviceUrl {
    /// An image, to be used.
    pub(crate) fn file(path: &Path) -> Self {
        Self::of_place(crate::url::Backing::File(path.to_path_buf()))
    }

    /// A damaged image, to be read.
    pub(crate) fn salvage(path: &Path, salvage: Salvage) -> Self {
        Self { readonly: true, salvage: Some(salvage), ..Self::file(path) }
    }
}
