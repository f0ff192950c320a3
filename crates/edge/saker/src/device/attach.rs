// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a device shares with its host.

use saker_device::Attachment;
use saker_link::DmaSpace;
use std::sync::Arc;

/// Host memory and BAR for one queue pair of `depth` slots.
pub(crate) fn attach(depth: u16, queue_pairs: u16) -> Attachment {
    Attachment::new(dma_space(depth), queue_pairs)
}

/// Host memory for a queue pair of that depth and an admin queue.
pub(crate) fn dma_space(depth: u16) -> Arc<DmaSpace> {
    let (windows, pages) = (u32::from(depth) * 2 + 64, u32::from(depth) * 4 + 512);
    DmaSpace::new(pages, windows)
}
