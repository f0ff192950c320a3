//! Our own: backfilling as long as there is something to fill gaps with, packing else.
//!
//! BandSlim names such a controller as future work (section 4.3). What DMA brings stays where it lands while the buffer holds
//! all open gaps, these come to no more than one NAND page, and all that was never filled to no more than a part of the log.
//! So pages are at most 2 % more than those of All, and copies never more.

use super::{Arriving, End, Place};

/// Part of the log that may be gaps.
const GAP_PART: u64 = 64;
const _: () = assert!(100 / GAP_PART < 2);

pub(super) fn place(value: &Arriving, end: &End) -> Place {
    if !value.by_dma {
        return Place::Packed;
    }
    let value_at = end.aligned(value);
    let gap = end.gap(value, value_at);
    let (page, fits) = (u64::from(end.page_bytes), value_at + u64::from(value.bytes) <= end.buffer_end);
    let is_little = end.gap_bytes + gap <= end.appended_bytes / GAP_PART + page;
    if gap == 0 || fits && is_little && end.open_bytes + gap <= page {
        Place::Landed { value_at, stays_open: true }
    } else {
        Place::Packed
    }
}
