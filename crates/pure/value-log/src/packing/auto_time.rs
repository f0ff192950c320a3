// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Our own, for time: a value stays where it lands if others fill its gap, or if to program the gap takes less time than the copy:
//! none as long as programs keep up, since they go on beside everything else.
//!
//! What things take is known to the profile alone; the engine is told one ratio of two of them, and sees how full the page buffer is.

use super::{Arriving, End, Placement};

pub(super) fn place(value: &Arriving, end: &End) -> Placement {
    if !value.by_dma {
        return Placement::Packed;
    }
    let value_at = end.aligned(value);
    let gap = end.gap(value, value_at);
    let is_quicker = !end.is_behind || end.program_time(gap) <= end.copy_time(u64::from(value.bytes));
    if is_quicker || end.may_be_filled(value, value_at, gap) {
        Placement::Landed { value_at, stays_open: true }
    } else {
        Placement::Packed
    }
}
