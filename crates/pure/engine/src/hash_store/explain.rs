//! Which one changed byte explains that a record is not as it was written. Pages on flash have a checksum that tells it; a
//! page that still fills in the ring has none but those of its records.

use super::gap::{GAP_WORD_BYTES, Gap};
use super::record::{HEADER_BYTES, Header, record_crc};
use super::view::Records;
use saker_log::recover::scan_page;
use saker_log::{LogFlip, Spot, page_of};
use saker_medium::flip::explain_with_sum;
use saker_medium::{Flip, Medium, Page, PageAddr, Step};

impl Records<'_> {
    /// The changed byte, if there is one and no other explains the record as well.
    pub(crate) fn explain<M: Medium>(&self, spot: Spot, m: &M) -> Option<LogFlip> {
        let mut bytes = self.bytes_from(spot, m);
        let mut flips = lengths_kept(&bytes);
        flips.extend(lengths_changed(&mut bytes));
        flips.extend(gap_word(&bytes, spot.0));
        let [flip] = flips[..] else { return None };
        Some(LogFlip::at_position(&self.log.geometry(), spot.0 + flip.at, flip.mask))
    }

    /// What there is from a place to the end of its segment, or to the first page that is not full.
    fn bytes_from<M: Medium>(&self, spot: Spot, m: &M) -> Vec<u8> {
        let geometry = self.log.geometry();
        let page_bytes = u64::from(geometry.page_bytes);
        let (mut page, mut from) = (PageAddr(spot.0 / page_bytes), (spot.0 % page_bytes) as usize);
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

/// The header that bytes begin with, if what it tells of is there, and where its record's value ends.
fn header(bytes: &[u8]) -> Option<(Header, usize)> {
    let header = Header::decode(bytes.first_chunk()?).filter(|h| h.key_bytes <= 16)?;
    let used = header.value_at() as usize + header.value_bytes as usize;
    (used <= bytes.len()).then_some((header, used))
}

/// Changes that leave the record's lengths as they are.
fn lengths_kept(bytes: &[u8]) -> Vec<Flip> {
    let Some((header, used)) = header(bytes) else { return Vec::new() };
    let covered = &bytes[4..used];
    explain_with_sum(record_crc(covered), header.crc, 4, covered.len(), 0)
}

/// Changes of the header after which the record had another length, or no header at all.
fn lengths_changed(bytes: &mut [u8]) -> Vec<Flip> {
    let (as_it_is, mut flips) = (header(bytes).map(|(_, used)| used), Vec::new());
    if bytes.len() < HEADER_BYTES as usize {
        return flips;
    }
    for at in 4..HEADER_BYTES as usize {
        for mask in 1..=u8::MAX {
            bytes[at] ^= mask;
            if let Some((header, used)) = header(bytes)
                && as_it_is != Some(used)
                && record_crc(&bytes[4..used]) == header.crc
            {
                flips.push(Flip { at: at as u64, mask });
            }
            bytes[at] ^= mask;
        }
    }
    flips
}

/// Changes of the word of a gap.
fn gap_word(bytes: &[u8], position: u64) -> Vec<Flip> {
    const TAG_AT: u64 = GAP_WORD_BYTES as u64 - 1;
    let Some(found) = bytes.first_chunk().map(|word| u64::from_le_bytes(*word)) else { return Vec::new() };
    let places = if Gap::is_meant(found) { 0..TAG_AT } else { TAG_AT..TAG_AT + 1 };
    let all = places.flat_map(|at| (1..=u8::MAX).map(move |mask| Flip { at, mask }));
    all.filter(|flip| Gap::decode(found ^ u64::from(flip.mask) << (8 * flip.at), position).is_some())
        .collect()
}
