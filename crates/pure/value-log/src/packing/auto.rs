// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Our own: backfilling as long as there is something to fill gaps with, packing else.
//!
//! BandSlim names such a controller as future work (section 4.3). What DMA brings stays where it lands while others fill the
//! gaps. So pages are at most 2 % more than those of All, copies never more, and time is less by more than what one page takes.

use super::{Arriving, End, Placement};

pub(super) fn place(value: &Arriving, end: &End) -> Placement {
    if !value.by_dma {
        return Placement::Packed;
    }
    let value_at = end.aligned(value);
    let gap = end.gap(value, value_at);
    if gap == 0 || end.may_be_filled(value, value_at, gap) {
        Placement::Landed { value_at, stays_open: true }
    } else {
        Placement::Packed
    }
}
