// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading pages of sections (see [`super::image`] for their layout).
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

use super::entry::Entry;
use super::image::{HEAD, ITEM, Image};
use crate::hash_ftl::config::Layout;
use crate::hash_ftl::record::VERSION_MAX;

/// Which fixed section a page holds.
pub fn fixed_id(owner_oob: &[u8]) -> Option<u32> {
    let id = u64::from_le_bytes(*owner_oob.get(8..)?.first_chunk()?).checked_sub(1)?;
    u32::try_from(id).ok()
}

/// The version of the next write when a page was written; `None` if nobody writes as often.
pub fn stamp(owner_oob: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(*owner_oob.first_chunk()?)).filter(|stamp| *stamp <= VERSION_MAX)
}

/// The sections on a page, whose checksum is right; `None` if it is not a page of sections.
pub fn decode(layout: Layout, page: &[u8], owner_oob: &[u8]) -> Option<Vec<Image>> {
    if layout == Layout::Fixed {
        let all = words(page).filter(|e| !e.is_blank());
        return Some(vec![Image { id: fixed_id(owner_oob)?, entries: all.collect() }]);
    }
    let image = |(id, entries)| Image { id, entries: words(entries).collect() };
    Some(sections(page)?.collect::<Option<Vec<_>>>()?.into_iter().map(image).collect())
}

/// The entries of one live-only section on a page, as [`decode`] would give them; `None` if it is not there.
pub fn entries_of(page: &[u8], id: u32) -> Option<impl ExactSizeIterator<Item = Entry> + use<'_>> {
    let found = sections(page)?.map_while(|section| section).find(|(found, _)| *found == id);
    found.map(|(_, entries)| words(entries))
}

/// Entries one behind the other.
pub(super) fn words(bytes: &[u8]) -> impl ExactSizeIterator<Item = Entry> {
    bytes.as_chunks().0.iter().map(|word| Entry(u64::from_le_bytes(*word)))
}

/// Numbers and entries of live-only sections; `None` for one that is not wholly on the page.
fn sections(page: &[u8]) -> Option<impl Iterator<Item = Option<(u32, &[u8])>>> {
    let count = usize::from(u16::from_le_bytes(*page.first_chunk()?));
    let (items, mut rest) = page.get(HEAD..)?.split_at_checked(count * ITEM)?;
    Some(items.as_chunks::<ITEM>().0.iter().map(move |[a, b, c, d, low, high, _, _]| {
        let entries = usize::from(u16::from_le_bytes([*low, *high]));
        let (taken, left) = rest.split_at_checked(entries * 8)?;
        rest = left;
        Some((u32::from_le_bytes([*a, *b, *c, *d]), taken))
    }))
}
