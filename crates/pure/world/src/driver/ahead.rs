// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hints to the processor that runs the model, without effect on any result.

use saker_link::prefetch;
use saker_store::{Op, Share};

/// Operations of a lane between the one that is submitted and the one whose memory is asked for.
const OPERATIONS_AHEAD: usize = 4;

/// Asks for the memory of a lane's next operation, and of the ones after it: jobs are longer than caches, and lanes take
/// turns with the device.
pub(super) fn prefetch_hints(share: Share<'_>) {
    if let Some(Op::Put(key, _) | Op::Get(key)) = share.first()
        && let Some(first) = key.first()
    {
        prefetch(first);
    }
    if let Some(later) = share.ahead(OPERATIONS_AHEAD) {
        prefetch(later);
    }
}
