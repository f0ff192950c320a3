//! Selective Packing: what DMA brings stays where it lands, all else is packed behind it (section 3.3.2).

use super::{Arriving, End, Place};

pub(super) fn place(value: &Arriving, end: &End) -> Place {
    if value.by_dma {
        Place::Landed { value_at: end.aligned(value), stays_open: false }
    } else {
        Place::Packed
    }
}
