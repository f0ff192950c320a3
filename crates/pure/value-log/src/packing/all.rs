// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All Packing: no gaps, and a copy of every value that DMA could not put at the end (section 3.3.1).

use super::Placement;

pub(super) fn place() -> Placement {
    Placement::Packed
}
