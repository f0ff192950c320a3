// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Block: values in memory pages of their own, whole ones within a NAND page (section 2.3, the baseline).

use super::{Arriving, End, Placement};

pub(super) fn place(value: &Arriving, end: &End) -> Placement {
    let page = u64::from(end.page_bytes);
    let mut value_at = end.aligned(value);
    if value_at % page + u64::from(value.bytes).next_multiple_of(end.unit()) > page {
        value_at = value_at.next_multiple_of(page);
    }
    Placement::Landed { value_at, stays_open: false }
}
