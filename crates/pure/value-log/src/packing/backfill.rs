// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Selective Packing with Backfilling: what DMA brings stays where it lands, all else goes into the gaps (section 3.3.3).

use super::{Arriving, End, Placement};

pub(super) fn place(value: &Arriving, end: &End) -> Placement {
    if value.by_dma {
        Placement::Landed { value_at: end.aligned(value), stays_open: true }
    } else {
        Placement::Packed
    }
}
