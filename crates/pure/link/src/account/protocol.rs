// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Entries, completions, doorbells and data, each with its own size (NVMe Base 2.0, sections 3.1.4 and 3.3.3).
//!
//! A command that rings both doorbells costs 64 + 16 + 4 + 4 = 88 bytes. With it BandSlim's percentages come out within
//! a point; the paper does not state its rule.

use super::{LINE_BYTES, LinkBytes, Traffic};

/// Bytes of a completion queue entry.
const CQE_BYTES: u64 = 16;
/// Bytes of a doorbell.
const DOORBELL_BYTES: u64 = 4;

pub(super) fn count(t: &Traffic) -> LinkBytes {
    let entries = (t.sqe_fetches + t.inline_slots) * LINE_BYTES;
    let doorbells = (t.sq_doorbells + t.cq_doorbells) * DOORBELL_BYTES;
    LinkBytes {
        to_device: entries + doorbells + t.to_device.bytes() + t.mmio_bytes,
        to_host: (t.cqes + t.cq_slots) * CQE_BYTES + t.to_host.bytes(),
        mmio_apart: 0,
    }
}
