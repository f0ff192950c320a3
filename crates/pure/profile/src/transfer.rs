// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What each way to move a value costs beyond the command itself.

use serde::{Deserialize, Serialize};

use super::error::ensure;
use super::{ProfileError, Sourced};

/// Costs of methods of transfer, on top of fetching, dispatching and completing commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// 1 if an engine moves pages and SGL data into the buffer, 0 if a core copies them.
    pub dma_engine: Sourced<u32>,
    /// Dispatcher time to start and finish the DMA of one page.
    pub page_dma_ns: Sourced<u64>,
    /// Dispatcher time to set up one SGL transfer.
    pub sgl_setup_ns: Sourced<u64>,
    /// Dispatcher time to take the bytes of one command into the gathering buffer.
    pub fragment_ns: Sourced<u64>,
    /// Dispatcher time to take one queue entry of payload.
    pub inline_slot_ns: Sourced<u64>,
    /// Host core time to pin and map one page of a value, and to release it.
    pub host_page_map_ns: Sourced<u64>,
    /// Host core time of one 64-byte write-combined store to the BAR.
    pub mmio_store_ns: Sourced<u64>,
}

impl Transfer {
    pub(super) fn check(&self) -> Result<(), ProfileError> {
        ensure(self.dma_engine.value <= 1, "transfer.dma_engine", "must be 0 or 1")
    }
}
