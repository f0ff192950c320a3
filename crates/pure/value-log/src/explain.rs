// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which one changed byte explains that a record is not as it was written. Pages on flash have a checksum that tells it; a
//! page that still fills in the page buffer has none but those of its records.
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

use crate::gap::{GAP_WORD_BYTES, Gap};
use crate::record::{HEADER_BYTES, Header, record_crc};
use crate::view::Records;
use saker_log::recover::scan_page;
use saker_log::{LogAddr, LogFlip, page_of};
use saker_segment_store::flip::explain_with_sum;
use saker_segment_store::{Flip, Page, PageAddr, SegmentStore, Step};

impl Records<'_> {
    /// The changed byte, if there is one and no other explains the record as well.
    pub fn explain<M: SegmentStore>(&self, log_addr: LogAddr, m: &M) -> Option<LogFlip> {
        let mut bytes = self.bytes_from(log_addr, m);
        let mut flips = lengths_kept(&bytes);
        flips.extend(lengths_changed(&mut bytes));
        flips.extend(gap_word(&bytes, log_addr.0));
        let [flip] = flips[..] else { return None };
        Some(LogFlip::at_position(&self.log.geometry(), log_addr.0 + flip.at, flip.mask))
    }

    /// What there is from a place to the end of its segment, or to the first page that is not full.
    fn bytes_from<M: SegmentStore>(&self, log_addr: LogAddr, m: &M) -> Vec<u8> {
        let geometry = self.log.geometry();
        let page_bytes = u64::from(geometry.page_bytes);
        let (mut page, mut from) = (PageAddr(log_addr.0 / page_bytes), (log_addr.0 % page_bytes) as usize);
        let (segment, mut bytes) = (geometry.segment_of(page), Vec::new());
        while geometry.contains(page) && geometry.segment_of(page) == segment {
            let Step::Done(Ok(Some(scanned))) = scan_page(self.log, m, page) else { break };
            let Page::Resident { data, .. } = page_of(self.log, m, page) else { break };
            bytes.extend(data.get(from..scanned.used_bytes as usize).unwrap_or_default());
            if scanned.used_bytes < geometry.page_bytes {
                break;
            }
            (page, from) = (PageAddr(page.0 + 1), 0);
        }
        bytes
    }
}

/// The header that bytes begin with, and what its checksum covers, if that is there: from byte 4 to the end of the value.
fn header(bytes: &[u8]) -> Option<(Header, &[u8])> {
    let header = Header::decode(bytes.first_chunk()?).filter(|h| h.key_bytes <= 16)?;
    let used = header.value_at() as usize + header.value_bytes as usize;
    Some((header, bytes.get(4..used)?))
}

/// Changes that leave the record's lengths as they are.
fn lengths_kept(bytes: &[u8]) -> Vec<Flip> {
    let Some((header, covered)) = header(bytes) else { return Vec::new() };
    explain_with_sum(record_crc(covered), header.crc, 4, covered.len(), 0)
}

/// Changes of the header after which the record had another length, or no header at all.
fn lengths_changed(bytes: &mut [u8]) -> Vec<Flip> {
    let (as_it_is, mut flips) = (header(bytes).map(|(_, covered)| covered.len()), Vec::new());
    for flip in Flip::all(4..u64::from(HEADER_BYTES)) {
        flip.apply(bytes);
        if let Some((header, covered)) = header(bytes)
            && as_it_is != Some(covered.len())
            && record_crc(covered) == header.crc
        {
            flips.push(flip);
        }
        flip.apply(bytes);
    }
    flips
}

/// Changes of the word of a gap.
fn gap_word(bytes: &[u8], position: u64) -> Vec<Flip> {
    const TAG_AT: u64 = GAP_WORD_BYTES as u64 - 1;
    let Some(found) = bytes.first_chunk().map(|word| u64::from_le_bytes(*word)) else { return Vec::new() };
    let places = if Gap::is_meant(found) { 0..TAG_AT } else { TAG_AT..TAG_AT + 1 };
    let is_gap = |flip: &Flip| Gap::decode(found ^ u64::from(flip.mask) << (8 * flip.at), position).is_some();
    Flip::all(places).filter(is_gap).collect()
}
