// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transaction-layer packets with framing, header and check bytes: 5 to 7 dwords around each (PCI Express Base
//! Specification 3.1, section 2.2). Link-layer packets (acknowledgements, flow control) are left out.
//!
//! A read by the device is a request without data towards the host and completions with data back; a write by either
//! side is one packet with data. Requests, completions and writes end at aligned boundaries of their largest size.

use super::{Data, LINE_BYTES, LinkBytes, Traffic};

/// Sizes of packets, from a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlpShape {
    /// Bytes around the data of a packet: 20 to 28.
    pub overhead_bytes: u32,
    /// Most data bytes of a packet (Max_Payload_Size).
    pub payload_bytes_max: u32,
    /// Most bytes of a read request (Max_Read_Request_Size).
    pub read_request_bytes_max: u32,
}

pub(super) fn count(t: &Traffic, shape: &TlpShape) -> LinkBytes {
    const CQE_BYTES: u64 = 16;
    const DOORBELL_BYTES: u64 = 4;
    let overhead = u64::from(shape.overhead_bytes);
    let entries = t.sqe_fetches + t.inline_slots;
    let completions = t.cqes + t.cq_slots;
    let doorbells = t.sq_doorbells + t.cq_doorbells;
    let mut bytes = LinkBytes {
        to_device: entries * (LINE_BYTES + overhead)
            + doorbells * (DOORBELL_BYTES + overhead)
            + t.mmio_bytes
            + t.mmio_stores * overhead,
        to_host: entries * overhead + completions * (CQE_BYTES + overhead),
        mmio_apart: 0,
    };
    for data in [&t.to_device, &t.lists] {
        bytes.to_host += data.units(u64::from(shape.read_request_bytes_max)) * overhead;
        bytes.to_device += with_headers(data, shape);
    }
    bytes.to_host += with_headers(&t.to_host, shape);
    bytes
}

fn with_headers(data: &Data, shape: &TlpShape) -> u64 {
    data.bytes() + data.units(u64::from(shape.payload_bytes_max)) * u64::from(shape.overhead_bytes)
}
