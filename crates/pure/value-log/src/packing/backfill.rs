//! Selective Packing with Backfilling: what DMA brings stays where it lands, all else goes into the gaps (section 3.3.3).

use super::{Arriving, End, Place};

pub(super) fn place(value: &Arriving, end: &End) -> Place {
    if value.by_dma {
        Place::Landed { value_at: end.aligned(value), stays_open: true }
    } else {
        Place::Packed
    }
}
