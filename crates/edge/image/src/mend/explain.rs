// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What one changed byte explains in epoch table, page headers and pages.
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

use super::{Mended, whole};
use crate::layout::Layout;
use crate::oob::{self, Oob};
use crate::open::bad_epoch;
use crate::{ImageError, epochs, scan};
use saker_segment_store::flip::{explain, explain_with_sum};
use saker_segment_store::header::{HEADER_BYTES, crc32c, page_crc};
use saker_segment_store::{Flip, PageAddr, PageHeader, SegmentId};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// The epoch of each segment; where its entry is damaged, what one changed byte explains, or the newest that a page has.
pub(super) fn mend_epochs(
    file: &File,
    path: &Path,
    layout: &Layout,
    mends: &mut Vec<Mended>,
) -> Result<Vec<u32>, ImageError> {
    let failed = |e| ImageError::io(path, "read")(e);
    let entries = epochs::read_all(file, layout).map_err(failed)?;
    let mut found = Vec::with_capacity(entries.len());
    for (segment, entry) in (0..).map(SegmentId).zip(entries) {
        let Some(epoch) = entry else {
            let bytes = epochs::read(file, layout, segment).map_err(failed)?;
            let explained = epochs::mend(segment, bytes);
            let place = bad_epoch(segment.0 as usize);
            mends.push(Mended { place, is_whole: explained.is_some() });
            found.push(explained.map_or_else(|| newest_epoch(file, path, layout, segment), Ok)?);
            continue;
        };
        found.push(epoch);
    }
    Ok(found)
}

/// The newest erase cycle of which a segment has a page.
fn newest_epoch(file: &File, path: &Path, layout: &Layout, wanted: SegmentId) -> Result<u32, ImageError> {
    let mut newest = 0;
    scan::written_oob(file, layout, &mut |at, oob| {
        if layout.geometry.segment_of(at) == wanted
            && let Ok(Some(header)) = PageHeader::decode(oob, at)
        {
            newest = newest.max(header.epoch);
        }
    })
    .map_err(ImageError::io(path, "read"))?;
    Ok(newest)
}

/// Out-of-band bytes that differ in one byte from sound ones, as they were.
pub(super) fn mend_headers(
    file: &File,
    path: &Path,
    layout: &Layout,
    epochs: &[u32],
    mends: &mut Vec<Mended>,
) -> Result<BTreeMap<PageAddr, Vec<u8>>, ImageError> {
    let mut mended = BTreeMap::new();
    scan::written_oob(file, layout, &mut |at, oob| {
        if let Some(epoch) = epochs.get(layout.geometry.segment_of(at).0 as usize)
            && let Oob::Damaged(_) = oob::read(oob, at, *epoch)
            && let Some(bytes) = mend_oob(oob, at)
        {
            mends.push(whole(page_place(layout, at, "its header")));
            mended.insert(at, bytes);
        }
    })
    .map_err(ImageError::io(path, "read"))?;
    Ok(mended)
}

/// How a page is named.
pub(super) fn page_place(layout: &Layout, at: PageAddr, what: &str) -> String {
    let g = &layout.geometry;
    format!("page {} (segment {}, index {}): {what}", at.0, g.segment_of(at).0, g.index_of(at))
}

/// Sound out-of-band bytes that these differ from in one byte of the header's place.
pub(super) fn mend_oob(oob: &[u8], at: PageAddr) -> Option<Vec<u8>> {
    if oob.iter().filter(|b| **b != 0).count() == 1 {
        return Some(vec![0; oob.len()]);
    }
    let is_sound = |bytes: &[u8]| !matches!(oob::read(bytes, at, 0), Oob::Damaged(_) | Oob::Erased);
    let try_sum = |bytes: usize| {
        let (covered, behind) = oob.split_at_checked(bytes)?;
        let noted = u32::from_le_bytes(*behind.first_chunk()?);
        let flips = explain_with_sum(crc32c(covered), noted, 0, bytes, bytes as u64);
        let [flip] = flips[..] else { return None };
        let mut mended = oob.to_vec();
        flip.apply(&mut mended);
        is_sound(&mended).then_some(mended)
    };
    try_sum(HEADER_BYTES - 4).or_else(|| try_sum(oob::TORN_BYTES - 4))
}

/// The changed byte of a page whose header is sound, if there is one and no other explains it.
pub(super) fn explained(data: &[u8], oob: &[u8], at: PageAddr) -> Option<Flip> {
    let header = PageHeader::decode(oob, at).ok().flatten()?;
    let owners = PageHeader::owner_oob(oob);
    let flips = explain(page_crc(data, owners), header.data_crc, data.len() + owners.len());
    let [flip] = flips[..] else { return None };
    // The header lies between both parts.
    let behind = if flip.at < data.len() as u64 { 0 } else { HEADER_BYTES as u64 };
    Some(Flip { at: flip.at + behind, ..flip })
}
