// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sections on a page of flash.
//!
//! A page of fixed sections is the entries of one. A page of live-only sections begins with `sections u16, 6 reserved`,
//! then for each `id u32, entries u16, 2 reserved`, then their entries by rising offset. Out of band: the version of the
//! next write when the page was written (8 bytes), and 1 + the section's number (8 bytes; 0 for live-only sections).

use super::entry::Entry;
use crate::hash_ftl::config::Layout;

pub(super) const HEAD: usize = 8;
pub(super) const ITEM: usize = 8;
/// The owner's out-of-band bytes of a page of sections.
pub const OOB_BYTES: usize = 16;

/// A section as it is on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Which section.
    pub id: u32,
    /// Its entries by rising offset.
    pub entries: Vec<Entry>,
}

impl Image {
    /// Bytes it takes on flash.
    pub fn bytes(&self, layout: Layout, page_bytes: u32) -> u32 {
        match layout {
            Layout::Fixed => page_bytes,
            Layout::LiveOnly { .. } => live_bytes(self.entries.len()),
        }
    }
}

/// Bytes that a live-only section takes on its page.
pub fn live_bytes(entries: usize) -> u32 {
    (ITEM + entries * 8) as u32
}

/// Whether a section of `bytes` more bytes fits on a page with others of `used` bytes.
pub fn fits(layout: Layout, used: u32, bytes: u32, page_bytes: u32) -> bool {
    match layout {
        Layout::Fixed => used == 0,
        Layout::LiveOnly { .. } => HEAD as u32 + used + bytes <= page_bytes,
    }
}

/// Pages that sections of so many bytes take at most, one packed behind the other: of two pages that follow each other, one is more
/// than half full.
pub fn pages_max(bytes: u64, page_bytes: u32) -> u64 {
    let pages = bytes.div_ceil(u64::from(page_bytes) - HEAD as u64);
    if pages <= 1 { pages } else { 2 * pages }
}

/// What each section on a page counts for in its segment. A section that shares a page with nobody takes all of it, however
/// few its bytes are: if only those counted, collections would gain room that they cannot gain, again and again.
///
/// Sections that a collection has packed count for the whole page together. One that was evicted counts for as much as it
/// would take among its like, because collections may still pack it with others.
pub fn charges(layout: Layout, images: &[Image], packed: bool, page_bytes: u32) -> Vec<u32> {
    let bytes = |image: &Image| image.bytes(layout, page_bytes);
    let among_its_like = |image: &Image| page_bytes / ((page_bytes - HEAD as u32) / bytes(image)).max(1);
    let alike: Vec<u32> = images.iter().map(among_its_like).collect();
    if !packed && alike.iter().sum::<u32>() <= page_bytes {
        return alike;
    }
    let left = page_bytes - images.iter().map(bytes).sum::<u32>();
    let (each, rest) = (left / images.len() as u32, left % images.len() as u32);
    images.iter().enumerate().map(|(n, i)| bytes(i) + each + u32::from((n as u32) < rest)).collect()
}

/// Lays sections out on a page, and gives its out-of-band bytes.
pub fn encode(layout: Layout, images: &[Image], stamp: u64, page: &mut [u8]) -> [u8; OOB_BYTES] {
    page.fill(0);
    let mut oob = [0; OOB_BYTES];
    oob[..8].copy_from_slice(&stamp.to_le_bytes());
    if layout == Layout::Fixed {
        for entry in &images[0].entries {
            put(page, entry.offset() as usize * 8, *entry);
        }
        return fixed_oob(images[0].id, stamp);
    }
    page[..2].copy_from_slice(&(images.len() as u16).to_le_bytes());
    let mut at = HEAD + images.len() * ITEM;
    for (n, image) in images.iter().enumerate() {
        let item = &mut page[HEAD + n * ITEM..][..ITEM];
        item[..4].copy_from_slice(&image.id.to_le_bytes());
        item[4..6].copy_from_slice(&(image.entries.len() as u16).to_le_bytes());
        for entry in &image.entries {
            put(page, at, *entry);
            at += 8;
        }
    }
    oob
}

/// Lays a fixed section out, given by offset, and gives the page's out-of-band bytes.
pub fn encode_fixed(id: u32, entries: &[Entry], stamp: u64, page: &mut [u8]) -> [u8; OOB_BYTES] {
    let (used, rest) = page.split_at_mut(entries.len() * 8);
    used.chunks_exact_mut(8).zip(entries).for_each(|(to, e)| to.copy_from_slice(&e.0.to_le_bytes()));
    rest.fill(0);
    fixed_oob(id, stamp)
}

/// The out-of-band bytes of a page with a fixed section.
pub fn fixed_oob(id: u32, stamp: u64) -> [u8; OOB_BYTES] {
    let mut oob = [0; OOB_BYTES];
    oob[..8].copy_from_slice(&stamp.to_le_bytes());
    oob[8..].copy_from_slice(&(u64::from(id) + 1).to_le_bytes());
    oob
}

fn put(page: &mut [u8], at: usize, entry: Entry) {
    page[at..at + 8].copy_from_slice(&entry.0.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash_ftl::config::FirstLevel;
    use crate::hash_ftl::table::parse::{decode, entries_of, fixed_id, stamp};

    const LIVE: Layout = Layout::LiveOnly { first_level: FirstLevel::Growing, offsets_when_full: false };

    fn images() -> Vec<Image> {
        let entry = |n| Entry::new(n, Some(u64::from(n) * 3), n % 2 == 0);
        [(7, vec![1, 5]), (300, vec![]), (8, vec![2])]
            .map(|(id, offsets)| Image { id, entries: offsets.into_iter().map(entry).collect() })
            .to_vec()
    }

    #[test]
    fn live_sections_share_a_page() {
        let (images, mut page) = (images(), [9; 64]);
        let used = images.iter().map(|i| i.bytes(LIVE, 64)).sum::<u32>();
        assert!(fits(LIVE, used - 8, 8, 64) && !fits(LIVE, used, 16, 64));
        let oob = encode(LIVE, &images, 0x0102, &mut page);
        assert_eq!(page[..16], [3, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(page[32..40], [4, 0, 0, 0, 0, 1, 0, 0]);
        assert_eq!((stamp(&oob), oob[8..].to_vec()), (Some(0x0102), vec![0; 8]));
        for image in &images {
            assert_eq!(entries_of(&page, image.id).map(Vec::from_iter).as_ref(), Some(&image.entries));
        }
        assert!(entries_of(&page, 9).is_none());
        assert_eq!(decode(LIVE, &page, &oob), Some(images));
        page[0] = 60;
        assert_eq!(decode(LIVE, &page, &oob), None);
    }

    #[test]
    fn sections_count_for_the_room_they_keep_from_others() {
        let of = |entries: &[u32]| -> Vec<Image> {
            let entry = |n| Entry::new(n, Some(u64::from(n)), false);
            entries.iter().map(|n| Image { id: *n, entries: (0..*n).map(entry).collect() }).collect()
        };
        // 8 + 8 n bytes each. Two of 255 entries do not fit a page, and neither pays for less than all of it.
        assert_eq!(charges(LIVE, &of(&[255]), false, 4096), [4096]);
        assert_eq!(charges(LIVE, &of(&[24]), false, 4096), [4096 / 20]);
        assert_eq!(charges(LIVE, &of(&[24, 24, 24]), true, 4096), [1366, 1365, 1365]);
        assert_eq!(charges(LIVE, &of(&[300, 100]), false, 4096), [2408 + 440, 808 + 440]);
        assert_eq!(charges(Layout::Fixed, &of(&[24]), false, 4096), [4096]);
    }

    #[test]
    fn sections_that_outgrew_a_page_take_more_of_them() {
        let taken = [0, 8, 4088, 4089, 8176, 8177].map(|bytes| pages_max(bytes, 4096));
        assert_eq!(taken, [0, 1, 1, 4, 4, 6]);
    }

    #[test]
    fn a_fixed_section_is_its_page() {
        let image = images().swap_remove(0);
        let mut page = [9; 64];
        let oob = encode(Layout::Fixed, std::slice::from_ref(&image), 5, &mut page);
        assert_eq!(page[..8], [0; 8]);
        assert_eq!(page[8..16], [4, 0, 0, 0, 0, 1, 0, 0]);
        assert_eq!(oob[8], 8);
        let mut by_offset = [Entry::NONE; 8];
        image.entries.iter().for_each(|e| by_offset[e.offset() as usize] = *e);
        let mut other = [9; 64];
        assert_eq!((encode_fixed(7, &by_offset, 5, &mut other), other), (oob, page));
        assert_eq!((fixed_id(&oob), fixed_id(&[0; 16])), (Some(7), None));
        assert_eq!(decode(Layout::Fixed, &page, &oob), Some(vec![image]));
        assert_eq!(decode(Layout::Fixed, &page, &[0; 16]), None);
    }
}
