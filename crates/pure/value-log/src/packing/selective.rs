// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Selective Packing: what DMA brings stays where it lands, all else is packed behind it (section 3.3.2).

use super::{Arriving, End, Placement};

pub(super) fn place(value: &Arriving, end: &End) -> Placement {
    if value.by_dma {
        Placement::Landed { value_at: end.aligned(value), stays_open: false }
    } else {
        Placement::Packed
    }
}
