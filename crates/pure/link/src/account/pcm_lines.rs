// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whole cache lines, as Intel's Performance Counter Monitor counts PCIe traffic: events of 64 bytes for reads and
//! writes of memory by devices; stores to devices are counted apart (github intel/pcm, `pcm-pcie`).

use super::{LINE_BYTES, LinkBytes, Traffic};

/// Bytes of a doorbell.
const DOORBELL_BYTES: u64 = 4;

pub(super) fn count(t: &Traffic) -> LinkBytes {
    let read = t.sqe_fetches + t.inline_slots + t.to_device.units(LINE_BYTES) + t.lists.units(LINE_BYTES);
    let written = t.cqes + t.cq_slots + t.to_host.units(LINE_BYTES);
    LinkBytes {
        to_device: read * LINE_BYTES,
        to_host: written * LINE_BYTES,
        mmio_apart: (t.sq_doorbells + t.cq_doorbells) * DOORBELL_BYTES + t.mmio_bytes,
    }
}
