// SPDX-License-Identifier: Apache-2.0 OR MIT
//! 64 bytes a command: BandSlim (ICPP'24, section 3.2) compares the sizes of commands with those of pages.

use super::{LINE_BYTES, LinkBytes, Traffic};

pub(super) fn count(t: &Traffic) -> LinkBytes {
    LinkBytes {
        to_device: (t.sqe_fetches + t.inline_slots) * LINE_BYTES + t.to_device.bytes() + t.mmio_bytes,
        to_host: t.to_host.bytes(),
        mmio_apart: 0,
    }
}
