// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Damaged images: what can be saved, what is lost, and what to do.

use std::path::Path;

use saker::url::Backing;
use saker::{DeviceUrl, Error as DeviceError, Losses, Lost, Piece, Salvage, Salvaged, repair_image};

use super::opened::{failed, refused};
use crate::error::CliError;
use crate::key;
use crate::report::{CheckReport, LossReport, LostPiece, NamespaceLoss};
use crate::store::SeePair;

/// Why a walk stopped.
enum Stop {
    Device(DeviceError),
    Reader(CliError),
}

impl From<DeviceError> for Stop {
    fn from(error: DeviceError) -> Self {
        Self::Device(error)
    }
}

/// Reads what is sound of the key-value namespace of a damaged image, and tells what is lost. `uncertain`: also what may
/// be older than something that was lost.
///
/// # Errors
/// `Usage` for a URL that is no image's, `Failed` when it cannot be read at all, and those of `see`.
pub fn salvage(url: &str, uncertain: bool, see: SeePair<'_>) -> Result<LossReport, CliError> {
    let parsed = DeviceUrl::parse(url).map_err(|e| refused(&e.into()))?;
    let Backing::File(path) = &parsed.place else {
        return Err(CliError::usage(format!("`{url}` is no image"), "name one with --device file:disk.img"));
    };
    if parsed.hybrid.is_some() {
        let todo = "leave hybrid out, and name the namespace with nsid";
        return Err(CliError::usage("a salvage reads one namespace by itself, not a store over two", todo));
    }
    let wanted = if uncertain { Salvage::Uncertain } else { Salvage::Certain };
    let salvaged = Salvaged::open_as(path, wanted).map_err(|e| failed(&e))?;
    let nsid = salvaged.kv_namespace(parsed.nsid).ok_or_else(|| {
        CliError::usage("there is no such key-value namespace", "see the namespaces with `saker check`")
    })?;
    let losses = salvaged.walk(nsid, &mut |piece| match piece {
        Piece::Pair(key, value) => see(key, value).map_err(Stop::Reader),
        Piece::Blocks(..) => Ok(()),
    });
    match losses {
        Ok(losses) => Ok(report(salvaged.mends(), &[losses])),
        Err(Stop::Device(error)) => Err(failed(&error)),
        Err(Stop::Reader(error)) => Err(error),
    }
}

/// Makes image `new` of what is sound in image `old`; `progress` hears of pairs and blocks copied.
///
/// # Errors
/// `File` or `Failed` when one cannot be read or the other not be made.
pub fn repair(old: &Path, new: &Path, progress: &mut dyn FnMut(u64)) -> Result<LossReport, CliError> {
    let repaired = repair_image(old, new, progress).map_err(|e| failed(&e))?;
    Ok(report(&repaired.mends, &repaired.namespaces))
}

/// What is lost of an image that a check found to be damaged, and what to do about it.
pub(super) fn add_losses(found: CheckReport) -> CheckReport {
    if found.damage.is_empty() {
        return found;
    }
    let looked = Salvaged::open(&found.image).and_then(|s| Ok(report(s.mends(), &s.losses()?)));
    let losses = match looked {
        Ok(losses) => losses,
        Err(error) => {
            let next = vec![format!("restore the image from a copy, nothing of it can be read: {error}")];
            return CheckReport { next, ..found };
        }
    };
    let image = found.image.display();
    let url = DeviceUrl::of_image(&found.image).unwrap_or_else(|| format!("file:{image}"));
    let next = vec![
        format!("saker dump --salvage --device '{url}' saved.jsonl (writes the sound pairs)"),
        format!("saker repair '{image}' NEW (makes a sound image of what is sound)"),
    ];
    CheckReport { losses: Some(losses), next, ..found }
}

fn report(mends: &[String], losses: &[Losses]) -> LossReport {
    let namespaces = losses.iter().map(|of| NamespaceLoss {
        nsid: of.nsid,
        kind: of.kind,
        sound: of.sound,
        lost: of.lost.iter().map(piece).collect(),
        unknown: of.unknown.clone(),
    });
    LossReport { mended: mends.to_vec(), namespaces: namespaces.collect() }
}

fn piece(lost: &Lost) -> LostPiece {
    let hex = |bytes: &[u8]| bytes.iter().fold("hex:".to_owned(), |text, b| text + &format!("{b:02x}"));
    match lost {
        Lost::Pair(key) => LostPiece::Pair { key: key::argument(key) },
        Lost::LongKeys(device_key) => LostPiece::LongKeys { device_key: hex(device_key) },
        Lost::Block(block) => LostPiece::Block { block: *block },
        Lost::Listing(behind) => LostPiece::List { behind: behind.as_deref().map(key::argument) },
    }
}
