// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Opening a damaged image as a device that is read: recovery is helped over what is damaged, one place after the other.
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

use super::attach::attach;
use super::records::device_config;
use super::settings::ask;
use crate::error::Error;
use crate::image::{self, Mended, MendedImage, PageFlip, Patches};
use crate::url::DeviceUrl;
use saker_device::{Attachment, Damage, Device, LogFlip, NamespaceKind, Untimed};
use saker_flash::{FaultPlan, Flash};
use saker_segment_store::{PageAddr, PageBuffer};
use std::collections::BTreeMap;
use std::path::Path;

/// Places that recovery is helped over before an image is given up.
const ROUNDS_MAX: usize = 4096;

/// How a damaged image is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wishes<'a> {
    /// Commands in flight.
    pub depth: u16,
    /// What asks for settings of engines.
    pub url: Option<&'a DeviceUrl>,
    /// Also what may be older than something that was lost is given out.
    pub with_uncertain: bool,
}

/// A damaged image, opened.
pub(crate) struct Opened {
    pub device: Box<Device<Untimed>>,
    pub host: Attachment,
    pub config: image::ImageConfig,
    pub findings: Findings,
}

/// What an opening found and did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    /// What was put right.
    pub mends: Vec<String>,
    /// By namespace, what was lost of which nobody knows what it said.
    pub unknown: BTreeMap<u32, Vec<String>>,
}

/// Opens an image whatever is damaged.
///
/// # Errors
/// [`Error::Image`] without a header, or when the file cannot be read; [`Error::Damaged`] when nothing helps.
pub(crate) fn open(path: &Path, wishes: Wishes<'_>) -> Result<Opened, Error> {
    let (mut patches, mut unknown) = (Patches::default(), BTreeMap::new());
    for _ in 0..ROUNDS_MAX {
        let MendedImage { opened, mends, flips } = image::open_mended(path, &patches)?;
        let config = opened.config.clone();
        let (mut device, host) = power_on(opened, wishes)?;
        let damages = device.damages();
        if damages.is_empty() {
            let nsids: Vec<u32> = config.namespaces.iter().map(|ns| ns.nsid).collect();
            let findings = findings(&mends, &flips.iter().copied().collect::<Vec<_>>(), unknown, &nsids);
            flips.into_iter().for_each(|wrong| device.spoil(LogFlip { page: wrong.at, flip: wrong.flip }));
            if !wishes.with_uncertain {
                findings.unknown.keys().for_each(|nsid| device.withhold(*nsid));
            }
            return Ok(Opened { device: Box::new(device), host, config, findings });
        }
        let known = patches.clone();
        damages.iter().for_each(|(nsid, damage)| learn(&mut patches, *nsid, damage, &mut unknown));
        // What was known did not help.
        if patches == known
            && let Some((nsid, damage)) = damages.first()
        {
            return Err(Error::Damaged { nsid: *nsid, what: damage.to_string() });
        }
    }
    Err(Error::Damaged { nsid: 0, what: format!("more than {ROUNDS_MAX} places are damaged") })
}

fn power_on(opened: image::OpenImage, wishes: Wishes<'_>) -> Result<(Device<Untimed>, Attachment), Error> {
    let mut config = device_config(&opened.config);
    if let Some(url) = wishes.url {
        ask(&mut config, url)?;
    }
    config.read_only = true;
    let g = opened.config.geometry;
    let ring = PageBuffer::new(opened.ring, opened.config.ring_slots, g.page_bytes, g.oob_bytes);
    let host = attach(wishes.depth, config.queue_pairs_max);
    let flash = Flash::power_on(Box::new(opened.media), ring, None, FaultPlan::default());
    Ok((Device::new(flash, config, host.clone()), host))
}

/// Takes note of what recovery could not get over.
fn learn(patches: &mut Patches, nsid: u32, damage: &Damage, unknown: &mut BTreeMap<u32, Vec<String>>) {
    let is_explained = match damage {
        Damage::Record { flip: Some(LogFlip { page, flip }), .. } => {
            patches.flips.insert(PageFlip { at: *page, flip: *flip })
        }
        Damage::Checkpoint { owner, .. } => patches.without_open_checkpoint.insert(*owner),
        Damage::Page { .. } | Damage::Record { .. } | Damage::PageBuffer(_) => false,
    };
    if is_explained {
        return;
    }
    unknown.entry(nsid).or_default().push(damage.to_string());
    match damage {
        Damage::Page { page, .. } | Damage::Record { page, .. } => drop(patches.torn.insert(PageAddr(*page))),
        Damage::PageBuffer(error) => drop(patches.freed.insert(error.slot)),
        Damage::Checkpoint { owner, .. } => drop(patches.without_checkpoint.insert(*owner)),
    }
}

fn findings(
    mends: &[Mended],
    flips: &[PageFlip],
    mut unknown: BTreeMap<u32, Vec<String>>,
    nsids: &[u32],
) -> Findings {
    let mut done: Vec<String> = mends.iter().filter(|m| m.is_whole).map(|m| m.place.clone()).collect();
    done.extend(flips.iter().map(|f| format!("page {}: byte {} was changed", f.at.0, f.flip.at)));
    // What belonged to nobody known can have been anybody's.
    for lost in mends.iter().filter(|m| !m.is_whole) {
        nsids.iter().for_each(|nsid| unknown.entry(*nsid).or_default().push(lost.place.clone()));
    }
    Findings { mends: done, unknown }
}

/// What a namespace is called.
pub(crate) fn kind_of(kind: &NamespaceKind) -> &'static str {
    match kind {
        NamespaceKind::Kv { .. } => "kv",
        NamespaceKind::Block { .. } => "block",
    }
}
