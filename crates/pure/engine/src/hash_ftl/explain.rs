// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which one changed byte explains that a record is not as it was written, and whose record a byte is. Pages on flash have a
//! checksum that tells the former; a page that still fills in the page buffer has none but those of its records.
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

use super::HashFtl;
use super::record::{HEAD_BYTES, Head, Kind, Mark, record_crc};
use saker_log::recover::scan_page;
use saker_log::{LogFlip, page_of};
use saker_segment_store::flip::explain_with_sum;
use saker_segment_store::header::HEADER_BYTES;
use saker_segment_store::{Flip, Page, PageAddr, SegmentStore, Step};

const WORD: usize = 8;

/// A record as it is: its word out of band, and the data from its head on.
struct Seen {
    word: [u8; WORD],
    data: Vec<u8>,
}

impl HashFtl {
    /// The changed byte of the record at byte `at` of a page, if there is one and no other explains it as well.
    pub(super) fn explain<M: SegmentStore>(&self, page: PageAddr, at: u32, m: &M) -> Option<LogFlip> {
        let mut seen = Seen { word: self.word_at(page, at, m)?, data: self.data_from(page, at, m) };
        let geometry = self.log.geometry();
        let position = page.0 * u64::from(geometry.page_bytes) + u64::from(at);
        let in_data = |flip: Flip| LogFlip::at_position(&geometry, position + flip.at, flip.mask);
        let mut found: Vec<LogFlip> = self.value_flips(&seen).into_iter().map(in_data).collect();
        found.extend(self.head_flips(&mut seen).into_iter().map(in_data));
        let word_at = u64::from(geometry.page_bytes) + (HEADER_BYTES + self.word_of(at)) as u64;
        let in_word = |flip: Flip| LogFlip { page, flip: Flip { at: word_at + flip.at, ..flip } };
        found.extend(self.word_flips(&mut seen).into_iter().map(in_word));
        if let [flip] = found[..] { Some(flip) } else { None }
    }

    /// Where the record begins that a byte of a page's data belongs to, as a page and a byte of its data.
    pub fn record_around<M: SegmentStore>(&self, page: PageAddr, at: u32, m: &M) -> Option<(PageAddr, u32)> {
        let grain = page.0 * self.page_grains() + u64::from(at / self.config.grain_bytes);
        let segment = self.log.geometry().segment_of(page);
        for first in (0..=grain).rev() {
            let (page, at) = self.page_of_grain(first);
            if self.log.geometry().segment_of(page) != segment {
                break;
            }
            if let Some(mark) = Mark::decode(self.word_at(page, at, m)?) {
                return (first + u64::from(mark.grains) > grain).then_some((page, at));
            }
        }
        None
    }

    /// Where the word of a grain is in the owner's out-of-band bytes.
    fn word_of(&self, at: u32) -> usize {
        (at / self.config.grain_bytes) as usize * WORD
    }

    fn word_at<M: SegmentStore>(&self, page: PageAddr, at: u32, m: &M) -> Option<[u8; WORD]> {
        let Page::Resident { oob, .. } = page_of(&self.log, m, page) else { return None };
        oob.get(HEADER_BYTES + self.word_of(at)..)?.first_chunk().copied()
    }

    fn data_from<M: SegmentStore>(&self, mut page: PageAddr, at: u32, m: &M) -> Vec<u8> {
        let geometry = self.log.geometry();
        let (segment, mut from, mut data) = (geometry.segment_of(page), at as usize, Vec::new());
        while geometry.contains(page) && geometry.segment_of(page) == segment {
            let Step::Done(Ok(Some(scanned))) = scan_page(&self.log, m, page) else { break };
            let Page::Resident { data: bytes, .. } = page_of(&self.log, m, page) else { break };
            data.extend(bytes.get(from..scanned.used_bytes as usize).unwrap_or_default());
            if scanned.used_bytes < geometry.page_bytes {
                break;
            }
            (page, from) = (PageAddr(page.0 + 1), 0);
        }
        data
    }

    /// The head of a record whose parts agree on all but the checksum.
    fn agreed(&self, seen: &Seen) -> Option<Head> {
        let mark = Mark::decode(seen.word)?;
        let head = Head::decode(&seen.data).filter(|head| {
            head.kind == mark.kind
                && self.grains_of(head) == u32::from(mark.grains)
                && u64::from(mark.slot) < self.slots_max()
                && head.bytes() as usize <= seen.data.len()
        })?;
        let key = seen.data.get(HEAD_BYTES as usize..)?.get(..usize::from(head.key_bytes))?;
        (head.kind == Kind::Group || self.is_on_way(u64::from(mark.slot), key)).then_some(head)
    }

    /// Whether a search for a key comes by the hash index that its record was written with.
    pub(super) fn is_on_way(&self, written: u64, key: &[u8]) -> bool {
        let Some(home) = self.probe.home(key) else { return false };
        self.probe.now(written, || Some(home)).is_some_and(|slot| self.probe.distance(home, slot).is_some())
    }

    fn is_sound(&self, seen: &Seen) -> bool {
        let covered = |head: &Head| seen.data.get(4..head.bytes() as usize);
        self.agreed(seen)
            .is_some_and(|head| covered(&head).is_some_and(|bytes| record_crc(bytes) == head.crc))
    }

    /// Changes that leave head and word in agreement.
    fn value_flips(&self, seen: &Seen) -> Vec<Flip> {
        // A changed key can lead elsewhere, so only the lengths have to agree.
        let lengths =
            |mark: Mark| Head::decode(&seen.data).filter(|h| self.grains_of(h) == u32::from(mark.grains));
        let Some(head) = Mark::decode(seen.word).and_then(lengths) else { return Vec::new() };
        let Some(covered) = seen.data.get(4..head.bytes() as usize) else { return Vec::new() };
        let flips = explain_with_sum(record_crc(covered), head.crc, 4, covered.len(), 0);
        flips.into_iter().filter(|flip| self.is_sound(&flipped(seen, *flip))).collect()
    }

    /// Changes of the head after which it said another length, or nothing.
    fn head_flips(&self, seen: &mut Seen) -> Vec<Flip> {
        let mut flips = Vec::new();
        let as_it_is = Head::decode(&seen.data).map(|head| head.bytes());
        for flip in Flip::all(4..u64::from(HEAD_BYTES).min(seen.data.len() as u64)) {
            flip.apply(&mut seen.data);
            let is_other = Head::decode(&seen.data).is_some_and(|head| as_it_is != Some(head.bytes()));
            if is_other && self.is_sound(seen) {
                flips.push(flip);
            }
            flip.apply(&mut seen.data);
        }
        flips
    }

    /// Changes of the word, which can also have been zero where no record begins.
    fn word_flips(&self, seen: &mut Seen) -> Vec<Flip> {
        let mut flips = Vec::new();
        for flip in Flip::all(0..WORD as u64) {
            flip.apply(&mut seen.word);
            if seen.word == [0; WORD] || self.is_sound(seen) {
                flips.push(flip);
            }
            flip.apply(&mut seen.word);
        }
        flips
    }
}

fn flipped(seen: &Seen, flip: Flip) -> Seen {
    let mut data = seen.data.clone();
    flip.apply(&mut data);
    Seen { word: seen.word, data }
}
